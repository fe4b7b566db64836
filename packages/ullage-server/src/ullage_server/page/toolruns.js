// What the tools of each turn did, when, and how long it took. Loaded when it is opened.

import { h, place, replace } from "./dom.js";
import { counted, firstLine, visible, when } from "./format.js";
import { compact, TOOL_STATES } from "./message.js";

const TURNS_SHOWN = 12;
const QUIET = new Set(["finished", "approved"]);

/** The newest turns first; a click on a run leads to its call in the conversation. */
export function drawToolRuns(node, ledger, reveal) {
  const turns = turnsOf(ledger).slice(-TURNS_SHOWN).reverse();
  replace(node, turns.length ? turns.map((runs) => drawTurn(runs, reveal)) : h("p", { class: "hint" }, "No tool has run yet."));
}

function turnsOf(ledger) {
  const turns = new Map();
  for (const [call, known] of ledger.tools) {
    if (!known.since) continue;
    const item = ledger.items.get(ledger.owners.get(call));
    const part = item?.message.parts?.find((one) => one.call_id === call);
    const runs = turns.get(known.turn) ?? [];
    runs.push({ ...known, part, message: item?.message.id, name: known.name || part?.name || "tool" });
    turns.set(known.turn, runs);
  }
  return [...turns.values()];
}

function drawTurn(runs, reveal) {
  const now = Date.now() / 1_000;
  const endOf = (run) => run.until ?? (run.state === "running" ? now : run.since);
  const begin = Math.min(...runs.map((run) => run.since));
  const span = Math.max(...runs.map(endOf)) - begin;
  const failed = runs.filter((run) => isBad(run.state)).length;
  const about = [counted(runs.length, "call"), lasting(span), failed ? `${failed} failed` : ""].filter(Boolean).join(" · ");
  return h(
    "section",
    { class: "tool-turn" },
    h("h4", {}, when(begin), h("small", {}, ` ${about}`)),
    h("ul", {}, runs.map((run) => h("li", {}, drawRun(run, begin, span, endOf(run), reveal)))),
  );
}

function drawRun(run, begin, span, end, reveal) {
  const bar = place(h("span", { class: `tool-bar${isBad(run.state) ? " failed" : ""}` }), {
    "margin-left": `${span ? (97 * (run.since - begin)) / span : 0}%`,
    width: `${span ? Math.max(3, (100 * (end - run.since)) / span) : 100}%`,
  });
  const state = QUIET.has(run.state) ? "" : TOOL_STATES[run.state] || run.state;
  return h(
    "button",
    { type: "button", class: "tool-run", disabled: !run.part, onclick: () => reveal({ message: run.message, part: run.part.id }) },
    h("span", { class: "tool-name" }, h("strong", {}, visible(run.name)), ` ${firstLine(visible(compact(run.part?.arguments ?? "")), 60)}`),
    h("span", { class: "tool-time" }, state ? h("span", { class: `tag state-${run.state}` }, state) : null, lasting(end - run.since)),
    h("span", { class: "tool-track", "aria-hidden": "true" }, bar),
  );
}

const isBad = (state) => !QUIET.has(state) && state !== "running" && state !== "asked";

/** "< 0.1 s", "0.4 s", "12 s", "3 min 5 s". */
function lasting(seconds) {
  if (seconds < 0.05) return "< 0.1 s";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
