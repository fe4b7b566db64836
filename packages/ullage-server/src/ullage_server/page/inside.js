// What is inside a window: its map, the timeline of its calls, and what to do about it. Loaded when it is first asked for.

import { drawAdvice } from "./advice.js";
import { h, replace } from "./dom.js";
import { WindowMap } from "./map.js";
import { Timeline } from "./timeline.js";

export { loadStyles } from "./styles.js";

export class Inside {
  /** `reveal(item)` shows an item in the breakdown. */
  constructor(node, { reveal }) {
    const map = h("div", { class: "map" });
    const calls = h("div", { class: "calls" });
    this.advice = h("div", { class: "advice" });
    this.reveal = reveal;
    const section = (title, body) => h("section", { class: "inside", "aria-label": title }, h("h3", {}, title), body);
    replace(node, section("Map of the window", map), section("Calls, and what was in them", calls), section("What to do about it", this.advice));
    this.map = new WindowMap(map, { reveal });
    this.timeline = new Timeline(calls, { reveal });
  }

  /** Shows `{map, advice}`. */
  show(view) {
    this.map.show(view.map);
    this.timeline.show(view.map);
    drawAdvice(this.advice, view.advice, { items: view.map.items, reveal: this.reveal });
  }
}
