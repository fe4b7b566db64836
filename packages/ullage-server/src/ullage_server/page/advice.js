// What would make room, as the server found it: each with what it saves and how it is done.

import { button, h, released, replace } from "./dom.js";
import { besideNumber, brief, counted, firstLine, money, number } from "./format.js";
import { loadStyles } from "./styles.js";

const CENT = 0.01;

/** `reveal(item)` shows an item that a suggestion names. */
export async function drawAdvice(node, advice, reveal, title = "") {
  await loadStyles();
  await released();
  const drawn = advice.suggestions.map((one) => h("li", { class: "suggestion" }, drawOne(one, reveal)));
  const none = h("p", { class: "hint" }, "Nothing worth leaving out was found.");
  const together = drawn.length > 1 ? h("p", { class: "together" }, `Together: ${savingText(advice.total)}`) : null;
  replace(node, title ? h("h3", {}, title) : null, together, drawn.length ? h("ol", { class: "suggestions" }, drawn) : none, followed(advice.outcomes), ahead(advice.compaction));
}

function drawOne(one, reveal) {
  return [
    h("h4", {}, firstLine(one.title, 200)),
    h("p", { class: "saving" }, savingText(one.saving)),
    one.text ? h("p", {}, firstLine(one.text, 600)) : null,
    one.how ? h("p", { class: "how" }, "To do: ", withCode(one.how)) : null,
    itemsOf(one, reveal),
  ];
}

// Commands and names of settings stand between backticks.
const withCode = (text) => text.split("`").map((piece, at) => (at % 2 ? h("code", {}, piece) : piece));

function itemsOf(one, reveal) {
  const found = one.items;
  if (!found.length) return null;
  const entry = (item) => h("li", {}, button(firstLine(item.label, 48), () => reveal(item), { kind: "small", hint: `${number(item.tokens)} tokens: show its row` }));
  const rest = one.count - found.length;
  return h("ul", { class: "named", "aria-label": "What it is about" }, found.map(entry), rest ? h("li", { class: "dim" }, `and ${number(rest)} more`) : null);
}

/** "6,557 (5,687 to 7,482) tokens a call · 682k tokens so far, $0.47". Zeros are left out of the answer. */
function savingText({ tokens = 0, low = 0, high = 0, so_far = 0, usd = null }) {
  const each = tokens ? `${number(tokens)} ${besideNumber({ tokens, low, high })} tokens a call`.replace("  ", " ") : "";
  const worth = usd !== null && usd >= CENT ? `, ${money(Math.round(100 * usd) / 100)}` : "";
  return [each, so_far ? `${brief(so_far)} tokens so far${worth}` : ""].filter(Boolean).join(" · ");
}

function followed(outcomes) {
  const entry = (one) => h("li", {}, `${firstLine(one.title, 200)}: promised ${number(one.promised)} tokens per ${one.unit}, measured ${number(one.measured)}${one.has_helped ? "" : ". It did not help"}`);
  return outcomes.length ? [h("h4", { class: "ahead" }, "Followed since"), h("ul", { class: "followed" }, outcomes.map(entry))] : null;
}

function ahead(compaction) {
  if (!compaction) return null;
  const { by, threshold, left, leaves, stays, note } = compaction;
  const who = by ? `${by} compacts` : "Ullage would compact";
  const range = left ? ` (${number(left.low)} to ${number(left.high)})` : "";
  const when = !left ? "" : left.calls > 0 ? `, in about ${counted(left.calls, "call")}${range}` : ", perhaps at the next call";
  const moves = leaves === 0 ? "It would find nothing to take out now." : `If it came now, ${number(leaves)} tokens would leave the window and ${number(stays)} would stay.`;
  const what = leaves === null ? "" : ` ${moves}`;
  return [h("h4", { class: "ahead" }, "The next compaction"), h("p", {}, `${who} at ${number(threshold)}${when}.${what}`), note ? h("p", { class: "how" }, withCode(`${note}.`)) : null];
}
