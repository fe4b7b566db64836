// What happened between the messages, as a line: an interruption, a compaction, a retry, a pause.

import { button, h } from "./dom.js";
import { brief, counted, number, signed } from "./format.js";
import { longText } from "./text.js";

const ENDS = {
  cancelled: "Stopped",
  max_steps: "Ended: the most steps a turn may take",
  loop: "Ended: the same call again and again",
  length: "Ended: the answer reached its longest",
  refused: "Ended: the model refused",
  dropped: "Ended: the answer broke off",
  failed: "Ended: the call failed",
  too_large: "Ended: it can't be made to fit the window",
  other: "Ended",
};
const PAUSES = { budget: "Paused: the budget is used up", failed: "Paused: the call failed" };
const PERSISTED = {
  partial_assistant: "what was written is kept",
  tools_in_progress: "what the tools had done is kept",
  compaction_rolled_back: "the compaction was rolled back",
};
const TRIGGERS = { ladder: "", trim: "results trimmed", summary: "summarised", pieces: "summarised in pieces", digest: "digest", drop: "oldest left out", server: "compacted by the provider" };

/** The node of a mark; `acts` carries out what its buttons offer. */
export function drawMark(item, acts) {
  const { kind, text, more, actions = [] } = describe(item, acts);
  return h(
    "div",
    { class: `mark ${kind}`, "data-key": item.key, role: "note" },
    h("span", { class: "mark-text" }, text),
    actions,
    more ? h("details", {}, h("summary", {}, more.label), more.node) : null,
  );
}

function describe(item, acts) {
  const event = item.event;
  switch (event.type) {
    case "compaction_committed":
      return compacted(event, acts);
    case "compaction_rolled_back":
      return { kind: "warn", text: `Compaction failed: ${event.note || event.reason}` };
    case "compact_asked":
      return { kind: "quiet", text: `Compaction asked for${event.from ? " from a message on" : ""}${event.up_to ? " up to a message" : ""}${event.instructions ? `: ${event.instructions}` : ""}` };
    case "uncompacted":
      return { kind: "compaction", text: "Uncompacted: the earlier messages are in view again" };
    case "pruned":
      return pruned(event, acts);
    case "turn_paused":
    case "interrupted":
      return paused(event, acts);
    case "turn_resumed":
      return { kind: "quiet", text: "Resumed" };
    case "turn_ended":
      return { kind: event.reason === "cancelled" ? "stop" : "warn", text: withNote(ENDS[event.reason] ?? event.reason, event.note) };
    case "cancelled":
      return { kind: "stop", text: withNote("Cancelled", PERSISTED[event.persisted]) };
    case "queue_left":
      return returned(item, acts);
    default:
      return ofCall(event);
  }
}

function ofCall(event) {
  switch (event.type) {
    case "call_ended":
      if (event.stop === "length" && event.outcome !== "failed") return { kind: "warn", text: "The answer was cut at its longest" };
      return { kind: "warn", text: withNote(event.outcome === "dropped" ? "The answer broke off" : "The call failed", event.error) };
    case "call_retried":
      if (event.attempt === 0) return { kind: "quiet", text: `${event.error} Waiting ${Math.round(event.wait_s)} s` };
      return { kind: "quiet", text: `Attempt ${event.attempt} failed, again in ${event.wait_s} s${event.error ? `: ${event.error}` : ""}` };
    case "request_repaired":
      return { kind: "quiet", text: `Put right in the request: ${event.repairs.join("; ")}` };
    case "renamed":
      return { kind: "quiet", text: `Renamed: ${event.title}` };
    case "model_changed":
      return { kind: "quiet", text: `Model: ${event.model}` };
    case "fell_back":
      return { kind: "warn", text: fellBack(event) };
    case "handed_over":
      return { kind: "quiet", text: `Handed over to ${event.agent || "the agent that began the session"}` };
    case "settings_changed":
      return { kind: "quiet", text: `Settings: ${Object.entries(event.settings).map(setting).join(", ")}` };
    case "rewound":
      return { kind: "stop", text: "Rewound: what came after is no longer in view" };
    case "tool_server_noticed":
      return { kind: "warn", text: ofServer(event) };
    case "reasoning_refused":
      return { kind: "warn", text: "The provider did not take earlier reasoning, which it bound to another conversation. It is left out from here on" };
    case "epoch_changed":
      return { kind: "quiet", text: `${number(event.reasoning_lost)} tokens of earlier thinking are no longer sent (${event.reason})` };
    case "rule_flipped":
      return { kind: "quiet", text: `Reasoning is ${event.kept ? "kept" : "left out"} by the provider, as the actual shows (${signed(event.residual)})` };
    case "forked":
      return { kind: "quiet", text: `Forked from ${event.origin}${without(event)}` };
    case "row_damaged":
      return { kind: "warn", text: `Event ${event.seq} of this session can't be read and is left out: ${event.why}` };
    case "imported":
      return { kind: "quiet", text: `Imported from ${event.origin || "a file"}${without(event)}` };
    default:
      return { kind: "quiet", text: event.type.replaceAll("_", " ") };
  }
}

function fellBack(event) {
  const [failed, ...error] = event.error.split(": ");
  const kind = (event.error_kind ?? "").replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  return `${event.model} answers after ${failed}: ${kind || error.join(": ")}`;
}

function ofServer(event) {
  const name = `MCP server ${event.server}`;
  if (event.problem) return `${name} can't be used, so its tools are missing: ${event.problem.replace(/\.$/, "")}. It is tried again.`;
  const tools = [["new", event.added], ["gone", event.removed], ["changed", event.changed]]
    .filter(([, names]) => names?.length)
    .map(([what, names]) => `${what} ${some(names)}`);
  const told = [tools.length ? `its tools changed (${tools.join("; ")})` : "", event.notes?.length ? some(event.notes) : ""];
  return `${name}: ${told.filter(Boolean).join("; ") || "it can be used now"}`;
}

const some = (names) => names.slice(0, 5).join(", ") + (names.length > 5 ? `, and ${names.length - 5} more` : "");
const setting = ([name, value]) => `${name} = ${value === null ? "default" : JSON.stringify(value)}`;
const without = (event) => (event.dropped?.length ? `, without ${event.dropped.join(", ")}` : "");
const withNote = (text, note) => (note ? `${text}: ${note}` : text);
const fromTo = (event) => (event.before == null || event.after == null ? "" : ` ${number(event.before)} → ${number(event.after)} tokens`);

function compacted(event, acts) {
  const left = [];
  if (event.summarised?.length) left.push(`${counted(event.summarised.length, "message")} summarised`);
  if (event.dropped?.length) left.push(`${number(event.dropped.length)} left out`);
  const rung = TRIGGERS[event.rung] ?? event.rung;
  const text = [`Compacted${fromTo(event)}`, ...left, left.length ? "" : rung].filter(Boolean).join(" · ");
  const summary = event.summary?.parts?.map((part) => part.text ?? "").join("\n") ?? "";
  return {
    kind: "compaction",
    text,
    actions: [button("Undo", () => acts.uncompact(event.compaction), { kind: "small", "data-needs": "write", hint: "Bring the earlier messages back into view" })],
    more: summary ? { label: "What the model sees instead", node: longText(summary, { tag: "div" }) } : null,
  };
}

function pruned(event, acts) {
  const freed = event.saved == null ? "" : ` · ${number(event.saved)} tokens freed`;
  const actions = event.prune ? [button("Undo", () => acts.uncompact(event.prune), { kind: "small", "data-needs": "write", hint: "Bring the results back into view" })] : [];
  return { kind: "compaction", text: `Pruned ${counted(event.parts.length, "old tool result")}${freed}${fromTo(event)}`, actions };
}

function paused(event, acts) {
  const resume = button("Resume", acts.resume, { kind: "small", "data-needs": "write", hint: "Continue from here" });
  const why = event.type === "interrupted" ? "Interrupted" : (PAUSES[event.reason] ?? event.reason);
  return { kind: "warn", text: withNote(why, event.note), actions: [resume] };
}

function returned(item, acts) {
  const text = (item.message.parts ?? []).map((part) => part.text ?? "").join("");
  return {
    kind: "stop",
    text: `Given back, not delivered: “${text.length > 120 ? `${text.slice(0, 119)}…` : text}”`,
    actions: text ? [button("Write again", () => acts.rewrite(text), { kind: "small" })] : [],
  };
}

/** How much a mark on the chart moved, in few letters. */
export const moved = (event) => (event.before == null ? "" : `${brief(event.before)} → ${brief(event.after)}`);
