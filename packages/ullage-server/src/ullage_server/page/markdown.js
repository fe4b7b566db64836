// Markdown as DOM nodes. Text in, nodes out: there is no HTML in between, and HTML in the text stays text. Every step
// goes through the text once; images are shown as links, and links lead to http, https and mailto alone.

import { h } from "./dom.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const DEEPEST = 6;

/** The text's blocks, each with its source: a block whose source is the same need not be drawn again. */
export function blocksOf(text) {
  const lines = text.split("\n");
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const end = endOf(lines, at);
    blocks.push({ kind: end.kind, source: lines.slice(at, end.line).join("\n") });
    at = end.line;
  }
  return blocks;
}

function endOf(lines, start) {
  const first = lines[start];
  const fence = FENCE.exec(first);
  if (fence) return { kind: "code", line: endOfFence(lines, start, fence[1]) };
  if (HEADING.test(first)) return { kind: "heading", line: start + 1 };
  if (RULE.test(first)) return { kind: "rule", line: start + 1 };
  if (/^ {0,3}>/.test(first)) return { kind: "quote", line: run(lines, start, (line) => line.trim() !== "") };
  if (ITEM.test(first)) return { kind: "list", line: endOfList(lines, start) };
  if (first.includes("|") && TABLE_RULE.test(lines[start + 1] ?? "") && lines[start + 1].includes("-")) {
    return { kind: "table", line: run(lines, start, (line) => line.includes("|")) };
  }
  return { kind: "text", line: run(lines, start, (line) => line.trim() !== "" && !interrupts(line)) };
}

const interrupts = (line) => FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || /^ {0,3}>/.test(line);

function run(lines, start, belongs) {
  let at = start + 1;
  while (at < lines.length && belongs(lines[at])) at += 1;
  return at;
}

function endOfFence(lines, start, fence) {
  for (let at = start + 1; at < lines.length; at += 1) {
    const line = lines[at].trim();
    if (line.startsWith(fence) && line === fence[0].repeat(line.length)) return at + 1;
  }
  return lines.length;
}

function endOfList(lines, start) {
  let at = start + 1;
  while (at < lines.length) {
    const line = lines[at];
    const goesOn = ITEM.test(line) || /^\s{2,}\S/.test(line);
    if (!line.trim()) {
      if (!(ITEM.test(lines[at + 1] ?? "") || /^\s{2,}\S/.test(lines[at + 1] ?? ""))) return at;
    } else if (!goesOn && (interrupts(line) || !lines[at - 1].trim())) return at;
    at += 1;
  }
  return at;
}

/** One block as a node. */
export function drawBlock({ kind, source }, depth = 0) {
  switch (kind) {
    case "code":
      return drawCode(source);
    case "heading": {
      const [, marks, text] = HEADING.exec(source);
      return h(`h${Math.min(6, marks.length + 2)}`, {}, inline(text));
    }
    case "rule":
      return h("hr");
    case "quote":
      return h("blockquote", {}, depth < DEEPEST ? nested(source.replace(/^ {0,3}> ?/gm, ""), depth) : source);
    case "list":
      return drawList(source.split("\n"), depth);
    case "table":
      return drawTable(source.split("\n"));
    default:
      return h("p", {}, inline(source));
  }
}

const nested = (text, depth) => blocksOf(text).map((block) => drawBlock(block, depth + 1));

function drawCode(source) {
  const lines = source.split("\n");
  const [, fence, language] = FENCE.exec(lines[0]);
  const last = lines.length > 1 && lines.at(-1).trim().startsWith(fence) ? -1 : undefined;
  return h("pre", { class: "code", tabindex: "0", "data-language": language || null }, h("code", {}, lines.slice(1, last).join("\n")));
}

function drawList(lines, depth) {
  const [, indent, marker] = ITEM.exec(lines[0]);
  const isOrdered = /\d/.test(marker);
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= indent.length) items.push([item[3]]);
    else items.at(-1).push(line.replace(new RegExp(`^\\s{0,${indent.length + marker.length + 1}}`), ""));
  }
  const start = isOrdered ? Number.parseInt(marker, 10) : 1;
  return h(isOrdered ? "ol" : "ul", { start: start === 1 ? null : start }, items.map((item) => drawItem(item, depth)));
}

function drawItem(lines, depth) {
  const task = /^\[([ xX])\]\s+/.exec(lines[0]);
  const text = (task ? [lines[0].slice(task[0].length), ...lines.slice(1)] : lines).join("\n").trimEnd();
  const mark = task ? h("span", { class: "task" }, task[1] === " " ? "☐ " : "☑ ") : null;
  if (lines.length === 1 || depth >= DEEPEST) return h("li", {}, mark, inline(text));
  const [first, ...rest] = nested(text, depth);
  return h("li", {}, mark, first?.tagName === "P" ? [...first.childNodes] : first, rest);
}

function drawTable(lines) {
  const [head, , ...rows] = lines.map(cells);
  return h(
    "div",
    { class: "table", tabindex: "0" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, head.map((cell) => h("th", { scope: "col" }, inline(cell))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.slice(0, head.length).map((cell) => h("td", {}, inline(cell)))))),
    ),
  );
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());

const INLINE = [
  { mark: /(`+)(?!`)([^`\n]*(?:(?!\1)`+[^`\n]*){0,20})\1(?!`)/y, draw: (m) => h("code", {}, m[2].trim() || m[2]) },
  { mark: /!?\[([^\]\n]{0,400})\]\(<?([^\s)>]{1,2000})>?(?:\s+"[^"\n]{0,200}")?\)/y, draw: (m) => link(m[2], m[1], m[0]) },
  { mark: /<?(https?:\/\/[^\s<>"'`\])]{1,2000})>?/y, draw: (m) => link(m[1].replace(/[.,;:!?]+$/, ""), "", m[0]) },
  { mark: /\*\*(?=\S)([^*\n]{1,2000})\*\*/y, draw: (m) => h("strong", {}, inline(m[1])) },
  { mark: /__(?=\S)([^_\n]{1,2000})__(?!\w)/y, draw: (m) => h("strong", {}, inline(m[1])), apart: true },
  { mark: /~~(?=\S)([^~\n]{1,2000})~~/y, draw: (m) => h("del", {}, inline(m[1])) },
  { mark: /\*(?=\S)([^*\n]{1,2000})\*/y, draw: (m) => h("em", {}, inline(m[1])) },
  { mark: /_(?=\S)([^_\n]{1,2000})_(?!\w)/y, draw: (m) => h("em", {}, inline(m[1])), apart: true },
  { mark: /\\([\\`*_{}[\]()#+\-.!|~>])/y, draw: (m) => document.createTextNode(m[1]) },
];
const BEGINS = { "`": [0], "!": [1], "[": [1], "<": [2], h: [2], "*": [3, 6], _: [4, 7], "~": [5], "\\": [8] };

/** A line's nodes: code, links, emphasis; whatever is not closed is text. */
export function inline(text) {
  const nodes = [];
  let plain = 0;
  let at = 0;
  while (at < text.length) {
    const found = matchAt(text, at);
    if (!found) {
      at += 1;
      continue;
    }
    if (plain < at) nodes.push(document.createTextNode(text.slice(plain, at)));
    nodes.push(found.node);
    at += found.length;
    plain = at;
  }
  if (plain < text.length) nodes.push(document.createTextNode(text.slice(plain)));
  return nodes;
}

function matchAt(text, at) {
  for (const index of BEGINS[text[at]] ?? []) {
    const { mark, draw, apart } = INLINE[index];
    if (apart && at > 0 && /\w/.test(text[at - 1])) continue;
    mark.lastIndex = at;
    const match = mark.exec(text);
    if (!match) continue;
    const node = draw(match);
    const cut = node.dataset?.cut ? Number(node.dataset.cut) : 0;
    return { node, length: match[0].length - cut };
  }
  return null;
}

function link(address, label, whole) {
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return document.createTextNode(whole);
  const node = h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, label ? inline(label) : address);
  const bare = whole.startsWith("http") ? whole.length - address.length : 0;
  if (bare) node.dataset.cut = bare;
  return node;
}
