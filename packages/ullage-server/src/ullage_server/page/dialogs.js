// What asks or tells in front of the page: the token, help, where a message went, a word before something is deleted.

import { byId, button, h, replace } from "./dom.js";

const KEYS = [
  ["Enter", "send: goes in before the next model call (steer)"],
  ["Ctrl Enter", "follow up: waits until the turn is over"],
  ["Shift Enter", "a new line"],
  ["Esc", "cancel the turn; close a dialog"],
  ["/", "to the message box"],
  ["j  k", "next, previous message; in the messages also Alt ↓, Alt ↑"],
  ["[  ]", "session above, below"],
  ["n", "new session"],
  ["s", "search the sessions"],
  ["w", "to the window: Tab and Enter open its rows"],
  ["c", "to the compaction"],
  ["a", "review the calls that need approval"],
  ["t", "light, dark, as the system"],
  ["1  2  3", "sessions, conversation, window"],
  ["?", "this list"],
];

/** Shows this in front of the page. */
export function open(title, ...content) {
  const dialog = byId("dialog");
  dialog.className = "";
  replace(dialog, h("h2", { id: "dialog-title" }, title), ...content);
  if (!dialog.open) dialog.showModal();
  return dialog;
}

/** The keyboard, and whether single keys do anything. */
export function showHelp(isOn, switchKeys) {
  const box = h("input", { type: "checkbox", checked: isOn, onchange: (event) => switchKeys(event.target.checked) });
  open(
    "Keyboard",
    h("dl", { class: "keys" }, KEYS.map(([keys, what]) => [h("dt", {}, keys.split("  ").map((key) => [h("kbd", {}, key), " "])), h("dd", {}, what)])),
    h("p", { class: "dialog-buttons" }, h("label", {}, box, " Single keys work outside of the message box"), button("Close", () => byId("dialog").close(), { kind: "primary" })),
  );
}

/** Asks for a line of text; `null` when it was closed. */
export function ask(title, { hint = "", label, secret = false, confirm = "Go on", value = "" }) {
  return new Promise((resolve) => {
    const input = h("input", { type: secret ? "password" : "text", "aria-label": label, placeholder: label, value, autocomplete: "off" });
    const form = h("form", { onsubmit: (event) => done(event, input.value) }, hint ? h("p", { class: "hint" }, hint) : null, input, h("div", { class: "dialog-buttons" }, h("button", { type: "submit", class: "button primary" }, confirm)));
    const dialog = open(title, form);
    const closed = () => resolve(null);
    const done = (event, text) => {
      event.preventDefault();
      dialog.removeEventListener("close", closed);
      dialog.close();
      resolve(text);
    };
    dialog.addEventListener("close", closed, { once: true });
    input.focus();
  });
}

/** Asks for the model of a new session. */
export const askForModel = (hint) => ask("New session", { hint, label: "Model, such as anthropic:claude-haiku-4-5", confirm: "Begin" });

/** Asks for the server's token; empty when it was closed. */
export async function askForToken(hint) {
  const token = await ask("Token", { label: "Token", secret: true, hint: hint || "The server asks for a token. Open the link that it printed when it started, or give a token here: the one in the file that it named, or one of `ullage admin token add`. It is kept until this tab is closed." });
  return token?.trim() ?? "";
}

/** Whether the person says yes. */
export function confirm(title, text, yes) {
  return new Promise((resolve) => {
    const dialog = open(title, h("p", {}, text), h("div", { class: "dialog-buttons" }, button("No", () => end(false)), button(yes, () => end(true), { kind: "primary" })));
    const closed = () => resolve(false);
    const end = (answer) => {
      dialog.removeEventListener("close", closed);
      dialog.close();
      resolve(answer);
    };
    dialog.addEventListener("close", closed, { once: true });
  });
}

/** Where a message went. */
export function showWhere(where) {
  const sentence = { "in view": "It is in the window as it was said.", cleared: "Its tool results were cleared.", shortened: "It is in the window, shortened.", summarised: "A summary stands in its place.", dropped: "It was left out.", rewound: "The conversation went on from before it.", unknown: "The session does not know it." };
  open(
    "Where is this message?",
    h("p", {}, sentence[where.status] ?? where.status, where.pinned ? " It is pinned." : ""),
    where.passages.length ? h("ol", { class: "passages" }, where.passages.map((one) => h("li", {}, `${one.status} by ${one.compaction}`, one.into ? `, into ${one.into}` : "", one.why ? `: ${one.why}` : ""))) : null,
    h("p", { class: "hint" }, where.message),
    h("div", { class: "dialog-buttons" }, button("Close", () => byId("dialog").close(), { kind: "primary" })),
  );
}
