// A session as the page knows it: a fold of its events, in the order they came. It computes no tokens; every number in
// it was in an event.

/**
 * What is listed in the conversation. A `message` has the message itself; a `draft` an answer that is still written; a
 * `mark` an event that a reader should know of. `key` names the item.
 */
export class Ledger {
  /** `changed(what, key)` is called after each change: item, queue, tools, state, reading, … */
  constructor(changed) {
    this.changed = changed;
    this.clear();
  }

  clear() {
    this.items = new Map();
    this.results = new Map(); // call id -> { part, message }
    this.tools = new Map(); // call id -> what is known of its run
    this.owners = new Map(); // call id -> the item in which the call stands
    this.away = new Map(); // message id -> how it left the view, and by what
    this.pins = new Set();
    this.queue = new Map();
    this.calls = new Map(); // call id -> purpose, of calls under way
    this.compactions = []; // newest last: those that can be undone
    this.parts = new Map(); // message id -> the summary up to it or from it on that was asked for last, and what came of it
    this.ordered = null; // the compaction that was asked for last, but not at a message: { state, why, event, compaction }
    this.asked = ""; // the message whose summary is asked for and not there yet
    this.cleared = new Map(); // tool result part -> prune
    this.rewoundFrom = [];
    this.failing = ""; // the mark of the error that came last, while it goes on
    this.lines = new Map(); // event -> the sentence for it, which comes before it
    this.turn = "";
    this.paused = null;
    this.interrupted = false; // nothing works on the turn: the process that did has ended
    this.activity = "idle";
    this.compacting = "";
    this.model = "";
    this.title = "";
    this.cwd = "";
    this.near = null; // the last ReadingTaken
    this.seq = 0;
  }

  /** Messages from the server's list, before all that is known. */
  prepend(messages) {
    const earlier = messages.filter((message) => !this.items.has(`m:${message.id}`));
    const known = this.items;
    this.items = new Map();
    for (const message of earlier) this.addMessage(message, 0, true);
    for (const [key, item] of known) this.items.set(key, item);
    return earlier.map((message) => `m:${message.id}`);
  }

  /** The id of the first message that is known and has not left the view. */
  firstInView() {
    const items = [...this.items.values()];
    return items.find((item) => item.kind === "message" && !this.away.has(item.message.id))?.message.id;
  }

  /** Where the session stands, as the server says: for what lies before the first event that is read. */
  begin(state) {
    this.model = state.model;
    this.title = state.title;
    this.turn = state.turn;
    this.paused = state.paused ? { reason: state.paused, note: state.note } : null;
    this.settle();
    this.open(state.open);
    this.changed("state");
  }

  /** The tool calls that have no result yet. One that waits for its turn is known by nothing. */
  open(calls) {
    for (const { call_id: id, state } of calls) {
      if (state !== "waiting") this.tool(id, { state: state === "started" ? "running" : state });
    }
    this.settle();
  }

  /** One event. Applying it again changes nothing. */
  apply(event) {
    if (event.seq && event.seq <= this.seq) return;
    if (event.seq) this.seq = event.seq;
    this.interrupt(false);
    HANDLERS[event.type]?.(this, event);
    const isBeginning = event.type === "settings_changed" && !this.items.size;
    if (!this.lines.has(event.seq) || isBeginning) return;
    if (errorOf(event)) this.fail(event);
    else this.mark(event);
  }

  /** An attempt, a call or a turn failed. The same error again belongs to the mark that tells of it. */
  fail(event) {
    const error = errorOf(event);
    const item = this.items.get(this.failing);
    const isSame = item?.error === error;
    const attempts = event.attempt ?? (isSame ? item.attempts + (event.type === "call_ended") : 1);
    if (isSame) {
      Object.assign(item, { event, attempts });
      this.lines.delete(event.seq);
      this.changed("item", this.failing);
    } else {
      this.failing = `e:${event.seq}`;
      this.mark(event, { error, attempts });
    }
  }

  /** The attempt after those that failed did not: what failed before is past. */
  recover(event) {
    const item = this.items.get(this.failing);
    if (item?.event.type === "call_retried") {
      item.event = event;
      this.changed("item", this.failing);
    }
    this.failing = "";
  }

  /** The sentence for an event that comes next. */
  line({ seq, text, style }) {
    this.lines.set(seq, { text, style });
  }

  /** A piece of an answer that is being written. */
  piece(piece) {
    const key = `d:${piece.call}`;
    let item = this.items.get(key);
    if (!item) {
      item = { key, kind: "draft", call: piece.call, parts: new Map(), offset: -1 };
      this.items.set(key, item);
      this.activity = "streaming";
      this.changed("state");
    }
    if (piece.offset !== item.offset + 1) return;
    item.offset = piece.offset;
    let part = item.parts.get(piece.part);
    if (!part) {
      part = { id: piece.part, kind: piece.kind, text: "", name: piece.name ?? "", callId: piece.call_id ?? "" };
      item.parts.set(piece.part, part);
    }
    if (piece.kind === "done") part.done = true;
    else part.text += piece.text;
    this.changed("item", key);
  }

  // -- what handlers do --

  addMessage(message, at, quiet = false) {
    const key = `m:${message.id}`;
    const item = { key, kind: "message", message, at };
    this.items.set(key, item);
    for (const part of message.parts ?? []) this.link(part, item, quiet);
    if (message.call) this.drop(`d:${message.call}`);
    if (!quiet) this.changed("item", key);
  }

  link(part, item, quiet) {
    if (part.type === "tool_call") this.owners.set(part.call_id, item.key);
    if (part.type !== "tool_result") return;
    this.results.set(part.call_id, { part, message: item.message.id });
    const owner = this.owners.get(part.call_id);
    if (owner && !quiet) this.changed("item", owner);
  }

  mark(event, more = {}) {
    const key = `e:${event.seq}`;
    this.items.set(key, { key, kind: "mark", event, at: event.at ?? 0, line: this.lines.get(event.seq), ...more });
    this.lines.delete(event.seq);
    this.changed("item", key);
  }

  /** Says that the turn waits for a resume, until anything happens in it. */
  interrupt(interrupted, note = "") {
    if (interrupted === this.interrupted) return;
    this.interrupted = interrupted;
    const key = "interrupted";
    if (!interrupted) this.drop(key);
    else {
      this.items.set(key, { key, kind: "mark", event: { type: "interrupted", note }, at: 0 });
      this.changed("item", key);
    }
    this.changed("interrupted");
    this.settle();
  }

  drop(key) {
    if (this.items.delete(key)) this.changed("item", key);
  }

  tool(callId, known) {
    this.tools.set(callId, { ...this.tools.get(callId), ...known });
    const owner = this.owners.get(callId);
    if (owner) this.changed("item", owner);
    this.changed("tools");
  }

  leave(id, how, by) {
    this.away.set(id, { how, by });
    this.changed("item", `m:${id}`);
  }

  /** What is known of the summary that was asked for at a message. */
  part(message, known) {
    this.parts.set(message, { ...this.parts.get(message), ...known });
    this.changed("item", `m:${message}`);
    this.changed("part", message);
  }

  /** The server refused to summarise there. */
  refuse(message, side, why) {
    this.part(message, { side, state: "failed", why });
  }

  /** The compaction that was asked for at a message has ended. */
  partEnded(known) {
    if (this.asked) this.part(this.asked, known);
    this.asked = "";
  }

  /** Whether a compaction is the one that was asked for at a message. */
  isPart(compaction) {
    return this.asked !== "" && this.parts.get(this.asked)?.compaction === compaction;
  }

  /** What is known of the compaction that was asked for, but not at a message. */
  order(known) {
    this.ordered = known;
    this.changed("ordered");
  }

  /** That compaction has ended. */
  orderEnded(compaction, known) {
    const isWaiting = this.ordered?.state === "asked" || this.ordered?.state === "begun";
    if (isWaiting && (this.ordered.compaction ?? compaction) === compaction) this.order(known);
  }

  /** The activity that is left when something ended. */
  settle() {
    const isRunning = [...this.tools.values()].some((tool) => tool.state === "running");
    if (this.compacting) this.activity = "compacting";
    else if (this.paused) this.activity = "waiting";
    else if (this.interrupted) this.activity = "interrupted";
    else if (!this.turn) this.activity = "idle";
    else this.activity = isRunning ? "executing_tools" : "streaming";
    this.changed("state");
  }
}

const HANDLERS = {
  session_started: (to, event) => {
    to.model = event.model ?? "";
    to.title = event.title ?? "";
    to.cwd = event.cwd ?? "";
    to.changed("state");
  },
  renamed: (to, event) => {
    to.title = event.title;
    to.changed("title");
    to.changed("state");
  },
  model_changed: (to, event) => {
    to.model = event.model;
    to.changed("state");
  },
  settings_changed: (to, event) => {
    to.changed("settings");
  },
  message_added: (to, event) => to.addMessage(event.message, event.at),
  message_replaced: (to, event) => {
    const known = to.items.get(`m:${event.message.id}`);
    to.addMessage(event.message, known?.at ?? event.at);
  },
  rewound: (to, event) => rewind(to, event),
  turn_started: (to, event) => {
    Object.assign(to, { turn: event.turn, paused: null });
    to.settle();
  },
  turn_paused: (to, event) => {
    to.paused = { reason: event.reason, note: event.note ?? "" };
    to.settle();
  },
  turn_resumed: (to, event) => {
    to.paused = null;
    to.settle();
  },
  turn_ended: (to, event) => {
    Object.assign(to, { turn: "", paused: null });
    for (const tool of to.tools.values()) if (tool.state === "running") tool.state = "unknown";
    to.settle();
    to.changed("ended");
  },
  call_started: (to, event) => {
    to.failing = "";
    to.calls.set(event.call, event.purpose ?? "main");
    to.settle();
  },
  call_ended: (to, event) => {
    const purpose = event.purpose ?? "main";
    to.calls.delete(event.call);
    to.drop(`d:${event.call}`);
    if (!errorOf(event)) to.recover(event);
    if (purpose === "main" && event.stop === "length" && !to.lines.has(event.seq)) to.mark(event);
    to.changed("called");
    to.settle();
  },
  tool_started: (to, event) => {
    to.tool(event.call_id, { state: "running", since: event.at, turn: to.turn, name: event.name });
    to.settle();
  },
  tool_ended: (to, event) => {
    to.tool(event.call_id, { state: event.outcome ?? "finished", until: event.at, size: event.size_bytes, handle: event.handle });
    to.settle();
  },
  tool_call_replaced: (to, event) => to.tool(event.call_id, { replaced: event.arguments }),
  child_started: (to, event) => to.tool(event.call_id, { child: event.child, childModel: event.model }),
  queued: (to, event) => {
    to.queue.set(event.message.id, { id: event.message.id, kind: event.kind, at: event.at, message: event.message });
    to.changed("queue");
  },
  queue_edited: (to, event) => {
    const waiting = to.queue.get(event.message.id);
    if (waiting) waiting.message = event.message;
    to.changed("queue");
  },
  queue_left: (to, event) => {
    const waiting = to.queue.get(event.message_id);
    to.queue.delete(event.message_id);
    if (event.how === "returned" && waiting) to.mark(event, { message: waiting.message });
    to.changed("queue");
  },
  compact_asked: (to, event) => {
    if (event.preview) return;
    to.asked = event.from ?? event.up_to ?? "";
    if (to.asked) to.part(to.asked, { side: event.from ? "from" : "up_to", state: "asked", compaction: "" });
    else to.order({ state: "asked" });
  },
  pinned: (to, event) => {
    for (const id of event.messages) {
      if (event.pinned ?? true) to.pins.add(id);
      else to.pins.delete(id);
      to.changed("item", `m:${id}`);
    }
  },
  cancel_asked: (to) => to.changed("state"),
  cancelled: (to, event) => {
    to.partEnded({ state: "failed", why: "it was cancelled" });
    to.orderEnded(to.compacting, { state: "failed", why: "it was cancelled" });
    to.compacting = "";
    to.settle();
  },
  approval_asked: (to, event) => to.tool(event.call_id, { state: "asked", asked: event.seq }),
  approval_given: (to, event) => {
    to.tool(event.call_id, { state: event.approved ? "approved" : "denied", by: event.who ?? "", isAllowed: event.approved });
  },
  grant_given: (to) => to.changed("grants"),
  grant_revoked: (to) => to.changed("grants"),
  reading_taken: (to, event) => {
    to.near = event;
    to.changed("reading");
  },
  pruned: (to, event) => {
    if (event.prune) to.compactions.push({ id: event.prune, kind: "prune", event });
    for (const part of event.parts) to.cleared.set(part, event.prune ?? "");
    for (const { part } of to.results.values()) {
      const owner = to.owners.get(part.call_id);
      if (owner && event.parts.includes(part.id)) to.changed("item", owner);
    }
    to.changed("compactions");
  },
  compaction_started: (to, event) => {
    to.compacting = event.compaction;
    if (to.asked && event.trigger === "asked") to.parts.get(to.asked).compaction = event.compaction;
    else if (to.ordered?.state === "asked") to.order({ state: "begun", compaction: event.compaction });
    to.settle();
  },
  compaction_committed: (to, event) => {
    to.compacting = "";
    if (to.isPart(event.compaction)) to.partEnded({ state: "done", event });
    to.orderEnded(event.compaction, { state: "done", event });
    to.compactions.push({ id: event.compaction, kind: "compaction", event });
    for (const id of event.summarised ?? []) to.leave(id, "summarised", event.compaction);
    for (const dropped of event.dropped ?? []) to.leave(dropped.id, "dropped", event.compaction);
    for (const message of event.replaced ?? []) HANDLERS.message_replaced(to, { message });
    to.changed("compactions");
    to.settle();
  },
  compaction_rolled_back: (to, event) => {
    if (!event.rung) {
      to.compacting = "";
      if (to.isPart(event.compaction)) to.partEnded({ state: "failed", why: event.note || event.reason });
      to.orderEnded(event.compaction, { state: "failed", why: event.note || event.reason });
    }
    to.settle();
  },
  uncompacted: (to, event) => {
    const at = to.compactions.findIndex((one) => one.id === event.compaction);
    const undone = new Set([event.compaction]);
    if (at >= 0) for (const one of to.compactions.splice(at)) if (one.kind !== "rewind") undone.add(one.id);
    for (const [id, { by }] of [...to.away]) {
      if (!undone.has(by)) continue;
      to.away.delete(id);
      to.changed("item", `m:${id}`);
    }
    if (undone.has(to.ordered?.event?.compaction)) to.order(null);
    for (const [message, { compaction }] of [...to.parts]) if (undone.has(compaction)) to.parts.delete(message);
    for (const [part, prune] of [...to.cleared]) if (undone.has(prune)) to.cleared.delete(part);
    to.changed("compactions");
    to.changed("redraw");
  },
};

/** The error that an event tells of; empty for none. Attempt 0 only waits for its place within a rate limit. */
function errorOf({ type, error, note, attempt, reason }) {
  if (type === "call_ended") return error ?? "";
  if (type === "call_retried") return attempt ? (error ?? "") : "";
  return reason === "failed" && (type === "turn_paused" || type === "turn_ended") ? (note ?? "") : "";
}

function rewind(to, event) {
  const keys = [...to.items.keys()];
  const from = event.to ? keys.indexOf(`m:${event.to}`) : -1;
  for (const key of keys.slice(from + 1)) {
    const item = to.items.get(key);
    if (item.kind === "message" && !to.away.has(item.message.id)) to.leave(item.message.id, "rewound", event.rewind ?? "");
  }
  if (!event.rewind) return;
  to.compactions.push({ kind: "rewind", id: event.rewind, event });
  to.changed("compactions");
}
