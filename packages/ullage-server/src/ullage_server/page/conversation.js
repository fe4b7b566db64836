// The conversation: a list that grows at its foot and is filled from above on demand.

import { byId, counterpart, h, released } from "./dom.js";
import { drawMark } from "./marks.js";
import { DraftDrawing, Drawing } from "./message.js";
import { MessageStops, UNITS } from "./tabstops.js";

const NEAR_PX = 120;

export class Conversation {
  /** `earlier()` gives a promise of the keys that were put before all others, if any. */
  constructor(ledger, acts, earlier) {
    this.ledger = ledger;
    this.acts = acts;
    this.earlier = earlier;
    this.drawing = new Drawing(ledger, acts);
    this.nodes = new Map();
    this.drafts = new Map();
    this.dirty = new Set();
    this.scheduled = false;
    this.list = byId("messages");
    this.scroller = byId("conversation");
    this.newest = byId("newest");
    this.stops = new MessageStops(this.list);
    this.sticks = true;
    this.top_px = 0; // where the reader was last
    this.scroller.onscroll = () => this.scrolled();
    this.list.addEventListener("keydown", (event) => this.key(event));
    const sizes = new ResizeObserver(() => this.resized());
    sizes.observe(this.list);
    sizes.observe(this.scroller);
    this.newest.onclick = () => this.toEnd();
    this.watch();
  }

  watch() {
    this.top = byId("earlier");
    this.observer?.disconnect();
    this.observer = new IntersectionObserver((seen) => seen[0].isIntersecting && this.fill(), { root: this.scroller, rootMargin: "400px 0px 0px 0px" });
    this.observer.observe(this.top);
  }

  /** Draws everything anew. */
  redraw() {
    const focused = document.activeElement;
    const holder = this.list.contains(focused) && focused.closest("[data-key]");
    this.dirty.clear();
    this.nodes.clear();
    this.drafts.clear();
    const all = [...this.ledger.items.values()].map((item) => this.draw(item));
    this.list.replaceChildren(...all);
    if (holder) this.refocus(focused, this.nodes.get(holder.dataset.key));
    this.stops.settle();
    byId("nothing").hidden = all.length > 0;
    this.toEnd();
  }

  /** Draws this item again, together with others, before the next frame. */
  touch(key) {
    this.dirty.add(key);
    if (this.scheduled) return;
    this.scheduled = true;
    const flush = async () => {
      await released();
      this.scheduled = false;
      this.flush();
    };
    if (document.hidden) setTimeout(flush, 100);
    else requestAnimationFrame(flush);
  }

  flush() {
    const hadFocus = this.list.contains(document.activeElement);
    for (const key of this.dirty) {
      const item = this.ledger.items.get(key);
      const node = this.nodes.get(key);
      if (!item) this.remove(key);
      else if (node && item.kind === "draft") this.drafts.get(key).show(item);
      else if (node) this.swap(key, node, item);
      else this.list.append(this.draw(item));
    }
    this.dirty.clear();
    if (hadFocus && !this.list.contains(document.activeElement)) this.refocus(null, this.list.querySelector("article:last-of-type")); // a draft became a message
    this.stops.settle();
    byId("nothing").hidden = this.ledger.items.size > 0;
    if (this.sticks) this.toEnd();
    else this.newest.hidden = false;
  }

  swap(key, node, item) {
    const focused = document.activeElement;
    const hadFocus = node.contains(focused);
    const next = this.draw(item);
    node.replaceWith(next);
    if (hadFocus) this.refocus(focused, next);
  }

  refocus(focused, node) {
    const found = node && focused && counterpart(node, focused);
    (found ?? node)?.focus({ preventScroll: true });
  }

  remove(key) {
    this.nodes.get(key)?.remove();
    this.nodes.delete(key);
    this.drafts.delete(key);
  }

  draw(item) {
    const node = this.nodeOf(item);
    this.nodes.set(item.key, node);
    this.stops.close(node);
    return node;
  }

  nodeOf(item) {
    if (item.kind === "message") return this.drawing.message(item);
    if (item.kind === "mark") return drawMark(item, this.acts, this.ledger);
    const draft = new DraftDrawing(item);
    this.drafts.set(item.key, draft);
    draft.show(item);
    return draft.node;
  }

  /** The page before the first message, kept at the same place under the reader's eyes. */
  async fill() {
    if (this.filling) return this.filling;
    this.filling = this.fillOnce().finally(() => {
      this.filling = null;
    });
    return this.filling;
  }

  async fillOnce() {
    const keys = await this.earlier();
    if (!keys.length) return false;
    const before = this.scroller.scrollHeight - this.scroller.scrollTop;
    this.list.prepend(...keys.map((key) => this.draw(this.ledger.items.get(key))));
    this.joinResults(keys);
    this.scroller.scrollTop = this.scroller.scrollHeight - before;
    this.watch();
    return true;
  }

  // A result whose call was on the page before stood alone until now.
  joinResults(keys) {
    for (const key of keys) {
      for (const { call_id: call } of this.ledger.items.get(key).message.parts ?? []) {
        const alone = call && `m:${this.ledger.results.get(call)?.message}`;
        if (alone && alone !== key && this.nodes.has(alone)) this.swap(alone, this.nodes.get(alone), this.ledger.items.get(alone));
      }
    }
  }

  // Only a way up leaves the end: heights also grow under a reader who stays there.
  scrolled() {
    if (!this.isShown()) return;
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    if (isNear) this.sticks = true;
    else if (scrollTop < this.top_px) this.sticks = false;
    this.top_px = scrollTop;
    if (isNear) this.newest.hidden = true;
  }

  // Messages have their true height when they are first near the screen.
  resized() {
    if (!this.isShown()) {
      this.wasHidden = true;
      return;
    }
    if (this.sticks) this.toEnd();
    else if (this.wasHidden) this.scroller.scrollTop = this.top_px;
    this.wasHidden = false;
  }

  isShown() {
    return this.list.clientHeight > 0;
  }

  toEnd() {
    this.sticks = true;
    this.newest.hidden = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    if (this.isShown()) this.top_px = this.scroller.scrollTop;
  }

  /** The next message up or down from the one that has the focus. */
  step(by) {
    const units = [...this.list.querySelectorAll(UNITS)];
    if (!units.length) return;
    const at = units.findIndex((unit) => unit.contains(document.activeElement));
    const top = this.scroller.getBoundingClientRect().top;
    const shown = () => units.findIndex((unit) => unit.getBoundingClientRect().bottom > top);
    const first = by < 0 ? units.length - 1 : shown();
    const next = at < 0 ? first : Math.max(0, Math.min(units.length - 1, at + by));
    units[next].focus({ preventScroll: true });
    units[next].scrollIntoView({ block: "nearest" });
    this.scrolled();
  }

  key(event) {
    const by = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.step(by);
  }

  /** A list for something else than a session. */
  static hint(text) {
    return h("p", { class: "hint" }, text);
  }
}
