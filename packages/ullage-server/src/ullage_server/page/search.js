// The search over all sessions: the server looks words up in titles, in what was said, and in what tools were given and returned.

import { h } from "./dom.js";
import { counted } from "./format.js";
import { notice } from "./notices.js";
import { revealMessage } from "./reveal.js";

const SETTLE_MS = 250;
const HIGHLIGHT = "found"; // as base.css names it

export class Search {
  /** `draw()` is called when something was found. */
  constructor(api, draw) {
    Object.assign(this, { api, draw });
    this.look("");
  }

  /** Searches for these words, in the place of those before. */
  look(words) {
    clearTimeout(this.timer);
    Object.assign(this, { words, found: new Map(), before: null, problem: "", isLooking: words !== "" });
    if (words) this.timer = setTimeout(() => this.further(), SETTLE_MS);
    else globalThis.CSS.highlights?.delete(HIGHLIGHT);
  }

  /** What was found so far, by session. */
  of(words) {
    return words === this.words ? this.found : new Map();
  }

  async further() {
    const { words } = this;
    Object.assign(this, { isLooking: true, problem: "" });
    this.draw();
    try {
      const { sessions, before } = await this.api.search(words, this.before);
      if (words !== this.words) return;
      for (const one of sessions) if (!this.found.has(one.id)) this.found.set(one.id, one);
      this.before = before;
    } catch (problem) {
      if (words !== this.words) return;
      this.problem = problem.message;
    }
    this.isLooking = false;
    this.draw();
  }

  /** What stands below the list. */
  foot() {
    if (!this.words) return null;
    const found = `${counted(this.found.size, "session")} found${this.before === null ? "" : " so far"}`;
    const told = this.isLooking ? "Searching …" : this.problem || found;
    const again = !this.isLooking && (this.problem || this.before !== null);
    return [h("p", { class: "hint search-foot", role: "status" }, told), again ? h("button", { type: "button", class: "button small bare", onclick: () => this.further() }, "Search further") : null];
  }

  excerpt = ({ excerpt, marks }) => marked(excerpt, marks);

  /** A title with the words that are searched for marked. */
  title = (text) => marked(text, [...text.matchAll(patternOf(this.words))].map((match) => [match.index, match.index + match[0].length]));
}

/** A text whose parts between these beginnings and ends are marked. */
function marked(text, marks) {
  let end = 0;
  const parts = marks.map(([start, stop]) => {
    const plain = text.slice(end, start);
    end = stop;
    return [plain, h("mark", {}, text.slice(start, stop))];
  });
  return [parts, text.slice(end)];
}

/** Shows a message that was found, loading the pages before it, and highlights the words in it. */
export async function showHit(conversation, { message, words }) {
  if (!(await revealMessage(conversation, message, "", conversation.drawing.tokens.get(message)))) {
    notice("This message has left the window and is older than what is shown here.", { isPlain: true });
    return;
  }
  const node = conversation.list.querySelector(".shown");
  const isFold = node.matches("details");
  if (isFold || !rangesIn(node, words).length) await Promise.all((isFold ? [node] : [...node.querySelectorAll("details.tool")]).map(opened));
  const ranges = rangesIn(node, words);
  if (!ranges.length) return;
  globalThis.CSS.highlights?.set(HIGHLIGHT, new Highlight(...ranges));
  await scrollTo(ranges[0], conversation.scroller);
}

/** Scrolls so that a range is in the middle: again for some frames, since messages get their true height when they come near. */
async function scrollTo(range, scroller) {
  for (let frame = 0; frame < 20; frame += 1) {
    await new Promise(requestAnimationFrame);
    for (let box = range.startContainer.parentElement; box !== scroller.parentElement; box = box.parentElement) {
      const middle = box.getBoundingClientRect().top + box.clientHeight / 2;
      if (box.scrollHeight > box.clientHeight) box.scrollBy(0, range.getBoundingClientRect().top - middle);
    }
  }
}

/** Opens a fold, and waits for the body that it makes then. */
async function opened(fold) {
  fold.open = true;
  if (!fold.querySelector(".fold-body").firstChild) await new Promise((done) => fold.addEventListener("toggle", done, { once: true }));
}

function rangesIn(node, words) {
  const pattern = patternOf(words);
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const ranges = [];
  while (texts.nextNode()) {
    for (const match of texts.currentNode.data.matchAll(pattern)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, match.index);
      range.setEnd(texts.currentNode, match.index + match[0].length);
      ranges.push(range);
    }
  }
  return ranges;
}

/** Any of these words where a word begins; scripts without capitals may put no space between words. */
function patternOf(words) {
  const each = words.match(/\S+/g).map((word) => (/^[\p{Lu}\p{Ll}\p{N}]/u.test(word) ? "(?<![\\p{L}\\p{N}])" : "") + word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(each.join("|"), "giu");
}
