// Calls of all sessions that need approval, one after the other, in front of the page: whatever moves behind it, no
// answer comes under the pointer by itself, and after an answer the next call is shown when it is asked for.

import { Approval } from "./approvals.js";
import { open } from "./dialogs.js";
import { byId, button, h, replace } from "./dom.js";
import { loadStyles } from "./styles.js";
import { standingOf } from "./standing.js";

export class Review {
  /** `sessions` is the list, `api` the server, `show(id)` shows a session. */
  constructor({ sessions, api, show }) {
    Object.assign(this, { sessions, api, show });
    this.place = h("p", { class: "hint" });
    this.box = h("div", { class: "approvals" });
    this.next = button("Next", () => this.ask(this.left().find((one) => one.call_id !== this.shown?.call_id)));
    byId("dialog").addEventListener("close", () => (this.sessions.loaded = null));
  }

  /** The calls that need approval, those of a session first. */
  left(first = "") {
    const calls = this.sessions.needing.flatMap((one) => (one.standing.approvals ?? []).map((call) => ({ ...call, one })));
    return calls.sort((a, b) => Number(b.one.id === first) - Number(a.one.id === first));
  }

  /** Shows the first call of a session, or of the list. */
  async begin(session) {
    const [first] = this.left(session);
    if (!first) return;
    await loadStyles();
    this.sessions.loaded = () => this.changed();
    const go = () => {
      byId("dialog").close();
      this.show(this.shown.one.id);
    };
    const buttons = h("div", { class: "dialog-buttons" }, button("Show the session", go, { kind: "bare" }), this.next, button("Close", () => byId("dialog").close()));
    open("", this.place, this.box, buttons).classList.add("reviewing");
    await this.ask(first);
  }

  async ask(call) {
    this.shown = call;
    const { one, tool } = call;
    byId("dialog-title").textContent = one.title || one.id;
    replace(this.place, [tool, one.model, one.place && `at ${one.place}`, standingOf(one, Date.now() / 1000).time].filter(Boolean).join(" · "));
    replace(this.box);
    const remote = this.api.of(one.id);
    const approve = async (...answer) => {
      await remote.approve(...answer);
      this.sessions.soon();
    };
    this.approval = new Approval({ questions: () => remote.questions().catch(() => null), approve }, { call_id: call.call_id, name: tool }, this.box);
    this.counted();
    await this.approval.fill();
    this.box.querySelector(".call-whole")?.focus({ preventScroll: true });
  }

  counted() {
    const others = this.left().filter((one) => one.call_id !== this.shown.call_id).length;
    this.next.hidden = !others;
    this.next.textContent = `Next (${others} more)`;
  }

  /** The list is new: the call that is shown may have been answered elsewhere. */
  changed() {
    this.counted();
    const isAsked = this.left().some((one) => one.call_id === this.shown.call_id && one.one.id === this.shown.one.id);
    if (!isAsked && this.box.querySelector(".approval")) this.approval.over();
  }
}
