// Going back to before a message that a person said, with or without the files that tools have changed since. Loaded when
// it is first asked for.

import { open } from "./dialogs.js";
import { announce, byId, button, h } from "./dom.js";
import { counted, firstLine, number, restored } from "./format.js";
import { loadStyles } from "./styles.js";
import { longText } from "./text.js";

const FILES_SHOWN = 100;

/** Says what leaves the window and which files change, asks, goes back, and puts what was said into the box again. */
export async function rewind(page, message) {
  const { ledger, remote } = page;
  const leaving = inView(ledger, message);
  const calls = leaving.flatMap((one) => one.parts ?? []).filter((part) => part.type === "tool_call").length;
  const text = (message.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
  const what = [counted(leaving.length, "message"), calls ? `with ${counted(calls, "tool call")}` : ""].filter(Boolean).join(" ");
  const told = `“${firstLine(text, 120)}” and everything behind it, ${what}, ${leaving.length === 1 ? "leaves" : "leave"} the window. The session's record keeps them. Your text goes back into the message box.`;
  const to = await page.act((session) => session.before(message.id).then((id) => ({ id })));
  if (!to) return;
  const changes = await changesSince(page, to.id);
  const answer = await choose(told, changes);
  if (!answer || remote !== page.remote) return;
  const done = await page.act((session) => page.api.post(`${session.path}/rewind`, answer === "files" ? { to: to.id, files: true } : { to: to.id }));
  if (!done) return;
  announce([`Rewound: ${what} left the window`, ...restored(done)].join(", "));
  page.composer.put(text);
}

/** What tools have changed since; a word where the files have no history. */
async function changesSince(page, since) {
  try {
    return await page.api.get(`${page.remote.path}/files?since=${encodeURIComponent(since)}`);
  } catch (problem) {
    return { files: [], edited_since: [], not_covered: [], problem: problem.message };
  }
}

/** "window", "files", or `null` for no. */
async function choose(told, changes) {
  await loadStyles();
  return new Promise((resolve) => {
    const end = (answer) => {
      dialog.removeEventListener("close", closed);
      dialog.close();
      resolve(answer);
    };
    const closed = () => resolve(null);
    const count = changes.files.length;
    const kind = count ? "" : "primary";
    const buttons = [button("No", () => end(null), { autofocus: true }), button("Rewind", () => end("window"), { kind })];
    if (count) buttons.push(button(`Rewind with ${counted(count, "file")}`, () => end("files"), { kind: "primary" }));
    const dialog = open("Rewind to before this message?", h("p", {}, told), drawChanges(changes), h("div", { class: "dialog-buttons" }, buttons));
    if (count) dialog.classList.add("reviewing");
    dialog.addEventListener("close", closed, { once: true });
    buttons[0].focus();
  });
}

function drawChanges({ files, edited_since: edited, not_covered: holes, problem }) {
  if (problem) return h("p", { class: "hint" }, `Files that tools have changed stay as they are now: ${problem}`);
  const named = holes.filter((hole) => hole.path);
  const whole = holes.filter((hole) => !hole.path);
  const rest = files.length - FILES_SHOWN;
  return [
    files.length ? h("h3", {}, `${counted(files.length, "file")} that tools have changed since`) : h("p", { class: "hint" }, "Tools have changed no file since that can be restored."),
    files.length ? h("ul", { class: "changed-files" }, files.slice(0, FILES_SHOWN).map(drawFile), rest > 0 ? h("li", { class: "dim" }, `and ${number(rest)} more`) : null) : null,
    edited.length ? h("p", {}, `Changed otherwise since, left alone: ${edited.map((path) => firstLine(path, 80)).join(", ")}`) : null,
    named.length ? h("p", {}, "Can't be restored: ", named.slice(0, 20).map((hole, at) => `${at ? "; " : ""}${firstLine(hole.path, 80)} (${hole.reason})`)) : null,
    whole.length ? h("p", { class: "hint" }, `Never restored: ${whole.map((hole) => hole.reason).join("; ")}.`) : null,
  ];
}

const UNDOES = { added: "is deleted", changed: "goes back", deleted: "comes back" };

function drawFile({ path, change, diff }) {
  const name = [h("code", {}, firstLine(path, 120)), " ", h("small", {}, UNDOES[change])];
  return h("li", {}, diff ? h("details", {}, h("summary", {}, name), drawDiff(diff)) : h("p", {}, name));
}

const COLOURS = { "+": "plus", "-": "minus", "@": "dim" };
const LINES = 400;

function drawDiff(diff) {
  const lines = diff.split("\n");
  if (lines.length > LINES) return longText(diff);
  return h("pre", { class: "diff", tabindex: "0" }, lines.map((line) => h("span", { class: COLOURS[line[0]] ?? "" }, `${line}\n`)));
}

function inView(ledger, message) {
  const items = [...ledger.items.values()].filter((item) => item.kind === "message" && !ledger.away.has(item.message.id));
  const from = items.findIndex((item) => item.message.id === message.id);
  return items.slice(from).map((item) => item.message);
}
