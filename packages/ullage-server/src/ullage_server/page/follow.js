// One session as it is followed: its past, then its events, for as long as it is shown.

import { announce } from "./dom.js";
import { outcomeText } from "./part.js";
import { lacksDriver } from "./standing.js";
import { EventStream } from "./stream.js";

/** Events behind which the past is read as events, marks and all; what is before comes as pages of messages. */
export const RECENT = 1_500;

/** Milliseconds without an event after which `silence.js` asks whether anything works on the session. */
const SILENT_MS = 8_000;

export class Following {
  /** `onState(connection)` tells of the connection, `onReset` that the past has changed; the rest goes through the ledger,
   * the conversation and the panel. */
  constructor(api, id, { ledger, conversation, panel, composer, onState, onGone, onReset }) {
    Object.assign(this, { id, ledger, conversation, panel, composer, onState, onGone, onReset });
    this.remote = api.of(id);
    this.api = api;
    this.closing = new AbortController();
    this.isCaughtUp = false;
    this.cursor = undefined;
    this.isComplete = true;
  }

  get signal() {
    return this.closing.signal;
  }

  async open() {
    const state = await this.remote.state(this.signal);
    const after = Math.max(0, state.seq - RECENT);
    this.target = state.seq;
    this.state = state;
    this.isComplete = after === 0;
    this.ledger.seq = after;
    if (after) await this.beginInTheMiddle(state);
    if (this.signal.aborted) return;
    this.panel.refresh(() => this.window());
    this.stream = new EventStream(this.api, `${this.remote.path}/events`, {
      after,
      onFrame: (name, data) => this.frame(name, data),
      onState: (connection) => this.connection(connection),
      onOpen: () => this.opened(),
    });
  }

  async beginInTheMiddle(state) {
    const { queue } = await this.remote.queue(this.signal);
    for (const one of queue) this.ledger.queue.set(one.id, { id: one.id, kind: one.kind, at: one.at, message: one.message });
    this.ledger.begin(state);
  }

  close() {
    clearTimeout(this.silence);
    this.closing.abort();
    this.stream?.close();
  }

  connection(connection) {
    if (this.signal.aborted) return;
    if (connection === "gone") this.onGone();
    this.onState(connection);
  }

  opened() {
    if (this.wasOpen) this.panel.refresh(() => this.window());
    this.wasOpen = true;
    this.composer.retry();
  }

  frame(name, data) {
    if (this.signal.aborted || name === "status") return;
    if (name === "reset") {
      this.onReset();
      return;
    }
    this.listen();
    const value = JSON.parse(data);
    if (name === "draft") this.ledger.piece(value);
    else if (name === "line") this.ledger.line(value);
    else this.ledger.apply(value);
    if (!this.isCaughtUp && this.ledger.seq >= this.target) this.catchUp();
  }

  listen() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => import("./silence.js").then(({ ask }) => ask(this), () => this.signal.aborted || this.listen()), SILENT_MS);
  }

  catchUp() {
    this.isCaughtUp = true;
    this.ledger.open(this.state.open);
    this.ledger.interrupt(lacksDriver(this.state), this.state.note);
    this.conversation.redraw();
    this.ledger.changed("queue");
    this.ledger.changed("compactions");
    this.ledger.changed("state");
  }

  /** What the ledger tells of its changes. */
  changed(what, key) {
    if (!this.isCaughtUp) return;
    if (what === "item") this.conversation.touch(key);
    if (what === "part") announce(outcomeText(this.ledger.parts.get(key)));
    if (what === "redraw") this.conversation.redraw();
    if (what === "ordered") this.panel.ordered(this.ledger.ordered);
    if (what === "queue") this.composer.show(this.ledger.queue);
    if (what === "reading") this.panel.event(this.ledger.near);
    if (what === "compactions") this.panel.undoable(this.ledger.compactions);
    if (["reading", "called", "settings", "compactions", "ended"].includes(what)) this.panel.refresh(() => this.window());
    if (what === "ended") this.tell();
  }

  /** The answer, for those who hear it. */
  tell() {
    const last = [...this.ledger.items.values()].findLast((item) => item.kind === "message" && item.message.role === "assistant");
    const text = last?.message.parts?.map((part) => (part.type === "text" ? part.text : "")).join(" ").trim();
    if (text) announce(`Answer: ${text.slice(0, 600)}`);
  }

  /** The whole reading and the steps it stands on. */
  async window() {
    const [reading, { steps }] = await Promise.all([this.remote.context(this.signal), this.remote.steps(this.signal)]);
    return { reading, steps };
  }

  async items() {
    return (await this.remote.largest(1000, this.signal)).largest;
  }

  // A message that has left the view names no place in it: then from the newest on, past those that are known.
  async page() {
    try {
      return await this.remote.messages(this.cursor, this.signal);
    } catch (problem) {
      if (problem.status !== 409) throw problem;
      return this.remote.messages(undefined, this.signal);
    }
  }

  /** The messages before the first known one; their keys. */
  async earlier() {
    if (this.isComplete || !this.isCaughtUp) return [];
    this.cursor ??= this.ledger.firstInView();
    for (;;) {
      const page = await this.page();
      const keys = this.ledger.prepend(page.messages);
      this.cursor = page.before;
      if (page.before === null) this.isComplete = true;
      if (keys.length || this.isComplete) return keys;
    }
  }
}
