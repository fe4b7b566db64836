// How the window filled up, call by call: what was reported as a line, what was estimated before it as points with their
// intervals, and marks where it was pruned or compacted.

import { h, replace, svg } from "./dom.js";
import { brief, number, percentSigned, signed } from "./format.js";

const HEIGHT = 132;
const LEFT = 38;
const RIGHT = 8;
const TOP = 14;
const FOOT = 22;
const POINTS_UNTIL = 70; // more than this and points would touch: the line alone is drawn

const MARKS = { compaction: "compacted", prune: "pruned", model: "model changed", rewind: "rewound" };

export class Growth {
  constructor(node) {
    this.node = node;
    this.steps = [];
    this.at = -1;
    this.said = h("p", { class: "chart-said" });
    this.holder = h("div", { class: "chart", tabindex: "0", role: "group", "aria-label": "Growth per call; left and right go through the calls" });
    this.holder.onpointermove = (event) => this.pointed(event);
    this.holder.onpointerleave = () => this.choose(-1);
    this.holder.onfocus = () => this.said.setAttribute("aria-live", "polite");
    this.holder.onblur = () => this.said.removeAttribute("aria-live"); // else each call of a turn would be read out
    this.holder.onkeydown = (event) => this.key(event);
    this.table = h("details", { class: "chart-table" });
    replace(node, this.holder, this.said, this.table);
    new ResizeObserver(() => this.draw()).observe(this.holder);
  }

  show(steps, reading) {
    this.steps = steps;
    this.reading = reading;
    if (this.at >= steps.length) this.at = -1;
    this.draw();
    this.drawTable();
  }

  draw() {
    const { steps, reading } = this;
    const width = this.holder.clientWidth;
    if (!width) return;
    if (!steps.length) {
      replace(this.holder, h("p", { class: "hint" }, "No call yet."));
      this.tell();
      return;
    }
    const point = reading?.compaction_point.tokens;
    const top = Math.max(...steps.map((step) => Math.max(step.tokens, step.high)), point && point < 2.5 * Math.max(...steps.map((step) => step.tokens)) ? point : 0, 1);
    this.x = (index) => LEFT + ((width - LEFT - RIGHT) * (index + 0.5)) / steps.length;
    this.y = (tokens) => TOP + (HEIGHT - TOP - FOOT) * (1 - Math.min(tokens, top) / top);
    const drawing = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" }, this.grid(width, top), this.marks(), this.line(), this.points(), this.cursor());
    this.holder.replaceChildren(drawing);
    this.tell();
  }

  grid(width, top) {
    const lines = [0, niceHalf(top)].map((tokens) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.y(tokens), y2: this.y(tokens) }),
      svg("text", { class: "axis", x: LEFT - 6, y: this.y(tokens) + 3.5, "text-anchor": "end" }, brief(tokens)),
    ]);
    const point = this.reading?.compaction_point.tokens;
    const limit = point && point <= top ? [
      svg("line", { class: "limit", x1: LEFT, x2: width - RIGHT, y1: this.y(point), y2: this.y(point) }),
      svg("text", { class: "axis limit-label", x: LEFT - 6, y: this.y(point) + 3.5, "text-anchor": "end" }, brief(point)),
    ] : [];
    const last = this.steps.length;
    const ends = [svg("text", { class: "axis", x: this.x(0), y: HEIGHT - 6, "text-anchor": "middle" }, "1")];
    if (last > 1) ends.push(svg("text", { class: "axis", x: this.x(last - 1), y: HEIGHT - 6, "text-anchor": "end" }, `call ${last}`));
    return [...lines, ...limit, ...ends];
  }

  marks() {
    return this.steps.flatMap((step, index) =>
      step.marks.filter((mark) => mark in MARKS).map((mark) => {
        const x = this.x(index) - (this.x(1) - this.x(0)) / 2 || this.x(index);
        const title = svg("title", {}, `${MARKS[mark]} before call ${step.number}`);
        return svg("g", { class: `chart-mark ${mark}`, "data-step": step.number }, title, svg("line", { x1: x, x2: x, y1: TOP - 4, y2: HEIGHT - FOOT }), svg("path", { d: glyph(mark, x) }));
      }),
    );
  }

  line() {
    const corners = this.steps.map((step, index) => `${this.x(index).toFixed(1)},${this.y(step.tokens).toFixed(1)}`);
    const floor = this.y(0);
    const area = `M${this.x(0)},${floor} L${corners.join(" L")} L${this.x(this.steps.length - 1)},${floor} Z`;
    return [svg("path", { class: "area", d: area }), svg("polyline", { class: "line", points: corners.join(" ") })];
  }

  points() {
    if (this.steps.length > POINTS_UNTIL) return [];
    return this.steps.flatMap((step, index) => [
      svg("line", { class: "whisker", x1: this.x(index), x2: this.x(index), y1: this.y(step.low), y2: this.y(step.high) }),
      svg("circle", { class: "estimate", cx: this.x(index), cy: this.y(step.estimated), r: 2.5 }),
    ]);
  }

  cursor() {
    const step = this.steps[this.at];
    if (!step) return [];
    return [
      svg("line", { class: "cursor", x1: this.x(this.at), x2: this.x(this.at), y1: TOP, y2: HEIGHT - FOOT }),
      svg("circle", { class: "cursor-dot", cx: this.x(this.at), cy: this.y(step.tokens), r: 3.5 }),
    ];
  }

  tell() {
    const step = this.steps[this.at] ?? this.steps.at(-1);
    this.said.textContent = step ? sentence(step) : "";
  }

  pointed(event) {
    if (!this.steps.length || !this.x) return;
    const width = this.holder.clientWidth - LEFT - RIGHT;
    const at = Math.floor(((event.clientX - this.holder.getBoundingClientRect().left - LEFT) / width) * this.steps.length);
    this.choose(Math.max(0, Math.min(this.steps.length - 1, at)));
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !this.steps.length) return;
    event.preventDefault();
    const from = this.at < 0 ? this.steps.length - (by < 0 ? 0 : 1) : this.at;
    this.choose(Math.max(0, Math.min(this.steps.length - 1, from + by)));
  }

  choose(at) {
    if (at === this.at) return;
    this.at = at;
    this.draw();
  }

  drawTable() {
    const rows = () =>
      this.steps.slice(-500).map((step) =>
        h("tr", {}, h("th", { scope: "row" }, step.number), h("td", {}, number(step.estimated)), h("td", {}, step.actual === null && step.refused !== null ? `not ${number(step.refused)}` : number(step.actual)), h("td", {}, step.first ? "first" : percentSigned(step.error_percent)), h("td", {}, step.marks.map((mark) => MARKS[mark] ?? mark).join(", "))),
      );
    const body = h("tbody", {});
    const heads = ["Call", "Estimate", "Actual", "Error", ""].map((text) => h("th", { scope: "col" }, text));
    const isOpen = this.table.open;
    replace(this.table, h("summary", {}, "As a table"), h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)));
    const fill = () => this.table.open && replace(body, rows());
    this.table.ontoggle = fill;
    if (isOpen) fill();
    this.table.hidden = !this.steps.length;
  }
}

function sentence(step) {
  const grown = step.grown === null ? "" : ` (${signed(step.grown)})`;
  const marks = step.marks.map((mark) => MARKS[mark] ?? mark).join(", ");
  const none = step.refused === null ? "actual not reported" : `the reported ${number(step.refused)} can't be true and is not used`;
  const outcome = step.actual === null ? none : `actual ${number(step.actual)}${step.first ? "" : `, ${percentSigned(step.error_percent)}`}`;
  return `Call ${step.number}: ${number(step.tokens)}${grown} · estimate ${number(step.estimated)}, ${outcome}${marks ? ` · ${marks}` : ""}`;
}

function niceHalf(top) {
  const size = 10 ** Math.floor(Math.log10(top));
  return [7.5, 5, 4, 3, 2.5, 2, 1.5, 1, 0.75].map((one) => one * size).find((tokens) => tokens <= 0.8 * top) ?? top;
}

function glyph(mark, x) {
  const y = TOP - 6;
  if (mark === "compaction") return `M${x - 4.5},${y - 4} h9 l-4.5,7 z`;
  return `M${x - 3.5},${y} l3.5,-4 l3.5,4 l-3.5,4 z`;
}
