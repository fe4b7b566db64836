// Long text in pieces: what is shown at first is bounded, the rest comes when it is asked for.

import { button, h } from "./dom.js";
import { blocksOf, drawBlock } from "./markdown.js";
import { number } from "./format.js";

/** Characters shown before "show more", and how many each press adds. */
export const FIRST = 6_000;
const MORE = 60_000;
const LONGEST_LINE = 20_000;

/** Plain text, cut after `first` characters. */
export function longText(text, { first = FIRST, tag = "pre", kind = "plain" } = {}) {
  const shown = document.createTextNode("");
  const holder = h(tag, { class: kind }, shown);
  if (text.length <= first) {
    shown.data = text;
    return holder;
  }
  let end = cutAt(text, first);
  shown.data = text.slice(0, end);
  const more = button("", () => {
    const next = cutAt(text, Math.min(text.length, end + MORE));
    holder.append(document.createTextNode(text.slice(end, next)));
    end = next;
    label();
  }, { kind: "more" });
  const label = () => {
    more.hidden = end >= text.length;
    more.textContent = `Show more (${number(text.length - end)} of ${number(text.length)} characters are not shown)`;
  };
  label();
  return h("div", { class: "long" }, holder, more);
}

// Not between the halves of a character that takes two units.
const cutAt = (text, at) => (/[\uD800-\uDBFF]/.test(text[at - 1] ?? "") ? at - 1 : at);

/** Text as Markdown that can grow: blocks that are the same as before keep their nodes. */
export class Prose {
  constructor() {
    this.node = h("div", { class: "prose" });
    this.sources = [];
  }

  /** Shows this text; beyond `first` characters "show more" gives the rest as plain text. */
  show(text, first = 40_000) {
    const head = text.length > first ? text.slice(0, cutAt(text, first)) : text;
    const blocks = blocksOf(head);
    let same = 0;
    while (same < blocks.length && this.sources[same] === blocks[same].source) same += 1;
    while (this.node.childNodes.length > same) this.node.lastChild.remove();
    for (const block of blocks.slice(same)) this.node.append(drawn(block));
    this.sources = blocks.map((block) => block.source);
    if (head.length < text.length) {
      this.node.append(longText(text.slice(head.length), { first: 0, tag: "div" }));
      this.sources.push(null);
    }
  }
}

const drawn = (block) => (block.source.length > LONGEST_LINE ? longText(block.source) : drawBlock(block));
