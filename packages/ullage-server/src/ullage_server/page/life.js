// What is said of an item and of a call: the same in the map, in the timeline and in their tables.

import { besideNumber, counted, firstLine, money, number, when } from "./format.js";

/** Categories are rows of the reading; the last name of a path is shown. */
export const nameOf = (category) => category.split("/").at(-1);

const TONES = {
  "System prompt": 0,
  Tools: 1,
  "Instruction files": 2,
  Summary: 3,
  "Tool results": 4,
  You: 5,
  Assistant: 6,
  Reasoning: 7,
  "Tool calls": 8,
};

/** The class with the colour of a category, the same everywhere. */
export const toneOf = (category) => `tone-${TONES[nameOf(category)] ?? TONES[category.split(" (")[0]] ?? 9}`;

const REASONS = { compaction: "compacted", pruning: "pruned", rewind: "rewound" };

/** "Read app.py · Tool results · 1,200 ± 80 tokens · since call 4 · sent 31,200 tokens so far, $0.12". */
export function itemSentence(item) {
  const left = REASONS[item.why_left] ?? item.why_left;
  const from = item.sent ? `since call ${number(item.first_call)}` : `comes with call ${number(item.first_call)}`;
  const span = item.last_call === null ? from : `call ${number(item.first_call)} to ${number(item.last_call)}${left ? `, then ${left}` : ""}`;
  const cost = item.cost === null ? "" : `, ${money(item.cost)}`;
  const sent = item.sent ? `sent ${number(item.sent)} tokens so far${cost}` : "";
  const size = `${number(item.tokens)} ${besideNumber(item)} tokens`.replace("  ", " ");
  const parts = [firstLine(item.label, 120), nameOf(item.category), size, span, sent, item.leaves ? "leaves with the next compaction" : ""];
  return parts.filter(Boolean).join(" · ");
}

export const MARKS = { compaction: "compacted", prune: "pruned", model: "model changed", rewind: "rewound", cache: "cache missed" };

/** "Call 12 · 14:02 · 41,230 tokens, 38,000 of them from the cache · $0.02 · compacted". */
export function callSentence(call) {
  const many = call.calls > 1 ? `${counted(call.calls, "call")} up to ${number(call.number)}` : `Call ${number(call.number)}`;
  const cached = call.cached === null ? "" : `, ${number(call.cached)} of them from the cache`;
  const marks = call.marks.map((mark) => MARKS[mark] ?? mark).join(", ");
  const parts = [many, when(call.at), `${number(call.tokens)} tokens${cached}`, call.cost === null ? "" : money(call.cost), call.model, marks];
  return parts.filter(Boolean).join(" · ");
}
