// The calls: what was estimated before each, what was reported, and where the window was pruned or compacted.

import { h, replace } from "./dom.js";
import { money, number, percentSigned, signed } from "./format.js";

const MARKS = { compaction: "compacted", prune: "pruned", model: "model changed", rewind: "rewound", uncompact: "compaction undone" };

export class Growth {
  constructor(node) {
    this.said = h("p", { class: "calls-said" });
    this.table = h("details", { class: "calls-table" });
    replace(node, this.said, this.table);
  }

  show(steps) {
    this.steps = steps;
    const last = steps.at(-1);
    replace(this.said, last ? sentence(last) : "No call yet.", last?.cause ? h("span", { class: "cause" }, causeText(last.cause)) : null);
    this.drawTable();
  }

  drawTable() {
    const rows = () =>
      this.steps.slice(-500).reverse().map((step) => [
        h("tr", {}, h("th", { scope: "row" }, step.number), h("td", {}, number(step.estimated)), h("td", {}, step.actual === null && step.refused !== null ? `not ${number(step.refused)}` : number(step.actual)), h("td", {}, step.first ? "first" : percentSigned(step.error_percent)), h("td", {}, step.marks.map((mark) => MARKS[mark] ?? mark).join(", "))),
        step.cause ? h("tr", { class: "cause-row" }, h("td", { colspan: "5", class: "cause" }, causeText(step.cause))) : null,
      ]);
    const body = h("tbody", {});
    const heads = ["Call", "Estimate", "Actual", "Error", ""].map((text) => h("th", { scope: "col" }, text));
    const isOpen = this.table.open;
    replace(this.table, h("summary", {}, "All calls, newest first"), h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)));
    const fill = () => this.table.open && replace(body, rows());
    this.table.ontoggle = fill;
    if (isOpen) fill();
    this.table.hidden = !this.steps.length;
  }
}

/** "Paid again for 12,400 tokens, $0.05: tool `x` removed (the provider says so)". Zeros are left out of the answer. */
function causeText({ words, tokens = 0, usd = null, by = "log" }) {
  const worth = usd === null ? "" : `, ${money(usd)}`;
  return `Paid again for ${number(tokens)} tokens${worth}: ${words}${by === "provider" ? " (the provider says so)" : ""}`;
}

function sentence(step) {
  const grown = step.grown === null ? "" : ` (${signed(step.grown)})`;
  const marks = step.marks.map((mark) => MARKS[mark] ?? mark).join(", ");
  const none = step.refused === null ? "actual not reported" : `the reported ${number(step.refused)} can't be true and is not used`;
  const outcome = step.actual === null ? none : `actual ${number(step.actual)}${step.first ? "" : `, ${percentSigned(step.error_percent)}`}`;
  return `Call ${step.number}: ${number(step.tokens)}${grown} · estimate ${number(step.estimated)}, ${outcome}${marks ? ` · ${marks}` : ""}`;
}
