// What happened between the messages, as a line: the server's sentence for an event, and what can be done about it.

import { button, h } from "./dom.js";
import { brief, counted, lasting } from "./format.js";
import { longText } from "./text.js";

/** How a line of a style looks. */
const KINDS = { mark: "compaction", warn: "warn", bad: "warn" };

/** The node of a mark; `acts` carries out what its buttons offer, `ledger` knows what can be undone still. */
export function drawMark(item, acts, ledger) {
  const { kind, text, actions, more } = describe(item, acts, ledger);
  return h(
    "div",
    { class: `mark ${kind}`, "data-key": item.key, role: "note" },
    h("span", { class: "mark-text" }, text),
    actions,
    more ? h("details", {}, h("summary", {}, "What the model sees instead"), longText(more, { tag: "div" })) : null,
  );
}

function describe({ event, line, message, error, attempts }, acts, ledger) {
  if (event.type === "queue_left") return returned(message, acts);
  if (error) return { kind: "warn", text: `${failed(event, attempts)}: ${error}`, actions: actionOf(event, acts, ledger) };
  const { text, style } = line ?? { text: SAID_HERE[event.type](event), style: "warn" };
  const more = event.summary?.parts?.map((part) => part.text ?? "").join("\n");
  return { kind: KINDS[style] ?? "quiet", text: text.charAt(0).toUpperCase() + text.slice(1), actions: actionOf(event, acts, ledger), more };
}

/** What only the page tells. */
const SAID_HERE = {
  interrupted: ({ note }) => note || "Interrupted",
  call_ended: () => "The answer was cut at its longest",
};

function actionOf(event, acts, ledger) {
  const done = { compaction_committed: event.compaction, pruned: event.prune, rewound: event.rewind }[event.type];
  if (ledger.compactions.some((one) => one.id === done)) return button("Undo", () => acts.uncompact(done), { kind: "small", "data-needs": "write", hint: "Bring back into view what left it" });
  if (["turn_paused", "interrupted"].includes(event.type)) return button("Resume", acts.resume, { kind: "small", "data-needs": "write", hint: "Continue from here" });
  return null;
}

/** What came of an error so far. */
function failed({ type, wait_s: wait, outcome }, attempts) {
  if (type === "call_retried") return `Attempt ${attempts} failed, again in ${lasting(wait)}`;
  if (type === "call_ended" && outcome !== "failed" && outcome !== "dropped") return `${counted(attempts, "attempt")} failed, the next did not`;
  return attempts > 1 ? `Failed after ${counted(attempts, "attempt")}` : "Failed";
}

function returned(message, acts) {
  const text = (message.parts ?? []).map((part) => part.text ?? "").join("");
  return {
    kind: "stop",
    text: `Given back, not delivered: “${text.length > 120 ? `${text.slice(0, 119)}…` : text}”`,
    actions: text ? button("Write again", () => acts.rewrite(text), { kind: "small" }) : null,
  };
}

/** How much a compaction moved, in few letters. */
export const moved = (event) => (event.before == null ? "" : `${brief(event.before)} → ${brief(event.after)}`);
