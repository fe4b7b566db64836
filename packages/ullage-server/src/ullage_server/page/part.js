// Summarising what stands before a message, or from it on: the two buttons, and what came of it, at that message.

import { button, h } from "./dom.js";
import { counted, number } from "./format.js";

const SIDES = [
  ["up_to", "Up to here", "What stands before this message becomes a summary; this message and all behind it stay"],
  ["from", "From here", "This message and all behind it become a summary; what stands before it stays as it is"],
];

/** The button that opens the two choices, and the row in which they open; in `open` while they are, by message. */
export function summaryChoices(message, acts, open) {
  const chosen = (side) => {
    open.delete(message);
    return acts.summarise(message, side);
  };
  const choose = ([side, label, hint]) => button(label, () => chosen(side), { kind: "small", "data-needs": "write", hint });
  const row = h("div", { class: "choices", role: "group", "aria-label": "Summarise", hidden: true });
  const show = (isShown) => {
    if (!row.firstChild) row.append(...SIDES.map(choose)); // few of thousands of messages are asked
    row.hidden = !isShown;
    if (isShown) open.set(message, choices);
    else open.delete(message);
    toggle.setAttribute("aria-expanded", String(isShown));
    (isShown ? row.firstChild : toggle).focus();
  };
  const toggle = button("Summarise", () => show(row.hidden), { kind: "small bare", "data-needs": "write", "aria-expanded": "false", hint: "Summarise up to this message, or from it on" });
  row.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    show(false);
  });
  const choices = { toggle, row };
  return choices;
}

/** What became of the summary that was asked for at a message; `null` where none was. */
export function summaryOutcome(part) {
  if (!part) return null;
  return h("p", { class: `outcome ${part.state}` }, outcomeText(part));
}

/** The same as text. */
export function outcomeText({ state, side, event, why }) {
  if (state === "failed") return `Nothing was summarised: ${why}`;
  if (state === "done") return `Summarised ${counted(event.summarised?.length ?? 0, "message")}: ${number(event.before)} → ${number(event.after)} tokens`;
  return side === "from" ? "Summarising from here …" : "Summarising up to here …";
}
