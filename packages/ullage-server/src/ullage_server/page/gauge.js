// The gauge: what of the window is used, by what, how sure that is, where it compacts, and what is kept for the answer.

import { h, place, replace } from "./dom.js";
import { besideNumber, number, share } from "./format.js";
import { compactsAt, sourceOf } from "./limits.js";

/** The shade of a top row, the same in the gauge and in the list: what people and the model said is the strongest. */
export function shadeOf(name) {
  const found = SHADES.findIndex((beginning) => name.startsWith(beginning));
  return `shade-${found < 0 ? SHADES.length : found}`;
}

const SHADES = ["Messages", "System prompt", "Tools", "Summary", "Instruction files"];

const NARROWEST_PX = 284; // of the gauge beside a conversation
const LETTER_PX = 7; // of the scale

/** The window of a reading, or of the short form of one that an event carries. */
export class Gauge {
  constructor(node) {
    this.number = h("span", { class: "used-number" });
    this.interval = h("span", { class: "used-interval" });
    this.of = h("p", { class: "used-of" });
    this.segments = h("div", { class: "segments" });
    this.doubt = h("div", { class: "doubt" });
    this.reserve = h("div", { class: "reserve" });
    this.point = h("div", { class: "point" });
    this.bar = h("div", { class: "bar" }, this.reserve, this.segments, this.doubt, this.point);
    this.scale = h("div", { class: "scale", "aria-hidden": "true" });
    this.meter = h("div", { class: "meter", role: "meter", "aria-label": "Window used", "aria-valuemin": "0" }, this.bar, this.scale);
    this.label = h("p", { class: "basis-label" });
    replace(node, h("p", { class: "used" }, this.number, " ", this.interval), this.of, this.meter, this.label);
  }

  /** Shows `{snapshot, used, window, source, point, compacts, reserve, rows, model, label}`. */
  show(view) {
    const { used, window, point } = view;
    const whole = Math.max(window ?? 0, used.high, point ?? 0, 1);
    this.meter.dataset.snapshot = view.snapshot;
    this.number.textContent = number(used.tokens);
    this.interval.textContent = besideNumber(used);
    this.interval.title = `95 times in 100 between ${number(used.low)} and ${number(used.high)}`;
    replace(this.of, ...describe(view));
    this.meter.classList.toggle("near", Boolean(point) && used.high >= 0.8 * point);
    this.meter.classList.toggle("over", used.high >= (point ?? window ?? Infinity));
    this.meter.setAttribute("aria-valuemax", String(window ?? whole));
    this.meter.setAttribute("aria-valuenow", String(used.tokens));
    this.meter.setAttribute("aria-valuetext", spoken(view));
    const at = (tokens) => `${(100 * tokens) / whole}%`;
    this.drawSegments(view.rows, used, at);
    place(this.doubt, { left: at(used.low), width: at(used.high - used.low) });
    this.doubt.hidden = used.high === used.low;
    this.point.hidden = !point;
    if (point) place(this.point, { left: at(point) });
    this.reserve.hidden = !window || !view.reserve;
    if (window && view.reserve) place(this.reserve, { left: at(window - view.reserve), width: at(view.reserve) });
    this.drawScale(whole, view, at);
    this.label.textContent = view.label ?? "";
    this.label.hidden = !view.label;
  }

  drawSegments(rows, used, at) {
    const summed = (rows ?? []).filter((row) => row.summed && row.tokens > 0);
    const parts = summed.length ? summed : [{ name: "Messages", tokens: used.tokens }];
    const nodes = parts.map((row) => {
      const node = h("span", { class: `segment ${shadeOf(row.name)}`, title: `${row.name} ${number(row.tokens)}` });
      return place(node, { width: at(row.tokens) });
    });
    this.segments.replaceChildren(...nodes);
  }

  drawScale(whole, { window, point, compacts }, at) {
    const ticks = [h("span", { class: "tick start" }, "0")];
    if (point && window) {
      const side = point / whole > 0.75 ? "left" : "right";
      ticks.push(place(h("span", { class: `tick compacts ${side}` }, compacts), { left: at(point) }));
    }
    const room_px = NARROWEST_PX * (1 - (point ?? 0) / whole);
    if (window && room_px > LETTER_PX * (number(window).length + 2)) ticks.push(h("span", { class: "tick end" }, number(window)));
    this.scale.replaceChildren(...ticks);
  }
}

function describe({ window, source, used }) {
  if (window === null || window === undefined) return [h("strong", {}, "window unknown"), " · say one in the settings"];
  const over = used.tokens > window ? h("strong", { class: "bad" }, ` · over by ${number(used.tokens - window)}`) : null;
  const said = sourceOf(source) ? h("span", { class: "dim" }, ` · window ${sourceOf(source)}`) : null;
  return [`of ${number(window)} tokens`, ` · ${share(used.tokens, window)}`, said, over];
}

function spoken({ used, window, compacts }) {
  const of = window ? ` of ${number(window)} tokens, ${share(used.tokens, window)}` : " tokens, window unknown";
  return `${number(used.tokens)}${of}; between ${number(used.low)} and ${number(used.high)}${compacts ? `; ${compacts}` : ""}`;
}

/** A whole reading as the gauge takes it. */
export const ofReading = (reading) => ({
  snapshot: reading.snapshot_id,
  used: reading.used,
  window: reading.window.tokens,
  source: reading.window.source,
  point: reading.compaction_point.tokens,
  compacts: compactsAt(reading.compaction_point),
  reserve: reading.reserve,
  rows: reading.rows,
  label: reading.basis.label,
});

/** The event of a reading, beside what the last whole one said of the window's source. */
export const ofEvent = (event, last) => ({
  snapshot: event.snapshot,
  used: event.used,
  window: event.window ?? null,
  source: last && last.window.tokens === (event.window ?? null) ? last.window.source : "",
  point: event.compaction_point ?? null,
  compacts: event.compaction_point ? `compacts at ${number(event.compaction_point)}` : "",
  reserve: event.reserve ?? 0,
  rows: null,
  label: event.label ?? "",
});
