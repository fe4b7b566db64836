// The left column: every session there is, the one changed last first.

import { byId, h, replace } from "./dom.js";
import { fullTime, number, share, when } from "./format.js";
import { oneStop } from "./tabstops.js";

const EVERY_MS = 5_000;

export class SessionList {
  /** `choose(id, hit)` shows a session, and what was found in it. */
  constructor(api, choose) {
    Object.assign(this, { api, choose });
    this.sessions = [];
    this.before = null;
    this.chosen = "";
    this.states = new Map();
    this.search = byId("search");
    this.found = null; // what the server found, while something is searched for
    this.search.oninput = () => {
      this.draw();
      this.find();
    };
    this.search.onkeydown = (event) => this.key(event);
    this.list = byId("session-list");
    this.timer = setInterval(() => document.hidden || this.load().catch(() => {}), EVERY_MS);
  }

  /** The newest sessions again; those that were fetched behind them stay. */
  async load() {
    const { sessions, before } = await this.api.sessions();
    const newest = new Set(sessions.map((one) => one.id));
    const oldest = sessions.at(-1)?.changed ?? 0;
    const older = before === null ? [] : this.sessions.filter((one) => !newest.has(one.id) && one.changed <= oldest);
    if (!older.length) this.before = before;
    this.sessions = [...sessions, ...older];
    this.draw();
    return this.sessions;
  }

  async more() {
    const { sessions, before } = await this.api.sessions(this.before);
    this.sessions.push(...sessions);
    this.before = before;
    this.draw();
  }

  /** Asks the server too: it knows all sessions and what was said in them. */
  async find() {
    const { Search } = await import("./search.js");
    this.found ??= new Search(this.api, () => this.draw());
    this.found.look(this.search.value.trim());
  }

  /** In the field: Enter shows the first session, the arrow leads into the list, Esc ends the search. */
  key(event) {
    const first = this.list.querySelector("[data-session]");
    const does = { Enter: () => first?.click(), ArrowDown: () => first?.focus(), Escape: this.search.value && (() => this.clear()) }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  clear() {
    this.search.value = "";
    this.search.oninput();
  }

  /** What is known of the session that is shown. */
  state(id, activity, title) {
    this.states.clear();
    this.states.set(id, activity);
    const one = this.sessions.find((each) => each.id === id);
    if (one && !one.title && title !== id) {
      one.title = title; // the server's list has it once the turn is over
      this.draw();
    }
    const dot = this.list.querySelector(`[data-session="${CSS.escape(id)}"] .dot`);
    if (dot) setDot(dot, activity);
  }

  /** The session that is shown has a newer reading. */
  full(id, { used, window }) {
    const one = this.sessions.find((each) => each.id === id);
    if (!one || one.used === used.tokens) return;
    Object.assign(one, { used: used.tokens, window });
    this.draw();
  }

  mark(id) {
    this.chosen = id;
    this.draw();
  }

  /** The session above or below the one that is shown. */
  step(by) {
    const shown = this.filtered();
    const next = shown[shown.findIndex((one) => one.id === this.chosen) + by];
    if (next) this.choose(next.id);
  }

  filtered() {
    const wanted = this.search.value.trim().toLowerCase();
    const fits = (one) => `${one.title} ${one.id} ${one.model}`.toLowerCase().includes(wanted);
    if (!wanted) return this.sessions;
    const found = this.found?.of(this.search.value.trim()) ?? new Map();
    return [...this.sessions.filter((one) => fits(one) && !found.has(one.id)), ...found.values()];
  }

  draw() {
    const focused = this.list.contains(document.activeElement) ? document.activeElement.closest("[data-session]")?.dataset.session : null;
    const shown = this.filtered();
    const isSearch = this.search.value.trim() !== "";
    const more = this.before === null || isSearch ? null : h("button", { type: "button", class: "button small bare", onclick: () => this.more() }, "Earlier sessions");
    const foot = isSearch ? this.found?.foot() : more;
    replace(this.list, shown.map((one) => h("li", {}, this.line(one))), foot ? h("li", {}, foot) : null);
    oneStop(this.list);
    byId("no-sessions").hidden = shown.length > 0 || this.found?.isLooking;
    byId("no-sessions").textContent = this.sessions.length ? "No session fits." : "No session yet. Say something to begin one.";
    if (focused) this.list.querySelector(`[data-session="${CSS.escape(focused)}"]`)?.focus();
  }

  line(one) {
    const isChosen = one.id === this.chosen;
    const activity = this.states.get(one.id) ?? (one.is_driven ? "streaming" : one.lacks_worker ? "waiting" : "idle");
    const place = one.place && `${one.lacks_worker ? "waits for a worker of the place" : "at"} ${one.place} · `;
    const dot = h("span", { class: "dot" });
    setDot(dot, activity);
    return h(
      "button",
      { type: "button", class: `session${isChosen ? " chosen" : ""}`, "data-session": one.id, "aria-current": isChosen ? "true" : null, onclick: () => this.choose(one.id, one.message && { message: one.message, words: this.found.words }) },
      dot,
      h("span", { class: "session-title" }, this.found?.words ? this.found.title(one.title || one.id) : one.title || one.id),
      fullness(one),
      one.message ? h("span", { class: "session-excerpt" }, this.found.excerpt(one)) : null,
      h("span", { class: "session-about" }, h("span", {}, place + one.model), h("time", { title: fullTime(one.changed) }, when(one.changed))),
    );
  }
}

function fullness({ used, window }) {
  if (used == null || !window) return null;
  return h("span", { class: "session-full", title: `${number(used)} of ${number(window)} tokens` }, share(used, window), h("span", { class: "unseen" }, " full"));
}

const ACTIVITIES = { idle: "at rest", streaming: "at work", executing_tools: "tools run", compacting: "compacting", waiting: "waits", interrupted: "interrupted" };

function setDot(dot, activity) {
  dot.dataset.state = activity;
  dot.setAttribute("role", "img");
  dot.title = ACTIVITIES[activity] ?? activity;
  dot.setAttribute("aria-label", dot.title);
}
