// Few stops on the way with Tab: of all messages, and of a long list, one can be reached. Keys lead from it to the others.

const CONTROLS = "a[href], button, input, summary, textarea";
const ALWAYS = ".approval"; // a person is waited for

/** What can be stepped through in the conversation. */
export const UNITS = "article, .mark.compaction";

/** The messages: Tab reaches the one read last and what it offers, at first the newest. */
export class MessageStops {
  constructor(list) {
    this.list = list;
    this.current = null;
    list.addEventListener("focusin", (event) => this.enter(event.target.closest(UNITS)));
  }

  /** A new node, or one drawn again: nothing in it is a stop until it is the current one. */
  close(node) {
    this.set(node, -1);
  }

  enter(unit) {
    if (!unit || unit === this.current) return;
    if (this.current) this.set(this.current, -1);
    this.current = unit;
    this.set(unit, 0);
  }

  /** After drawing: the newest message, unless one is being read. */
  settle() {
    const isRead = this.current?.isConnected && this.list.contains(document.activeElement);
    if (isRead) return;
    let newest = this.list.lastElementChild;
    while (newest && newest.tagName !== "ARTICLE") newest = newest.previousElementSibling;
    this.enter(newest);
  }

  set(unit, stop) {
    if (unit.matches(UNITS)) unit.tabIndex = stop;
    for (const one of unit.querySelectorAll(CONTROLS)) if (!one.closest(ALWAYS)) one.tabIndex = stop;
  }
}

/** A list of buttons as one stop: the chosen one or the first; the arrow keys go through it. Call it after each drawing. */
export function oneStop(list) {
  const buttons = [...list.querySelectorAll("button")];
  const stop = buttons.find((one) => one.matches('[aria-current="true"]')) ?? buttons[0];
  for (const one of buttons) one.tabIndex = one === stop ? 0 : -1;
  list.onkeydown = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = [...list.querySelectorAll("button")];
    const next = by && all[all.indexOf(document.activeElement) + by];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
}
