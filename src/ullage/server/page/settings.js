// The settings of a session: what counts now, and what was set for it alone. The server checks every value.

import { button, h, replace } from "./dom.js";

const SHOWN = [
  ["model", "text", "The model, with its provider before it"],
  ["window", "text", "The context window in tokens; wins over what is known of the model"],
  ["trigger", "text", "Where compaction starts: a share of the window up to 1, tokens above"],
  ["auto", "check", "Compact by itself at the compaction point"],
  ["strategy", "text", "How it compacts: hybrid, llm, prune, noop, or strategies in their order"],
  ["reserve", "text", "Tokens kept for the answer"],
  ["keep", "text", "Share of the messages that a summary leaves as they are"],
  ["max_output", "text", "The most an answer may have, in tokens"],
  ["effort", "text", "How much the model thinks"],
  ["include_in_context", "check", "Send earlier reasoning back"],
  ["strip", ["none", "all", "all_but_last"], "Which reasoning is left out"],
  ["max_steps", "text", "Model calls in one turn"],
  ["budget_usd", "text", "US dollars a turn may cost"],
];

export class Settings {
  /** `load()` gives `{own, effective}`; `save(changes)` the same after the change, or `null` when it was refused. */
  constructor(node, { load, save }) {
    Object.assign(this, { node, load, save });
  }

  async show() {
    this.draw(await this.load());
  }

  draw({ own, effective, warnings = [] }) {
    this.fields = SHOWN.filter(([key]) => key in effective).map(([key, kind, meaning]) => field(key, kind, meaning, effective[key], key in own));
    const submit = (event) => {
      event.preventDefault();
      this.submit();
    };
    const lines = this.fields.map(({ node, key, isOwn }) =>
      h("div", { class: "setting" }, node, isOwn ? button("Default", () => this.send({ [key]: null }), { kind: "small bare", "data-needs": "admin", hint: `Take ${key} back to its default`, "aria-label": `Take ${key} back to its default` }) : null),
    );
    const warned = warnings.map((text) => h("p", { class: "warning", role: "alert" }, text));
    replace(this.node, ...warned, h("form", { onsubmit: submit }, lines, h("button", { type: "submit", class: "button", "data-needs": "admin" }, "Change settings")));
  }

  submit() {
    const changes = {};
    for (const { key, read, before } of this.fields) {
      const value = read();
      if (value !== before) changes[key] = value === "" ? null : numeric(value);
    }
    if (Object.keys(changes).length) this.send(changes);
  }

  async send(changes) {
    const after = await this.save(changes);
    if (after) this.draw(after);
  }
}

function field(key, kind, meaning, value, isOwn) {
  const id = `setting-${key}`;
  const before = kind === "check" ? Boolean(value) : String(value ?? "");
  let input;
  if (kind === "check") input = h("input", { id, "data-needs": "admin", type: "checkbox", checked: before });
  else if (Array.isArray(kind)) input = h("select", { id, "data-needs": "admin" }, kind.map((one) => h("option", { value: one, selected: one === before }, one)));
  else input = h("input", { id, "data-needs": "admin", type: "text", value: before, placeholder: "default", autocomplete: "off", spellcheck: "false" });
  input.setAttribute("aria-describedby", `${id}-meaning`);
  const label = h("label", { htmlFor: id }, key.replaceAll("_", " "));
  const node = h("div", { class: `field ${kind === "check" ? "check" : ""}` }, label, input, h("small", { id: `${id}-meaning` }, meaning));
  return { key, node, before, isOwn, read: () => (kind === "check" ? input.checked : input.value.trim()) };
}

const numeric = (value) => (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value);
