// A session log of another agent: what fills its window. The server reads it and keeps nothing.

import { Refusal } from "./api.js";
import { announce, byId, button, h, replace } from "./dom.js";
import { bytes, counted, firstLine, number } from "./format.js";
import { notice, working } from "./notices.js";

const LARGEST_SHOWN = 20;

const parts = { facts: h("div", {}), advice: h("div", {}), largest: h("div", {}) };

let looking = null;
let refused = null;

/** Lets the server read a log and shows what is in it on the page; `tell(problem)` says what went wrong. */
export async function look(page, file, tell) {
  refused?.remove();
  looking?.abort();
  const reading = new AbortController();
  looking = reading;
  const done = working(`Reading ${file.name}, ${bytes(file.size)} …`, () => reading.abort());
  try {
    show(page, await page.api.look(file, reading.signal), file);
  } catch (problem) {
    const isNoLog = problem instanceof Refusal && problem.status === 422;
    refused = isNoLog ? notice(problem.message, { next: "Choose the session log of an agent." }) : tell(problem);
  } finally {
    done();
  }
}

function show(page, found, file) {
  page.leave();
  page.sessions.mark("");
  page.looked = found;
  page.arrangeLook(true);
  byId("title").textContent = "A log";
  byId("subtitle").textContent = file.name;
  page.connection("none");
  byId("activity").textContent = "";
  page.panel.show(found.reading, found.steps);
  drawLook(found, file, page.looker());
  page.tab("conversation");
}

/** Shows what was found in a log in the middle column: `close()` ends that, `reveal(item)` shows an item's row. */
export function drawLook(look, file, { close, reveal }) {
  const holder = byId("looked");
  if (!holder.contains(parts.advice)) replace(holder, Object.values(parts));
  drawFacts(look, file);
  drawLargest(look, file, close);
  drawAdviceOf(look, reveal);
  if (!file.isLive) announce(`${file.name}: ${number(look.reading.used.tokens)} tokens in the window`);
}

async function drawAdviceOf(look, reveal) {
  const { drawAdvice } = await import("./advice.js");
  drawAdvice(parts.advice, look.advice, reveal, "What to do about it");
}

function drawFacts(look, file) {
  const { log } = look;
  const lines = log.lines === null ? "" : counted(log.lines, "line");
  const about = [log.program || log.format, counted(log.calls, "call"), lines, bytes(file.size)].filter(Boolean);
  const reasons = Object.entries(log.skipped);
  const skipped = log.skipped_lines ? h("p", { class: "skipped" }, `${counted(log.skipped_lines, "line")} skipped${reasons.length ? ": " : ""}`, reasons.map(([reason, count]) => `${reason} (${number(count)})`).join(", ")) : null;
  if (file.isLive) {
    const partly = look.is_whole ? null : h("p", { class: "hint" }, "The log is very large: its middle is left out, so what came there is missing below.");
    replace(parts.facts, h("p", { class: "hint" }, about.join(" · ")), partly, skipped);
    return;
  }
  replace(
    parts.facts,
    h("h2", {}, log.title || file.name),
    h("p", { class: "hint" }, about.join(" · ")),
    log.title ? h("p", { class: "hint" }, file.name) : null,
    skipped,
    log.other_sessions ? h("p", { class: "hint" }, `The file holds ${counted(log.other_sessions, "other session")}.`) : null,
  );
}

function drawLargest(look, file, close) {
  replace(
    parts.largest,
    h("h3", {}, "The largest in the window"),
    h("ol", { class: "items", "aria-label": "The largest in the window" }, look.largest.slice(0, LARGEST_SHOWN).map((item) => h("li", {}, itemLine(item)))),
    h("p", { class: "looked-foot" }, button(file.isLive ? "Close" : "Close the log", close)),
  );
}

const itemLine = (item) =>
  h(
    "div",
    { class: "item", "data-item": item.part },
    h("span", { class: "item-place" }, `#${item.position}`),
    h("span", { class: "item-text" }, h("strong", {}, [item.row, item.label || item.name].filter(Boolean).join(" · ")), " ", firstLine(item.preview, 110)),
    h("span", { class: "row-tokens" }, number(item.tokens)),
  );
