// Compactions and rewinds: what became of the one that was asked for, and those that can be undone, newest first.

import { button, h, replace } from "./dom.js";
import { counted, number, when } from "./format.js";
import { moved } from "./marks.js";

/** The list of them; undoing one brings back the view from before it. */
export function drawUndoable(node, compactions, acts) {
  const newest = compactions.slice(-8).reverse();
  replace(
    node,
    newest.length
      ? h("ul", { class: "undoable", "aria-label": "Compactions, prunes and rewinds" }, newest.map((one) => h("li", {}, line(one), button("Undo", () => acts.uncompact(one.id), { kind: "small bare", "data-needs": "write", hint: "Bring back the view from before it" }))))
      : null,
  );
}

function line({ kind, event }) {
  const what = kind === "prune" ? `pruned ${counted(event.parts.length, "result")}` : kind === "rewind" ? `rewound${event.files ? " with files" : ""}` : event.rung === "surgery" ? "dropped" : "compacted";
  return h("span", {}, what, h("small", {}, ` ${[moved(event), when(event.at)].filter(Boolean).join(" · ")}`));
}

/** What became of a compaction that was asked for. */
export function drawOutcome(node, order) {
  node.textContent = outcomeOf(order);
  node.className = `outcome ${order.state}`;
  node.scrollIntoView({ block: "nearest" }); // on a phone the button is at the foot of the screen
}

function outcomeOf({ state, event, why }) {
  if (state === "failed") return `Nothing was compacted: ${why}`;
  if (state === "done") return `Compacted: ${number(event.before)} → ${number(event.after)} tokens`;
  return "Compacting …";
}
