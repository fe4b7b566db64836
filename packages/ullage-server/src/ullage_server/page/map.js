// The map of the window: its categories and items as areas. A category opens to its items, an item leads to its row.

import { h, replace, svg } from "./dom.js";
import { brief, counted, firstLine, number, share } from "./format.js";
import { itemSentence, nameOf, toneOf } from "./life.js";
import { squarified } from "./squarify.js";

const HEAD = 17;
const GAP = 2;
const LETTER = 6.2; // the usual width of a letter of a label; what is wider is cut off
const ROWS_OF_TABLE = 300;

export class WindowMap {
  /** `reveal(item)` shows an item where it stands. */
  constructor(node, { reveal }) {
    Object.assign(this, { node, reveal });
    this.zoomed = "";
    this.chosen = "";
    this.path = h("p", { class: "map-path" });
    this.legend = h("ul", { class: "legend", "aria-label": "Categories" });
    this.holder = h("div", { class: "map-holder" });
    this.said = h("p", { class: "chart-said" });
    this.table = h("details", { class: "chart-table" });
    this.holder.onkeydown = (event) => this.key(event);
    this.holder.onpointerover = (event) => this.hover(event.target.closest("[data-cell]"));
    this.holder.onpointerleave = () => this.tell(null);
    this.holder.onfocusin = (event) => this.focused(event.target.closest("[data-cell]"));
    replace(node, this.path, this.legend, this.holder, this.said, this.table);
    new ResizeObserver(() => this.draw()).observe(this.holder);
  }

  show(map) {
    this.map = map;
    this.inWindow = map.items.filter((item) => item.last_call === null);
    if (!map.categories.some((one) => one.name === this.zoomed)) this.zoomed = "";
    this.drawLegend();
    this.draw();
    this.drawTable();
  }

  zoom(name) {
    this.zoomed = this.zoomed === name ? "" : name;
    const cells = this.zoomed ? this.itemsOf(this.zoomed) : [];
    this.chosen = cells.length ? cells[0].key : `:${name}`;
    this.drawLegend();
    this.draw();
  }

  itemsOf(name) {
    return this.inWindow.filter((item) => item.category === name).sort((a, b) => b.tokens - a.tokens);
  }

  // -- the legend --

  drawLegend() {
    const whole = this.map.categories.reduce((sum, one) => sum + one.tokens, 0);
    const focused = this.legend.contains(document.activeElement) ? document.activeElement.dataset.category : null;
    const entry = (one) => {
      const about = `${number(one.tokens)} · ${share(one.tokens, whole)}`;
      const label = [h("span", { class: `key ${toneOf(one.name)}`, "aria-hidden": "true" }), nameOf(one.name), " ", h("span", { class: "dim" }, about)];
      const isZoomed = one.name === this.zoomed;
      return h("li", {}, h("button", { type: "button", class: "legend-entry", "data-category": one.name, "aria-pressed": String(isZoomed), onclick: () => this.zoom(one.name) }, label));
    };
    replace(this.legend, this.map.categories.map(entry));
    if (focused !== null) this.legend.querySelector(`[data-category="${CSS.escape(focused)}"]`)?.focus();
    const back = h("button", { type: "button", class: "button small bare", onclick: () => this.zoom(this.zoomed) }, "‹ All categories");
    replace(this.path, this.zoomed ? [back, h("strong", {}, nameOf(this.zoomed))] : "");
    this.path.hidden = !this.zoomed;
  }

  // -- the areas --

  draw() {
    const width = this.holder.clientWidth;
    if (!width || !this.map) return;
    const hadFocus = this.holder.contains(document.activeElement);
    const height = width < 500 ? 300 : 340;
    this.cells = [];
    const space = { x: 0, y: 0, width, height };
    const shapes = this.zoomed ? this.drawItems(this.itemsOf(this.zoomed), space) : this.drawCategories(space);
    const about = "Map of the window. Arrow keys go through it, Enter opens a category or shows an item, Escape goes back.";
    const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": about }, shapes);
    replace(this.holder, this.cells.length ? drawing : h("p", { class: "hint" }, "Nothing is in the window yet."));
    if (!this.cells.some((cell) => cell.key === this.chosen)) this.chosen = this.cells[0]?.key ?? "";
    this.nodeOf(this.chosen)?.setAttribute("tabindex", "0");
    if (hadFocus) this.nodeOf(this.chosen)?.focus({ preventScroll: true });
    this.tell(null);
  }

  drawCategories(space) {
    const categories = this.map.categories.filter((one) => one.tokens > 0);
    const boxes = squarified(categories.map((one) => one.tokens), space);
    return categories.flatMap((one, at) => {
      const box = shrunk(boxes[at]);
      const title = `${nameOf(one.name)} ${brief(one.tokens)}`;
      const hasRoom = box.width > 46 && box.height > HEAD + 14;
      const head = this.cell({ key: `:${one.name}`, category: one }, box, hasRoom ? title : "", true);
      if (!hasRoom) return head;
      const inside = { x: box.x, y: box.y + HEAD, width: box.width, height: box.height - HEAD };
      return [...head, ...this.drawItems(this.itemsOf(one.name), inside)];
    });
  }

  drawItems(items, space) {
    const some = items.filter((item) => item.tokens > 0);
    const boxes = squarified(some.map((item) => item.tokens), space);
    return some.flatMap((item, at) => this.cell({ key: item.key, item }, shrunk(boxes[at]), item.label, false));
  }

  // The area, and beside it its text: what is read out is the area's own label, which says more.
  cell(what, box, label, isHead) {
    const { item, category } = what;
    const cell = { ...what, box };
    this.cells.push(cell);
    const tone = toneOf((item ?? category).category ?? category.name);
    const letters = Math.floor((box.width - 8) / LETTER);
    const hasText = label && letters > 3 && box.height > 13;
    const texts = hasText ? [svg("text", { x: 5, y: 12.5 }, firstLine(label, letters))] : [];
    if (hasText && item && box.height > 29) texts.push(svg("text", { class: "less", x: 5, y: 26 }, brief(item.tokens)));
    const shape = svg("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 2 });
    const spoken = item ? itemSentence(item) : `${categorySentence(category)}. Enter opens it.`;
    const act = () => (item ? this.reveal(item) : this.zoom(category.name));
    const kind = `${isHead ? "head" : ""} ${tone}`;
    const area = svg("g", { class: `cell ${kind}`, role: "button", tabindex: "-1", "data-cell": what.key, "aria-label": spoken, onclick: act }, shape);
    return texts.length ? [area, svg("svg", { ...box, class: `cell-text ${kind}`, "aria-hidden": "true" }, texts)] : [area];
  }

  // -- what is pointed at --

  nodeOf(key) {
    return this.holder.querySelector(`[data-cell="${CSS.escape(key)}"]`);
  }

  hover(node) {
    this.tell(node && this.cells.find((cell) => cell.key === node.dataset.cell));
  }

  focused(node) {
    if (!node) return;
    this.nodeOf(this.chosen)?.setAttribute("tabindex", "-1");
    this.chosen = node.dataset.cell;
    node.setAttribute("tabindex", "0");
    this.hover(node);
  }

  tell(cell) {
    if (!this.map) return; // the pointer passes over it before it is drawn
    const item = cell?.item;
    if (item) this.said.textContent = itemSentence(item);
    else this.said.textContent = cell ? categorySentence(cell.category) : this.whole();
  }

  whole() {
    const items = this.map.categories.reduce((sum, one) => sum + one.items, 0);
    return `${counted(items, "item")} in the window. Point at one, or use the arrow keys.`;
  }

  key(event) {
    const cell = this.cells?.find((one) => one.key === this.chosen);
    if (event.key === "Escape" && this.zoomed) this.zoom(this.zoomed);
    else if (event.key === "Enter" || event.key === " ") this.nodeOf(this.chosen)?.dispatchEvent(new MouseEvent("click"));
    else if (event.key in DIRECTIONS && cell) this.nodeOf(nearest(this.cells, cell, DIRECTIONS[event.key]).key)?.focus();
    else return;
    event.preventDefault();
  }

  // -- the same as a table --

  drawTable() {
    const heads = ["Item", "Category", "Tokens", "Since call", "Sent so far"].map((text) => h("th", { scope: "col" }, text));
    const row = (item) => h("tr", {}, h("th", { scope: "row" }, firstLine(item.label, 80)), h("td", {}, nameOf(item.category)), h("td", {}, number(item.tokens)), h("td", {}, number(item.first_call)), h("td", {}, number(item.sent)));
    const body = h("tbody", {});
    const largest = () => [...this.inWindow].sort((a, b) => b.tokens - a.tokens).slice(0, ROWS_OF_TABLE);
    const isOpen = this.table.open;
    replace(this.table, h("summary", {}, "The map as a table"), h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "The map as a table" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)));
    const fill = () => this.table.open && replace(body, largest().map(row));
    this.table.ontoggle = fill;
    if (isOpen) fill();
    this.table.hidden = !this.inWindow.length;
  }
}

const categorySentence = (one) => `${nameOf(one.name)}: ${number(one.tokens)} tokens in ${counted(one.items, "item")}`;

const shrunk = (box) => ({ x: box.x, y: box.y, width: Math.max(0, box.width - GAP), height: Math.max(0, box.height - GAP) });

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// The cell whose corner is nearest in a direction; the same one where there is none.
function nearest(cells, from, [right, down]) {
  let best = from;
  let least = Infinity;
  for (const cell of cells) {
    const x = cell.box.x - from.box.x;
    const y = cell.box.y - from.box.y;
    const ahead = x * right + y * down;
    const aside = Math.abs(x * down + y * right);
    const distance = ahead + 3 * aside;
    if (cell === from || ahead < 1 || distance >= least) continue;
    best = cell;
    least = distance;
  }
  return best;
}
