// The sessions of all programs of this machine that run now: a list, and one of them followed while it grows.

import { Refusal } from "./api.js";
import { byId, h, keepLines, place, released } from "./dom.js";
import { brief, firstLine, fullTime, number, when } from "./format.js";
import { notice } from "./notices.js";
import { loadStyles } from "./styles.js";
import { oneStop } from "./tabstops.js";

const LIST_MS = 2_000;
const VIEW_MS = 1_000;
const AGAIN_MS = 3_000;
const GONE = new Set([400, 403, 404]);

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits as long as nobody sees the page. */
const seen = () =>
  new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    look();
  });

export class LiveList {
  /** `choose(id)` shows a session. */
  constructor(api, choose) {
    Object.assign(this, { api, choose });
    this.sessions = [];
    this.chosen = "";
    this.last = {};
    this.list = byId("live-list");
  }

  /** Keeps the list as it is now; ends where the server does not show what runs. */
  async follow() {
    await loadStyles();
    for (;;) {
      await seen();
      try {
        const found = await this.api.newer("/live", this.last);
        if (found) this.show(found.sessions);
      } catch (problem) {
        if (problem instanceof Refusal && problem.status < 500) break;
      }
      await pause(LIST_MS);
    }
    byId("live").hidden = true;
  }

  show(sessions) {
    this.sessions = sessions;
    this.draw();
  }

  mark(id) {
    this.chosen = id;
    this.draw();
  }

  draw() {
    byId("live").hidden = !this.sessions.length;
    keepLines(this.list, this.sessions.map((one) => h("li", { "data-key": one.id }, this.line(one))));
    oneStop(this.list);
  }

  line(one) {
    const isChosen = one.id === this.chosen;
    const kind = `session live-session${isChosen ? " chosen" : ""}`;
    const about = [one.program, one.project].filter(Boolean).join(" · ");
    const of = one.window ? [` / ${brief(one.window)}`, ` tokens of ${number(one.window)}`] : ["", " tokens"];
    const used = one.tokens === null ? "–" : [h("span", { "aria-hidden": "true" }, brief(one.tokens), of[0]), h("span", { class: "unseen" }, number(one.tokens), of[1])];
    return h(
      "button",
      { type: "button", class: kind, "data-live": one.id, "aria-current": isChosen ? "true" : null, title: `Last written ${fullTime(one.changed)}`, onclick: () => this.choose(one.id) },
      h("span", { class: "dot", "data-state": one.is_busy ? "works" : "at_rest" }),
      h("span", { class: "session-title" }, firstLine(one.title || one.project || one.program, 80)),
      h("span", { class: "session-about" }, h("span", {}, about), h("span", { class: "live-used", title: one.problem }, used)),
      bar(one),
    );
  }
}

function bar(one) {
  if (!one.window || one.tokens === null) return h("span", {});
  const share = Math.min(100, (100 * one.tokens) / one.window);
  const isNear = one.compaction_point && one.high >= 0.8 * one.compaction_point;
  return h("span", { class: `live-bar${isNear ? " near" : ""}` }, place(h("span", {}), { width: `${share}%` }));
}

const addressOf = (id) => `#live=${encodeURIComponent(id)}`;

/** The running sessions on the page: the list, and the one of them that is followed. */
export class Lives {
  constructor(page) {
    this.page = page;
    this.list = new LiveList(page.api, (id) => this.go(id));
    this.id = "";
    this.closing = null;
  }

  go(id) {
    this.page.tab("conversation");
    const address = addressOf(id);
    if (location.hash === address) this.follow(id);
    else location.hash = address;
  }

  leave() {
    this.closing?.abort();
    this.closing = null;
    this.id = "";
    this.list.mark("");
  }

  /** Shows a session and what it grows by, until it is left. */
  async follow(id) {
    if (this.id === id) return;
    const { page } = this;
    page.closeLook();
    page.leave();
    page.connection("connecting");
    page.sessions.mark("");
    this.id = id;
    this.list.mark(id);
    this.closing = new AbortController();
    const { signal } = this.closing;
    const { drawLook } = await import("./looked.js");
    const last = {};
    while (!signal.aborted) {
      await seen();
      const wait = await this.look(last, signal, drawLook);
      await pause(wait);
    }
  }

  // One look; gives how long to wait until the next.
  async look(last, signal, drawLook) {
    try {
      const view = await this.page.api.newer(`/live/${encodeURIComponent(this.id)}`, last, signal);
      await released();
      if (signal.aborted) return 0;
      if (view) this.show(view, drawLook);
      this.page.connection(this.isRunning ? "live" : "none");
      return VIEW_MS;
    } catch (problem) {
      if (signal.aborted) return 0;
      if (problem instanceof Refusal && GONE.has(problem.status)) {
        this.page.connection("gone");
        notice(problem.message, { next: problem.next });
        this.closing.abort();
      } else this.page.connection("waiting");
      return AGAIN_MS;
    }
  }

  show(view, drawLook) {
    const { page } = this;
    const { line, reading } = view;
    const name = line.project || view.log.program;
    this.isRunning = view.is_running;
    if (!page.looked) page.arrangeLook(true);
    page.looked = view;
    byId("title").textContent = view.log.title || name;
    byId("subtitle").textContent = [line.program, line.model, line.project, `last written ${when(line.changed)}`].filter(Boolean).join(" · ");
    page.panel.show(reading, view.steps);
    page.briefly(reading.used, reading.window.tokens);
    this.list.mark(this.id);
    drawLook(view, { name, isLive: true }, page.looker());
  }
}
