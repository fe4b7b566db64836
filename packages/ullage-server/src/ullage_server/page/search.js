// The search over all sessions, by title and by what was said: the server looks through a piece of them at a time.

import { h } from "./dom.js";
import { counted } from "./format.js";

const SETTLE_MS = 250;
const ENOUGH = 20; // found sessions after which it stops until it is asked for more

export class Search {
  /** `draw()` is called when something was found. */
  constructor(api, draw) {
    Object.assign(this, { api, draw });
    this.look("");
  }

  /** Searches for these words, in the place of those before. */
  look(words) {
    clearTimeout(this.timer);
    Object.assign(this, { words, found: [], searched: 0, before: null, problem: "", isLooking: words !== "" });
    if (words) this.timer = setTimeout(() => this.further(), SETTLE_MS);
  }

  /** The sessions found so far. */
  of(words) {
    return words === this.words ? this.found : [];
  }

  async further() {
    const { words } = this;
    const enough = this.found.length + ENOUGH;
    this.isLooking = true;
    this.problem = "";
    do {
      this.draw();
      try {
        const { sessions, searched, before } = await this.api.search(words, this.before);
        if (words !== this.words) return;
        this.found.push(...sessions);
        this.searched += searched;
        this.before = before;
      } catch (problem) {
        if (words !== this.words) return;
        this.problem = problem.message;
        break;
      }
    } while (this.before !== null && this.found.length < enough);
    this.isLooking = false;
    this.draw();
  }

  /** What stands below the list. */
  foot() {
    if (!this.words) return null;
    const done = `${counted(this.searched, "session")} searched`;
    if (this.isLooking) return h("p", { class: "hint search-foot", role: "status" }, `Searching … ${done}`);
    const again = this.problem || this.before !== null ? h("button", { type: "button", class: "button small bare", onclick: () => this.further() }, "Search further") : null;
    return [h("p", { class: "hint search-foot", role: "status" }, this.problem || done), again];
  }
}
