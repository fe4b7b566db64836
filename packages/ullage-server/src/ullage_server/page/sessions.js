// The left column: first the sessions that need a person, then all others, the one changed last first.

import { byId, h, keepLines } from "./dom.js";
import { fullTime, number, share, when } from "./format.js";
import { LABELS, NEEDS, standingOf } from "./standing.js";
import { oneStop } from "./tabstops.js";

const EVERY_MS = 5_000;
const HIDDEN_MS = 15_000; // in a tab that is not shown, for the count in its title
const COUNTING_MS = 1_000;
const FIRST = 5; // sessions that need a person which are listed until all are asked for

export class SessionList {
  /** `choose(id, hit)` shows a session and what was found in it, `review(id)` the calls in it that need approval; `counted(count)` tells how many need a person. */
  constructor(api, { choose, review, counted }) {
    Object.assign(this, { api, choose, review, counted });
    this.sessions = [];
    this.needing = [];
    this.count = 0; // of all that need a person, also those that are not listed
    this.isWhole = false;
    this.isOn = false;
    this.before = null;
    this.chosen = "";
    this.search = byId("search");
    this.found = null; // what the server found, while something is searched for
    this.search.oninput = () => {
      this.draw();
      this.find();
    };
    this.search.onkeydown = (event) => this.key(event);
    this.list = byId("session-list");
  }

  /** Loads the list again and again. */
  follow() {
    this.isOn = true;
    const again = () => (document.hidden ? this.countOnly() : this.load()).catch(() => {}).finally(next);
    const next = () => setTimeout(again, document.hidden ? HIDDEN_MS : EVERY_MS);
    document.addEventListener("visibilitychange", () => document.hidden || this.soon());
    next();
  }

  /** Loads the list in a moment; several wishes become one. */
  soon() {
    if (!this.isOn && !this.only) return;
    clearTimeout(this.wish);
    this.wish = setTimeout(() => this.load().catch(() => {}), 100);
  }

  /** The newest sessions and those that need a person again; those that were fetched behind them stay. */
  async load() {
    if (this.only) {
      this.sessions = [await this.api.of(this.only).state()]; // a read-only link shows no list
      this.counted(0);
      return;
    }
    const { sessions, before, needs } = await this.api.sessions();
    const newest = new Set(sessions.map((one) => one.id));
    const oldest = sessions.at(-1)?.changed ?? 0;
    const older = before === null ? [] : this.sessions.filter((one) => !newest.has(one.id) && (one.isEarlier || one.changed <= oldest));
    if (!older.length) this.before = before;
    this.sessions = [...sessions, ...older];
    const listed = sessions.filter(needsPerson);
    const needing = listed.length < total(needs) ? (await this.api.needing()).sessions : listed;
    this.needing = needing.sort((a, b) => rank(a) - rank(b) || (a.standing.since ?? 0) - (b.standing.since ?? 0));
    this.tell(needs);
    this.draw();
    this.loaded?.();
    return this.sessions;
  }

  async countOnly() {
    this.tell((await this.api.needing(1)).needs);
  }

  tell(needs) {
    this.count = total(needs);
    this.counted(this.count);
  }

  async more() {
    const { sessions, before } = await this.api.sessions(this.before);
    this.sessions.push(...sessions.map((one) => ({ ...one, isEarlier: true })));
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
    const does = { Enter: () => (this.search.blur(), first?.click()), ArrowDown: () => first?.focus(), Escape: this.search.value && (() => this.clear()) }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  clear() {
    this.search.value = "";
    this.search.oninput();
  }

  /** What is listed of a session; nothing where it is not. */
  of(id) {
    return [...this.needing, ...this.sessions].find((one) => one.id === id);
  }

  /** The session that is shown has a title, which the server's list has once the turn is over. */
  titled(id, title) {
    const one = this.of(id);
    if (!one || one.title || title === id) return;
    one.title = title;
    this.draw();
  }

  /** The session that is shown has a newer reading. */
  full(id, { used, window }) {
    const one = this.of(id);
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
    const needing = new Set(this.needing.map((one) => one.id));
    const all = [...this.needing, ...this.sessions.filter((one) => !needing.has(one.id))];
    if (!wanted) return all;
    const found = this.found?.of(this.search.value.trim()) ?? new Map();
    return [...all.filter((one) => fits(one) && !found.has(one.id)), ...found.values()];
  }

  draw() {
    clearTimeout(this.counting);
    const shown = this.filtered();
    const isSearch = this.search.value.trim() !== "";
    const lines = shown.map((one) => h("li", { "data-key": `s:${one.id}`, class: "listed" }, this.line(one)));
    if (!isSearch && this.needing.length) lines.splice(0, this.needing.length, ...this.group(lines.slice(0, this.needing.length)));
    const more = this.before === null || isSearch ? null : h("button", { type: "button", class: "button small bare", onclick: () => this.more() }, "Earlier sessions");
    const foot = isSearch ? this.found?.foot() : more;
    keepLines(this.list, foot ? [...lines, h("li", { "data-key": "foot" }, foot)] : lines);
    oneStop(this.list);
    byId("no-sessions").hidden = shown.length > 0 || this.found?.isLooking;
    byId("no-sessions").textContent = this.sessions.length ? "No session fits." : "No session yet. Say something to begin one.";
    if (shown.some(({ standing }) => standing.until > Date.now() / 1000)) this.counting = setTimeout(() => document.hidden || this.draw(), COUNTING_MS);
  }

  /** The lines of sessions that need a person, between their title and that of all others. */
  group(lines) {
    const listed = this.isWhole ? lines : lines.slice(0, FIRST);
    const all = () => {
      this.isWhole = true;
      this.draw();
    };
    const rest = lines.length - listed.length;
    const unlisted = this.count - this.needing.length;
    return [
      h("li", { "data-key": "needs", class: "group" }, h("h2", {}, `Needs you · ${number(this.count)}`)),
      ...listed,
      rest ? h("li", { "data-key": "rest" }, h("button", { type: "button", class: "button small bare", onclick: all }, `Show ${number(rest)} more`)) : null,
      unlisted > 0 && !rest ? h("li", { "data-key": "unlisted", class: "hint group" }, `The ${number(this.needing.length)} changed last. Answer some, and others follow.`) : null,
      h("li", { "data-key": "others", class: "group" }, h("h2", {}, "Others")),
    ].filter(Boolean);
  }

  line(one) {
    const isChosen = one.id === this.chosen;
    const { state, since, reason, approvals = [] } = one.standing;
    const { text, time } = standingOf(one, Date.now() / 1000);
    const label = LABELS[state] ?? state;
    const about = text || [one.place && `at ${one.place}`, one.model].filter(Boolean).join(" · ");
    const at = text ? since : one.changed;
    const session = h(
      "button",
      { type: "button", class: `session${isChosen ? " chosen" : ""}`, "data-session": one.id, "aria-current": isChosen ? "true" : null, onclick: () => this.choose(one.id, one.message && { message: one.message, words: this.found.words }) },
      h("span", { class: "dot", "data-state": state, role: "img", title: label, "aria-label": label }),
      h("span", { class: "session-title" }, this.found?.words ? this.found.title(one.title || one.id) : one.title || one.id),
      fullness(one),
      one.message ? h("span", { class: "session-excerpt" }, this.found.excerpt(one)) : null,
      h("span", { class: "session-about" }, h("span", { class: `stands ${state}` }, about), h("time", { title: fullTime(at) }, time || when(at))),
      reason && needsPerson(one) ? h("span", { class: "session-reason" }, reason) : null,
    );
    if (!approvals.length) return session;
    const name = `Review ${about} of ${one.title || one.id}`;
    return [session, h("button", { type: "button", class: "button small review", "data-review": one.id, "aria-label": name, onclick: () => this.review(one.id) }, "Review")];
  }
}

const total = (needs) => NEEDS.reduce((sum, state) => sum + (needs[state] ?? 0), 0);
const rank = ({ standing }) => NEEDS.indexOf(standing.state);
const needsPerson = (one) => rank(one) >= 0;

function fullness({ used, window }) {
  if (used == null || !window) return null;
  return h("span", { class: "session-full", title: `${number(used)} of ${number(window)} tokens` }, share(used, window), h("span", { class: "unseen" }, " full"));
}
