// What the window is made of: rows that open to tools, roles and single messages.

import { h, place, released, replace } from "./dom.js";
import { counted, firstLine, interval, number, share } from "./format.js";
import { shadeOf } from "./gauge.js";

const SOURCES = { reported: "reported", counted: "counted", estimated: "estimated", by_difference: "by difference" };
const ITEMS_AT_ONCE = 40;

export class Rows {
  /** `items()` gives a promise of the largest parts; `reveal(item)` shows one in the conversation. */
  constructor(node, { items, reveal }) {
    Object.assign(this, { node, items, reveal });
    this.opened = new Set(["Messages"]);
    this.more = new Map();
    this.known = null;
  }

  show(reading) {
    this.reading = reading;
    this.whole = reading.window.tokens || reading.used.tokens;
    const isDeep = [...this.opened].some((path) => path.includes("/"));
    if (!isDeep) this.known = null;
    if (!this.known) this.draw(); // else the items stay until the new ones are there
    if (isDeep) this.load();
  }

  async load() {
    const { reading } = this;
    const found = await this.items().catch(() => null); // the stream shows the connection; the next reading asks again
    await released();
    if (this.reading !== reading) return;
    this.known = found;
    this.draw();
  }

  draw() {
    replace(this.node, h("ul", { class: "rows", "aria-label": "What fills the window" }, this.reading.rows.map((row) => this.row(row, "")), this.rest()));
  }

  row(row, above, source = "") {
    const path = above ? `${above}/${row.name}` : row.name;
    const opens = row.children.length > 0 || isOfMessages(path, row) || row.low !== null;
    const isOpen = opens && this.opened.has(path);
    const key = above ? null : h("span", { class: `key ${row.summed ? shadeOf(row.name) : ""}`, "aria-hidden": "true" });
    const label = [key, h("span", { class: "row-name" }, row.name), this.bar(row.tokens), h("span", { class: "row-tokens" }, number(row.tokens))];
    const more = { class: `row${row.summed ? "" : " unsummed"}`, title: titleOf(row), "data-path": path };
    const line = opens
      ? h("button", { type: "button", ...more, "aria-expanded": String(isOpen), onclick: () => this.toggle(path) }, label)
      : h("div", more, label);
    return h("li", { class: above ? "" : "top" }, line, isOpen ? this.inside(row, path, source) : null);
  }

  // A row with children leaves out a source that the row above has as well.
  inside(row, path, above) {
    const said = [row.source === above && row.children.length ? "" : SOURCES[row.source], interval(row), row.note].filter(Boolean).join(" · ");
    const source = said ? h("p", { class: "row-note" }, said) : null;
    const children = row.children.map((child) => this.row(child, path, row.source));
    return h("div", { class: "row-inside" }, source, children.length ? h("ul", { class: "rows" }, children) : null, this.itemsOf(row, path));
  }

  // The last level: single parts of messages. A row with children by tool leaves them to its children.
  itemsOf(row, path) {
    if (!isOfMessages(path, row) || row.children.length) return null;
    if (!this.known) return h("p", { class: "row-note" }, "Looking …");
    const found = this.known.filter((item) => belongs(item, path));
    if (!found.length) return h("p", { class: "row-note" }, "No single item of it is known.");
    const shown = found.slice(0, this.more.get(path) ?? ITEMS_AT_ONCE);
    const rest = found.length - shown.length;
    return h(
      "ol",
      { class: "items", "aria-label": `${row.name}: ${counted(found.length, "item")}, largest first` },
      shown.map((item) => h("li", {}, this.item(item))),
      rest ? h("li", {}, h("button", { type: "button", class: "button small bare", onclick: () => this.showMore(path) }, `${number(rest)} more`)) : null,
    );
  }

  item(item) {
    const label = [
      h("span", { class: "item-place" }, `#${item.position}`),
      h("span", { class: "item-text" }, firstLine(item.label || item.preview || item.name || item.row, 70)),
      h("span", { class: "row-tokens" }, number(item.tokens)),
    ];
    const more = { class: "item", "data-item": item.part, "data-of": item.message };
    if (!this.reveal) return h("div", more, label);
    return h("button", { type: "button", ...more, "aria-label": `Message ${item.position}, ${number(item.tokens)} tokens: show it`, onclick: () => this.reveal(item) }, label);
  }

  bar(tokens) {
    return h("span", { class: "row-bar", "aria-hidden": "true" }, place(h("span", {}), { width: `${Math.min(100, (100 * tokens) / Math.max(1, this.reading.used.tokens))}%` }));
  }

  rest() {
    const { free, reserve, window } = this.reading;
    const line = (name, tokens, note) =>
      h("li", { class: "top" }, h("div", { class: "row rest", title: note }, h("span", { class: "key", "aria-hidden": "true" }), h("span", { class: "row-name" }, name), h("span", { class: "row-tokens" }, tokens)));
    return [
      reserve ? line("Kept for the answer", number(reserve), "The output reserve") : null,
      free === null ? null : free < 0 ? line("Over by", number(-free), "The window is over-full") : line(`Free${window.tokens ? ` (${share(free, window.tokens)})` : ""}`, number(free), "window − used − reserve"),
    ];
  }

  toggle(path) {
    if (!this.opened.delete(path)) {
      this.opened.add(path);
      if (!this.known) this.load();
    }
    this.draw();
  }

  showMore(path) {
    this.more.set(path, (this.more.get(path) ?? ITEMS_AT_ONCE) + 200);
    this.draw();
  }
}

const titleOf = (row) => [row.name, SOURCES[row.source], interval(row), row.summed ? "" : "not part of the sum", row.note].filter(Boolean).join(" · ");

/** Rows whose items are parts of messages: the summary, and what stands below Messages. */
const isOfMessages = (path, row) => path === "Summary" || (path.startsWith("Messages/") && row.name !== "Unattributed" && row.name !== "Reasoning");

function belongs(item, path) {
  if (path === "Summary") return item.row === "Summary";
  const [, row, name] = path.split("/");
  return item.row === row && (name === undefined || item.name === path.slice(`Messages/${row}/`.length));
}
