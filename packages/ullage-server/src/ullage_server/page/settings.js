// The settings of a session: what counts now, and what was set for it alone. The server checks every value.

import { button, h, replace } from "./dom.js";

const SHOWN = [
  ["model", "text", "The model, with its provider before it"],
  ["window", "text", "The context window in tokens; wins over what is known of the model"],
  ["trigger", "text", "Where compaction starts: a share of the window up to 1, tokens above"],
  ["auto", "check", "Compact by itself at the compaction threshold"],
  ["strategy", "text", "How it compacts: hybrid, llm, prune, noop, or strategies in their order"],
  ["reserve", "text", "Tokens kept for the answer"],
  ["keep", "text", "Share of the messages that a summary leaves as they are"],
  ["max_output", "text", "The most an answer may have, in tokens"],
  ["effort", "text", "How much the model thinks"],
  ["reasoning", ["all", "last", "none"], "Which earlier reasoning is sent back"],
  ["max_steps", "text", "Model calls in one turn"],
  ["budget", "text", "The most a turn may use, as usd=5, tokens=2M"],
];

export class Settings {
  /** `remote` is the session; `act(request)` carries out a request, and gives `null` when it was refused. */
  constructor(node, remote, act) {
    Object.assign(this, { remote, act });
    this.fields = new Map();
    this.warned = h("div");
    this.lines = h("div");
    const submit = (event) => {
      event.preventDefault();
      this.submit();
    };
    replace(node, this.warned, h("form", { onsubmit: submit }, this.lines, h("button", { type: "submit", class: "button", "data-needs": "admin" }, "Change settings")));
  }

  async show() {
    this.draw(await this.remote.settings());
  }

  /** Shows these settings. A field keeps what a person has typed, unless that is what was `sent`. */
  draw({ own, effective, warnings = [] }, sent = {}) {
    for (const [key, kind, meaning] of SHOWN) {
      if (!(key in effective)) continue;
      if (!this.fields.has(key)) this.add(new Field(key, kind, meaning, () => this.send({ [key]: null })));
      this.fields.get(key).show(effective[key], key in own, sent[key]);
    }
    replace(this.warned, ...warnings.map((text) => h("p", { class: "warning", role: "alert" }, text)));
  }

  add(field) {
    this.fields.set(field.key, field);
    this.lines.append(field.node);
  }

  submit() {
    const changes = {};
    for (const { key, value, shown } of this.fields.values()) {
      if (value !== shown) changes[key] = value === "" ? null : numeric(value);
    }
    if (Object.keys(changes).length) this.send(changes);
  }

  async send(changes) {
    const sent = {};
    for (const key of Object.keys(changes)) sent[key] = this.fields.get(key).value;
    const after = await this.act(() => this.remote.set(changes));
    if (after) this.draw(after, sent);
  }
}

/** One setting. `shown` is what the server said last, `value` what stands in the field. */
class Field {
  constructor(key, kind, meaning, unset) {
    const id = `setting-${key}`;
    const isBox = kind === "check";
    this.key = key;
    this.input = inputOf(kind, { id, "data-needs": "admin", "aria-describedby": `${id}-meaning` });
    this.property = isBox ? "checked" : "value";
    this.shown = this.value;
    const label = h("label", { htmlFor: id }, key.replaceAll("_", " "));
    const hint = `Take ${key} back to its default`;
    this.unset = button("Default", unset, { kind: "small bare", "data-needs": "admin", hint, "aria-label": hint, hidden: true });
    const field = h("div", { class: `field ${isBox ? "check" : ""}` }, label, this.input, h("small", { id: `${id}-meaning` }, meaning));
    this.node = h("div", { class: "setting" }, field, this.unset);
  }

  get value() {
    const value = this.input[this.property];
    return typeof value === "string" ? value.trim() : value;
  }

  show(value, isOwn, sent) {
    const isTyping = this.value !== this.shown && this.value !== sent;
    this.shown = this.property === "checked" ? Boolean(value) : written(value);
    if (!isTyping) this.input[this.property] = this.shown;
    this.unset.hidden = !isOwn;
  }
}

/** A value as the server reads it: a budget as `usd=5, tokens=2000`. */
function written(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return String(value ?? "");
  const limits = Object.entries(value).filter(([, most]) => most !== null);
  return limits.map(([name, most]) => `${name}=${most}`).join(", ");
}

function inputOf(kind, properties) {
  if (kind === "check") return h("input", { ...properties, type: "checkbox" });
  if (kind === "text") return h("input", { ...properties, type: "text", placeholder: "default", autocomplete: "off", spellcheck: "false" });
  return h("select", properties, kind.map((one) => h("option", { value: one }, one)));
}

const numeric = (value) => (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value);
