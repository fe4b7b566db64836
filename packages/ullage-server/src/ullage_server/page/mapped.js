// The map of our own session, in the place of its conversation, as long as it is asked for.

import { byId, h, replace } from "./dom.js";

const LEAST_MS = 1_000; // between two maps of a session that is at work

export class Mapped {
  /** `load()` gives a promise of `{map, advice}`, `reveal(item)` shows an item's row. */
  constructor({ load, reveal }) {
    Object.assign(this, { load, reveal });
    this.isOpen = false;
    this.timer = null;
  }

  async toggle() {
    if (this.isOpen) this.close();
    else await this.open();
  }

  async open() {
    this.arrange(true);
    const { Inside, loadStyles } = await import("./inside.js");
    await loadStyles();
    if (!this.view) {
      const node = h("div", {});
      replace(byId("mapped"), node);
      this.view = new Inside(node, { reveal: this.reveal });
    }
    await this.draw();
  }

  close() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.isOpen) this.arrange(false);
  }

  arrange(isOpen) {
    this.isOpen = isOpen;
    document.body.classList.toggle("mapping", isOpen);
    byId("mapped").hidden = !isOpen;
    byId("show-map").setAttribute("aria-pressed", String(isOpen));
    byId("show-map").textContent = isOpen ? "Conversation" : "Map";
  }

  /** The session has changed: draws it anew soon, and not too often. */
  refresh() {
    if (!this.isOpen || this.timer !== null) return;
    this.timer = setTimeout(async () => {
      try {
        await this.draw();
      } catch {
        // The connection's state is shown by the stream; the next event asks again.
      } finally {
        this.timer = null;
      }
    }, LEAST_MS);
  }

  async draw() {
    const found = await this.load();
    if (this.isOpen) this.view.show(found);
  }
}
