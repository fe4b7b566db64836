// What the token allows. Controls that need more are disabled and say why; new ones too, as they appear.

import { byId } from "./dom.js";

const MEANINGS = { write: "send or change anything", approve: "answer for a tool call", admin: "change settings and delete sessions" };

/** Controls that carry no `data-needs` of their own. */
const BY_PLACE = [[".approval button, .approval input, .approval select", "approve"]];

export class Access {
  constructor(api) {
    this.api = api;
    this.name = "";
    this.live = false;
    this.session = ""; // the one session that the token of a read-only link is for
    this.scopes = new Set(["read", "write", "approve", "admin"]);
    new MutationObserver((records) => records.forEach((record) => this.changed(record))).observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
    api.onToken = () => this.load().catch(() => {});
  }

  changed({ target, addedNodes, type }) {
    if (type === "attributes" && target.dataset.denied !== undefined && !target.disabled) target.disabled = true; // whoever enabled it knew nothing of the token
    for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) this.apply(node);
  }

  /** Asks the server what the token of this tab allows. */
  async load() {
    const { name, scopes, live, session, expires } = await this.api.access();
    Object.assign(this, { name, live, session, expires });
    this.scopes = new Set(scopes);
    this.apply(document.body);
    const lacking = ["write", "approve", "admin"].filter((scope) => this.lacks(scope));
    const note = byId("access");
    note.hidden = !lacking.length;
    note.textContent = lacking.length ? `Token “${name}”: ${lacking.includes("write") ? "read only" : `without ${lacking.join(", ")}`}` : "";
    note.title = lacking.map((scope) => this.lacks(scope)).join(" ");
  }

  /** Why something can't be done; empty where it can. */
  lacks(scope) {
    if (!scope || this.scopes.has(scope)) return "";
    return `The token “${this.name}” may not ${MEANINGS[scope]}: it lacks the scope “${scope}”. Take a token that has it.`;
  }

  apply(root) {
    const settle = (node, scope) => mark(node, this.lacks(scope));
    if (root.dataset?.needs) settle(root, root.dataset.needs);
    for (const node of root.querySelectorAll("[data-needs]")) settle(node, node.dataset.needs);
    for (const [selector, scope] of BY_PLACE) {
      if (root.matches?.(selector)) settle(root, scope);
      for (const node of root.querySelectorAll(selector)) settle(node, scope);
    }
  }
}

/** Disables a control and says why, or gives it back what it was. */
function mark(node, reason) {
  const words = node.tagName === "TEXTAREA" ? "placeholder" : "title";
  if (reason && node.dataset.denied === undefined) {
    node.dataset.denied = node.getAttribute(words) ?? "";
    node.dataset.waits = node.disabled ? "yes" : "";
    node.disabled = true;
  }
  if (reason) node.setAttribute(words, reason);
  else if (node.dataset.denied !== undefined) {
    node.setAttribute(words, node.dataset.denied);
    delete node.dataset.denied;
    node.disabled = node.dataset.waits === "yes";
  }
}
