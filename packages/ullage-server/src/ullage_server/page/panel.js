// The right column: the window of the session that is shown, always from one reading at a time.

import { byId, button, h, released, replace } from "./dom.js";
import { Gauge, ofEvent, ofReading } from "./gauge.js";
import { Rows } from "./rows.js";

const SETTLE_MS = 120;

export class Panel {
  constructor({ items, reveal, acts }) {
    this.acts = acts;
    this.gauge = new Gauge(byId("gauge"));
    this.growth = null;
    this.rows = new Rows(byId("rows"), { items, reveal });
    this.clear();
  }

  clear() {
    this.reading = null;
    this.generation = (this.generation ?? 0) + 1;
    clearTimeout(this.timer);
    this.timer = null;
    this.rows.known = null;
    byId("window").classList.add("empty");
  }

  /** A reading as an event brought it: the gauge moves at once, the rest follows with the whole one. */
  event(event) {
    if (!this.reading || event.snapshot === this.reading.snapshot_id) return;
    this.gauge.show(ofEvent(event, this.reading));
  }

  /** Asks for the whole reading soon; several wishes become one. `load()` gives `{reading, steps}`. */
  refresh(load) {
    this.load = load;
    if (this.timer !== null) {
      this.again = true;
      return;
    }
    const generation = this.generation;
    this.timer = setTimeout(async () => {
      this.again = false;
      try {
        const { reading, steps } = await load();
        await released();
        if (generation === this.generation) this.show(reading, steps);
      } catch {
        // The connection's state is shown by the stream; the next event asks again.
      } finally {
        if (generation === this.generation) {
          this.timer = null;
          if (this.again) this.refresh(this.load);
        }
      }
    }, SETTLE_MS);
  }

  show(reading, steps) {
    byId("window").classList.remove("empty");
    this.reading = reading;
    byId("window").dataset.snapshot = reading.snapshot_id;
    replace(byId("window-model"), reading.model && reading.model !== "unknown" ? reading.model : "model unknown");
    this.gauge.show(ofReading(reading));
    this.rows.show(reading);
    this.drawBelow(steps, reading);
  }

  /** What stands below the gauge and its rows comes after them. */
  async drawBelow(steps, reading) {
    const [{ Growth }, figures] = await Promise.all([import("./growth.js"), import("./figures.js")]);
    if (this.reading !== reading) return; // a newer one is drawn
    this.growth ??= new Growth(byId("growth"));
    this.growth.show(steps);
    figures.drawLimits(byId("limits"), reading);
    figures.drawAccuracy(byId("accuracy"), reading);
    figures.drawSpend(byId("spend"), reading.spend);
  }

  /** What became of the compaction that was asked for here; `null` where none was. */
  async ordered(order) {
    this.order = order;
    const node = byId("compact-outcome");
    if (!order) return replace(node, null);
    const { drawOutcome } = await import("./undo.js");
    if (this.order) drawOutcome(node, this.order);
  }

  /** The compactions that can be undone. */
  async undoable(compactions) {
    this.compactions = compactions;
    if (!compactions.length) return replace(byId("undoable"), null);
    const { drawUndoable } = await import("./undo.js");
    await released();
    drawUndoable(byId("undoable"), this.compactions, this.acts);
  }
}

/** The form that asks for a compaction. */
export function compactForm(acts) {
  const instructions = h("input", { id: "compact-instructions", "data-needs": "write", type: "text", placeholder: "Keep in the summary …", "aria-label": "Instructions for the summary" });
  const submit = async (event) => {
    event.preventDefault();
    const asked = instructions.value;
    if (await acts.compact(asked) && instructions.value === asked) instructions.value = ""; // else a person types the next one
  };
  return h("form", { class: "compact", onsubmit: submit }, instructions, button("Preview", () => acts.preview(instructions.value), { id: "preview", "data-needs": "write", hint: "See first what would leave and what would be lost" }), h("button", { type: "submit", class: "button", id: "compact", "data-needs": "write" }, "Compact"));
}

