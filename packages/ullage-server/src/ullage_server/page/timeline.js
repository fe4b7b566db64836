// The calls from left to right: each item is a bar from the call it came in to the call it left, stacked under the curve
// of what the window held; marks where it was compacted, where the cache missed and where the model changed.

import { h, replace, svg } from "./dom.js";
import { brief, firstLine, number } from "./format.js";
import { callSentence, itemSentence, MARKS, nameOf, toneOf } from "./life.js";

const HEIGHT = 250;
const LEFT = 40;
const RIGHT = 8;
const TOP = 22;
const FOOT = 22;
const ROWS_OF_TABLE = 300;

export class Timeline {
  /** `reveal(item)` shows an item where it stands. */
  constructor(node, { reveal }) {
    Object.assign(this, { node, reveal });
    this.at = -1;
    this.item = null;
    const about = "Timeline of the calls; left and right go through the calls, up and down through the items of a call, Enter shows an item";
    this.holder = h("div", { class: "timeline", tabindex: "0", role: "group", "aria-label": about });
    this.holder.onpointermove = (event) => this.pointed(event);
    this.holder.onpointerleave = () => this.choose(-1, null);
    this.holder.onkeydown = (event) => this.key(event);
    this.holder.onclick = () => this.item && this.reveal(this.item);
    this.said = h("p", { class: "chart-said" });
    this.holder.onfocus = () => this.said.setAttribute("aria-live", "polite");
    this.holder.onblur = () => this.said.removeAttribute("aria-live");
    this.marks = h("ul", { class: "legend", "aria-label": "Marks" });
    this.table = h("details", { class: "chart-table" });
    replace(node, this.holder, this.marks, this.said, this.table);
    new ResizeObserver(() => this.draw()).observe(this.holder);
  }

  show(map) {
    const chosen = this.item?.key;
    this.map = map;
    this.item = map.items.find((item) => item.key === chosen) ?? null;
    if (this.at >= map.calls.length) this.at = -1;
    this.stack();
    this.draw();
    this.drawTable();
    replace(this.marks, markLegend(map.calls));
  }

  // Where each bar stands, column by column, on the bars of items that came before it.
  stack() {
    const { calls, items } = this.map;
    const floor = new Array(calls.length).fill(0);
    this.bars = items.map((item) => {
      const spans = spansOf(item, calls);
      return { item, spans: spans.map(({ from, to, tokens }) => raised(floor, from, to, tokens)).flat() };
    });
    this.top = Math.max(1, ...floor, ...calls.map((call) => call.tokens));
  }

  draw() {
    const width = this.holder.clientWidth;
    if (!width || !this.map) return;
    const { calls } = this.map;
    if (!calls.length) {
      replace(this.holder, h("p", { class: "hint" }, "No call yet."));
      this.tell();
      return;
    }
    this.x = (column) => LEFT + ((width - LEFT - RIGHT) * column) / calls.length;
    this.y = (tokens) => TOP + (HEIGHT - TOP - FOOT) * (1 - tokens / this.top);
    const drawing = svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" }, this.axes(width), this.drawBars(), this.curve(), this.drawMarks());
    this.overlay = svg("g", {});
    drawing.append(this.overlay);
    this.holder.replaceChildren(drawing);
    this.point();
  }

  axes(width) {
    const last = this.map.calls.length - 1;
    const lines = [0, half(this.top)].map((tokens) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.y(tokens), y2: this.y(tokens) }),
      svg("text", { class: "axis", x: LEFT - 6, y: this.y(tokens) + 3.5, "text-anchor": "end" }, brief(tokens)),
    ]);
    const first = svg("text", { class: "axis", x: LEFT, y: HEIGHT - 6 }, "1");
    const end = svg("text", { class: "axis", x: width - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, `call ${number(this.map.calls[last].number)}`);
    return [...lines, first, end];
  }

  drawBars() {
    return this.bars.map(({ item, spans }, at) => svg("path", { class: `bar-of ${toneOf(item.category)}`, "data-bar": at, d: this.outline(spans) }));
  }

  outline(spans) {
    const corners = ({ from, to, low, high }) => {
      const [left, right] = [this.x(from).toFixed(1), this.x(to).toFixed(1)];
      return `M${left},${this.y(high).toFixed(1)}H${right}V${this.y(low).toFixed(1)}H${left}Z`;
    };
    return spans.map(corners).join("");
  }

  curve() {
    const steps = this.map.calls.map((call, column) => `V${this.y(call.tokens).toFixed(1)}H${this.x(column + 1).toFixed(1)}`);
    return svg("path", { class: "line", d: `M${LEFT},${this.y(this.map.calls[0].tokens).toFixed(1)}${steps.join("")}` });
  }

  drawMarks() {
    return this.map.calls.flatMap((call, column) =>
      call.marks.filter((mark) => mark in MARKS).map((mark, place) => {
        const x = this.x(column);
        const title = svg("title", {}, `${MARKS[mark]} before call ${call.number}`);
        const line = mark === "cache" ? [] : svg("line", { x1: x, x2: x, y1: TOP - 4, y2: HEIGHT - FOOT });
        return svg("g", { class: `chart-mark ${mark}`, "data-call": call.number }, title, line, svg("path", { d: glyph(mark, x, TOP - 6 - 9 * (place % 2)) }));
      }),
    );
  }

  // -- what is pointed at --

  pointed(event) {
    if (!this.x || !this.map.calls.length) return;
    const box = this.holder.getBoundingClientRect();
    const width = box.width - LEFT - RIGHT;
    const column = Math.floor(((event.clientX - box.left - LEFT) / width) * this.map.calls.length);
    const bar = event.target.closest?.("[data-bar]");
    this.choose(Math.max(0, Math.min(this.map.calls.length - 1, column)), bar ? this.bars[Number(bar.dataset.bar)].item : null);
  }

  key(event) {
    const { calls } = this.map;
    const column = this.at < 0 ? calls.length - 1 : this.at;
    const aside = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (aside && calls.length) this.choose(Math.max(0, Math.min(calls.length - 1, this.at < 0 ? column : column + aside)), null);
    else if (up && calls.length) this.climb(column, up);
    else if (event.key === "Enter" && this.item) this.reveal(this.item);
    else return;
    event.preventDefault();
  }

  // The next item of a call, up or down in its stack.
  climb(column, up) {
    const standing = this.bars.filter((bar) => bar.spans.some((span) => span.from <= column && column < span.to)).map((bar) => bar.item);
    const place = standing.indexOf(this.item);
    const next = place < 0 ? (up > 0 ? 0 : standing.length - 1) : place + up;
    if (standing[next]) this.choose(column, standing[next]);
  }

  choose(at, item) {
    if (at === this.at && item === this.item) return;
    this.at = at;
    this.item = item;
    this.point();
  }

  point() {
    const shapes = [];
    if (this.at >= 0 && this.at < this.map.calls.length) {
      const x = this.x(this.at + 0.5);
      shapes.push(svg("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: HEIGHT - FOOT }));
    }
    const bar = this.item && this.bars.find((one) => one.item === this.item);
    if (bar) shapes.push(svg("path", { class: "bar-on", d: this.outline(bar.spans) }));
    this.overlay?.replaceChildren(...shapes);
    this.tell();
  }

  tell() {
    const call = this.map.calls[this.at] ?? this.map.calls.at(-1);
    const texts = [call ? callSentence(call) : "", this.item ? itemSentence(this.item) : ""];
    replace(this.said, texts.filter(Boolean).map((text) => h("span", {}, text)));
  }

  // -- the same as a table --

  drawTable() {
    const heads = ["Item", "Category", "Tokens", "From call", "To call", "Left by"].map((text) => h("th", { scope: "col" }, text));
    const row = (item) => h("tr", {}, h("th", { scope: "row" }, firstLine(item.label, 80)), h("td", {}, nameOf(item.category)), h("td", {}, number(item.tokens)), h("td", {}, number(item.first_call)), h("td", {}, item.last_call === null ? "in the window" : number(item.last_call)), h("td", {}, item.why_left));
    const body = h("tbody", {});
    const isOpen = this.table.open;
    replace(this.table, h("summary", {}, "The timeline as a table"), h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "The timeline as a table" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)));
    const fill = () => this.table.open && replace(body, this.map.items.slice(0, ROWS_OF_TABLE).map(row));
    this.table.ontoggle = fill;
    if (isOpen) fill();
    this.table.hidden = !this.map.items.length;
  }
}

// The columns in which an item stands, with its tokens there. A group's tokens change: `sizes` are (call, tokens).
function spansOf(item, calls) {
  const columnOf = (wanted) => calls.findIndex((call) => call.number >= wanted);
  const end = item.last_call === null ? calls.length : columnOf(item.last_call) + 1;
  const sizes = item.sizes.length ? item.sizes : [[item.first_call, item.tokens]];
  const spans = [];
  sizes.forEach(([call, tokens], at) => {
    const from = columnOf(call);
    const next = at + 1 < sizes.length ? columnOf(sizes[at + 1][0]) : end;
    if (from >= 0 && next > from && tokens > 0) spans.push({ from, to: next, tokens });
  });
  return spans;
}

// Puts so many tokens on the floor of each column; neighbours with the same floor are one span.
function raised(floor, from, to, tokens) {
  const spans = [];
  for (let column = from; column < to; column += 1) {
    const last = spans.at(-1);
    if (last && last.low === floor[column]) last.to = column + 1;
    else spans.push({ from: column, to: column + 1, low: floor[column], high: floor[column] + tokens });
    floor[column] += tokens;
  }
  return spans;
}

function half(top) {
  const size = 10 ** Math.floor(Math.log10(top));
  return [5, 2, 1, 0.5].map((one) => one * size).find((tokens) => tokens <= 0.75 * top) ?? top;
}

function glyph(mark, x, y) {
  if (mark === "compaction") return `M${x - 4.5},${y - 4} h9 l-4.5,7 z`;
  if (mark === "model") return `M${x - 3},${y - 3} h6 v6 h-6 z`;
  if (mark === "rewind") return `M${x + 3},${y - 4} v8 l-7,-4 z`;
  if (mark === "cache") return `M${x - 3},${y - 3} l6,6 m0,-6 l-6,6`;
  return `M${x - 3.5},${y} l3.5,-4 l3.5,4 l-3.5,4 z`;
}

// Those that are there.
function markLegend(calls) {
  const seen = new Set(calls.flatMap((call) => call.marks));
  const picture = (mark) => svg("svg", { class: "timeline-key", width: 12, height: 12, viewBox: "0 0 12 12", "aria-hidden": "true" }, svg("g", { class: `chart-mark ${mark}` }, svg("path", { d: glyph(mark, 6, 6) })));
  return Object.keys(MARKS).filter((mark) => seen.has(mark)).map((mark) => h("li", { class: "legend-mark" }, picture(mark), MARKS[mark]));
}
