// One message as nodes: what a person said, what the model answered, its reasoning folded, its tool calls with what
// came back.

import { button, h } from "./dom.js";
import { bytes, counted, firstLine, fullTime, number, visible, when } from "./format.js";
import { summaryChoices, summaryOutcome } from "./part.js";
import { longText, Prose } from "./text.js";

const WHO = { assistant: "Answer", system: "System note", tool: "Tool result" };
const ORIGINS = { summary: "Summary", injected: "Reminder" };
const AWAY = { summarised: "summarised", dropped: "left out", rewound: "rewound" };
/** A tool call's state in words. */
export const TOOL_STATES = {
  running: "running …",
  asked: "needs your approval",
  approved: "approved",
  finished: "",
  failed: "failed",
  not_started: "not started",
  unknown: "outcome unknown",
  timed_out: "timed out",
  cancelled: "cancelled",
  denied: "denied",
};

/** States of a call that say no more than who decided on it. */
const DECIDED = new Set(["approved", "denied"]);

/** Draws items; knows which folds a reader has opened, so that drawing again leaves them as they are. */
export class Drawing {
  constructor(ledger, acts) {
    this.ledger = ledger;
    this.acts = acts;
    this.approvals = new Map(); // question -> its box, so that drawing again loses neither place nor what was typed
    this.opened = new Map();
    this.acting = new Set(); // message ids whose acts are shown where nothing hovers
    this.choices = new Map(); // message id -> the choices that are open there
    this.tokens = new Map(); // message or part id -> tokens, of what was looked up
  }

  message(item) {
    const { message } = item;
    const parts = message.parts ?? [];
    if (message.role === "tool" && parts.every((part) => this.ledger.owners.has(part.call_id))) {
      return h("div", { hidden: true, "data-key": item.key });
    }
    const away = this.ledger.away.get(message.id);
    const who = ORIGINS[message.origin] ?? (message.role === "user" ? this.acts.nameOf(message.who) : WHO[message.role]) ?? message.role;
    const kind = message.origin && message.origin !== "said" ? message.origin : message.role;
    const choices = away ? null : (this.choices.get(message.id) ?? summaryChoices(message.id, this.acts, this.choices));
    return h(
      "article",
      { class: `message ${kind}${away ? " away" : ""}${this.acting.has(message.id) ? " acting" : ""}`, "data-key": item.key, "data-message": message.id, "aria-label": who, tabindex: "-1" },
      this.header(item, who, away, choices?.toggle),
      choices?.row,
      summaryOutcome(this.ledger.parts.get(message.id)),
      parts.map((part) => this.part(part, message)),
      message.interrupted && message.interrupted !== "cancelled" ? h("p", { class: "interrupted" }, `Interrupted${message.interrupted === "true" ? "" : `: ${message.interrupted}`}`) : null,
    );
  }

  header(item, who, away, summarise) {
    const { message } = item;
    const isPinned = this.ledger.pins.has(message.id);
    const tokens = this.tokens.get(message.id);
    return h(
      "header",
      {},
      h("span", { class: "who" }, who),
      tokens === undefined ? null : h("span", { class: "tokens" }, `${number(tokens)} tokens`),
      away ? h("span", { class: "tag", title: "No longer in the window" }, AWAY[away.how]) : null,
      isPinned ? h("span", { class: "tag" }, "pinned") : null,
      h(
        "span",
        { class: "message-acts" },
        away ? null : button(isPinned ? "Unpin" : "Pin", () => this.acts.pin(message.id, !isPinned), { kind: "small bare", "data-needs": "write", hint: "No compaction touches a pinned message" }),
        summarise,
        kindOf(message) === "said" && !away ? button("Rewind …", () => this.acts.rewind(message), { kind: "small bare", "data-needs": "write", hint: "Go back to before this message" }) : null,
        button("Where?", () => this.acts.explain(message.id), { kind: "small bare", hint: "Where this message is: in view, cleared, summarised" }),
      ),
      button("⋯", (event) => this.toggleActs(message.id, event), { kind: "small bare acts-toggle", "aria-label": "What can be done with this message", "aria-expanded": String(this.acting.has(message.id)) }),
      item.at ? h("time", { title: fullTime(item.at) }, when(item.at)) : null,
    );
  }

  /** Where nothing hovers: shows what can be done with a message, or hides it. */
  toggleActs(message, { currentTarget }) {
    const isShown = currentTarget.closest("article").classList.toggle("acting");
    currentTarget.setAttribute("aria-expanded", String(isShown));
    if (isShown) this.acting.add(message);
    else this.acting.delete(message);
  }

  part(part, message) {
    switch (part.type) {
      case "text":
        return message.role === "assistant" ? this.prose(part.text) : longText(part.text, { tag: "div" });
      case "reasoning":
        return this.reasoning(part);
      case "tool_call":
        return this.call(part);
      case "tool_result":
        return this.fold(part.id, `Result of ${part.name || "a tool"}`, () => this.result(part), { message: message.id });
      case "image":
        return this.image(part);
      case "file":
        return h("p", { class: "media" }, ["File", part.name, part.mime, part.pages ? counted(part.pages, "page") : "", bytes(part.size_bytes)].filter(Boolean).join(" · "));
      default:
        return this.fold(part.id, part.kind || part.type || "Item of the provider", () => longText(part.text ?? JSON.stringify(part, null, 2)));
    }
  }

  image(part) {
    const about = ["Image", part.width ? `${part.width} × ${part.height}` : "", part.mime, bytes(part.size_bytes)].filter(Boolean).join(" · ");
    const holder = h("figure", { class: "media" }, h("figcaption", {}, about));
    if (part.source?.startsWith("kept:")) this.acts.picture(part).then((picture) => holder.prepend(picture));
    return holder;
  }

  prose(text) {
    const prose = new Prose();
    prose.show(text);
    return prose.node;
  }

  reasoning(part) {
    const length = part.text?.length ?? 0;
    const size = length ? counted(length, "character") : part.redacted ? "redacted" : "not shown by the provider";
    return this.fold(part.id, h("span", {}, "Reasoning ", h("small", {}, size)), () => longText(part.text ?? "", { tag: "div" }), { kind: "reasoning" });
  }

  call(part) {
    const result = this.ledger.results.get(part.call_id);
    const known = this.ledger.tools.get(part.call_id) ?? {};
    const state = known.state ?? (result ? (result.part.is_error ? "failed" : "finished") : "");
    const isCleared = result && (result.part.cleared || this.ledger.cleared.has(result.part.id));
    const away = result && this.ledger.away.get(result.message);
    const tokens = result && this.tokens.get(result.message);
    const label = h(
      "span",
      { class: "call" },
      h("strong", {}, visible(part.name)),
      h("span", { class: "arguments" }, firstLine(visible(compact(part.arguments ?? "")), 160)),
      tokens === undefined ? null : h("span", { class: "tokens" }, `${number(tokens)} tokens`),
      isCleared ? h("span", { class: "tag" }, "pruned") : away ? h("span", { class: "tag" }, AWAY[away.how]) : null,
      known.by ? h("span", { class: "tag" }, `${known.isAllowed ? "allowed" : "denied"} by ${this.acts.nameOf(known.by).replace(/^You$/, "you")}`) : null,
      TOOL_STATES[state] && !(known.by && DECIDED.has(state)) ? h("span", { class: `tag state-${state}` }, TOOL_STATES[state]) : null,
    );
    const fold = this.fold(part.id, label, () => this.callBody(part, result, known), { kind: `tool state-${state}`, message: result?.message });
    return state === "asked" ? h("div", {}, fold, this.approval(part, known.asked)) : fold;
  }

  /** The box for a call that needs approval; `asked` names the time it was asked about. */
  approval(part, asked) {
    const key = `${part.call_id} ${asked}`;
    if (!this.approvals.has(key)) {
      const box = h("div", { class: "approvals", "data-approval": part.call_id });
      this.approvals.set(key, box);
      import("./approvals.js").then(({ Approval }) => new Approval(this.acts, part, box).fill());
    }
    return this.approvals.get(key);
  }

  callBody(part, result, known) {
    return [
      h("h3", {}, known.replaced ? "Arguments, replaced by a hook" : "Arguments"),
      longText(visible(pretty(known.replaced ?? part.arguments ?? "")), { first: 3_000 }),
      known.child ? h("p", { class: "media" }, `Runs an agent of its own: ${known.child}`) : null,
      result ? [h("h3", {}, result.part.is_error ? "Result: an error" : "Result"), this.result(result.part, known)] : null,
    ];
  }

  result(part, known = {}) {
    return [
      (part.content ?? []).map((inner) => (inner.type === "text" ? longText(inner.text ?? "") : this.part(inner, { role: "tool" }))),
      known.size ? h("p", { class: "media" }, `Of ${bytes(known.size)}; the rest is kept and the model can read it`) : null,
      part.cleared || this.ledger.cleared.has(part.id) ? h("p", { class: "media" }, "Pruned: the model no longer sees this.") : null,
    ];
  }

  /** A fold whose body is made when it is first opened. */
  fold(id, label, body, { kind = "", message = "" } = {}) {
    const holder = h("div", { class: "fold-body", tabindex: "0" });
    const fold = h("details", { class: `fold ${kind}`, "data-part": id, "data-message": message || null }, h("summary", {}, label), holder);
    const open = () => {
      if (fold.open && !holder.firstChild) holder.append(...[body()].flat(Infinity).filter(Boolean));
    };
    fold.addEventListener("toggle", () => {
      this.opened.set(id, fold.open);
      open();
    });
    if (this.opened.get(id)) {
      fold.open = true;
      open();
    }
    return fold;
  }
}

/** An answer that is being written: its nodes stay and grow. */
export class DraftDrawing {
  constructor(item) {
    this.parts = new Map();
    this.node = h("article", { class: "message assistant draft", "data-key": item.key, "aria-label": "Answer, being written", "aria-busy": "true" }, h("header", {}, h("span", { class: "who" }, "Answer"), h("span", { class: "tag" }, "writing")));
  }

  show(item) {
    for (const part of item.parts.values()) {
      let view = this.parts.get(part.id);
      if (!view) {
        view = newView(part);
        this.parts.set(part.id, view);
        this.node.append(view.node);
      }
      view.show(part);
    }
  }
}

function newView(part) {
  if (part.kind === "reasoning") {
    const body = h("div", { class: "plain" });
    const size = h("small", {});
    const node = h("details", { class: "fold reasoning" }, h("summary", {}, h("span", {}, "Reasoning ", size)), h("div", { class: "fold-body", tabindex: "0" }, body));
    const show = ({ text }) => {
      size.textContent = counted(text.length, "character");
      body.textContent = text.slice(-20_000);
    };
    return { node, show };
  }
  if (part.kind === "call") {
    const written = h("span", { class: "arguments" });
    const node = h("div", { class: "fold tool pending" }, h("span", { class: "call" }, h("strong", {}, part.name), written));
    return { node, show: ({ text }) => (written.textContent = firstLine(text, 160)) };
  }
  const prose = new Prose();
  return { node: prose.node, show: ({ text }) => prose.show(text) };
}

function pretty(text) {
  if (text.length > 100_000) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Whether a person said a message ("said"), or what else it is. */
const kindOf = (message) => (message.role === "user" ? message.origin || "said" : message.role);

/** The arguments of a call as a line. */
export function compact(text) {
  if (text.length > 4_000) return text.slice(0, 400);
  try {
    const value = JSON.parse(text);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return text;
    return Object.entries(value).map(([name, held]) => `${name}: ${typeof held === "string" ? held : JSON.stringify(held)}`).join("  ");
  } catch {
    return text;
  }
}
