// The figures beside the gauge: the denominators, how the number came about, how estimates fared, what it has cost.

import { h, replace } from "./dom.js";
import { counted, money, number, percentSigned, signed } from "./format.js";
import { figureOf, windowFrom } from "./limits.js";

const list = (pairs) => h("dl", { class: "figures" }, pairs.filter(Boolean).map(([name, value, note]) => h("div", { title: note ?? "" }, h("dt", {}, name), h("dd", {}, value))));

/** Each limit by its name: no number stands without what it is of. */
export function drawLimits(node, reading) {
  replace(
    node,
    list([
      figureOf(reading.compaction_point),
      ["Input limit", number(reading.input_limit), "min(the provider's input cap, window − reserve)"],
      ["Window", reading.window.tokens ? number(reading.window.tokens) : "unknown", windowFrom(reading.window) || "The model's context window"],
      ["Compactions", number(reading.compactions)],
    ]),
    reading.notes.map((note) => h("p", { class: "reading-note" }, note)),
  );
}

/** What the last output is, and what was reported where it was counted instead. */
function lastOutput(basis) {
  const kept = "What of the last answer is sent back and counted";
  return basis.reported_output === null ? kept : `${kept}; ${number(basis.reported_output)} reported`;
}

/** The terms of the sum, and the last estimate beside its actual. */
export function drawAccuracy(node, reading) {
  const { basis, accuracy } = reading;
  replace(
    node,
    list([
      basis.last_input === null ? null : ["Last input", number(basis.last_input), "As the provider reported it"],
      basis.last_output ? ["Last output", signed(basis.last_output), lastOutput(basis)] : null,
      ["New", signed(basis.new), "Added since; estimated"],
      basis.changed ? ["Changed", signed(basis.changed), "System prompt, tools or model; by difference"] : null,
      basis.removed ? ["Removed", signed(basis.removed), "Pruned, compacted, reasoning that leaves; by difference"] : null,
      ["Used", number(reading.used.tokens)],
    ]),
    accuracy.actual === null
      ? h("p", { class: "hint" }, "No actual yet to hold an estimate against.")
      : list([
          ["Last estimate", number(accuracy.estimated)],
          ["Actual", number(accuracy.actual)],
          ["Error", `${signed(accuracy.error)} (${percentSigned(accuracy.error_percent)})`, "estimated − actual"],
          accuracy.median_error_percent === null ? null : ["Median error", `${accuracy.median_error_percent.toFixed(1)} %`, `Over ${counted(accuracy.calls, "call")}; first estimates are not in it`],
          accuracy.calls ? ["Inside the interval", `${accuracy.inside} of ${accuracy.calls}`] : null,
        ]),
  );
}

const KINDS = { input: "input", cache_read: "of it read from cache", cache_write: "of it written to cache", output: "output", reasoning: "of it reasoning" };

/** What was billed, by purpose. Never part of the window. */
export function drawSpend(node, spend) {
  const purposes = Object.entries(spend.by_purpose ?? {});
  if (!purposes.length) {
    replace(node, h("p", { class: "hint" }, "Nothing yet."));
    return;
  }
  const { money: paid } = spend;
  const doubts = [paid.unpriced ? `${counted(paid.unpriced, "call")} without a known price` : "", paid.inexact ? `${counted(paid.inexact, "call")} not exact` : ""].filter(Boolean);
  const cost = paid.priced ? money(paid.usd) : "price unknown";
  replace(
    node,
    list([["Cost", cost, "By list prices"]]),
    doubts.length && paid.priced ? h("p", { class: "reading-note" }, doubts.join(", ")) : null,
    h(
      "table",
      { class: "spend" },
      h("thead", {}, h("tr", {}, ["For", "Calls", "Input", "Output"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, purposes.map(([purpose, sums]) => h("tr", { title: titleOf(sums) }, h("th", { scope: "row" }, purpose), [sums.calls, sums.input, sums.output].map((value) => h("td", {}, number(value ?? 0)))))),
    ),
  );
}

function titleOf(sums) {
  const said = Object.entries(KINDS).filter(([kind]) => sums[kind]).map(([kind, name]) => `${number(sums[kind])} ${name}`);
  const unsaid = Object.entries(sums.unsaid ?? {}).map(([kind, count]) => `${kind} not reported by ${counted(count, "call")}`);
  return [...said, ...unsaid].join(", ");
}
