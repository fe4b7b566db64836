// What the page says by itself, at its top: what went wrong, what was done, what goes on.

import { button, byId, h } from "./dom.js";

/** A notice that goes away by itself, unless it is an error. */
export function notice(text, { next = "", isPlain = false } = {}) {
  const holder = byId("notices");
  if (holder.children.length > 3) holder.firstChild.remove();
  const [first, ...rest] = text.split("\n");
  const details = rest.length ? h("details", {}, h("summary", {}, "Details"), h("p", {}, rest.join("\n"))) : null;
  const node = h("div", { class: `notice${isPlain ? " plain" : ""}` }, h("div", {}, h("p", {}, first), next ? h("small", {}, next) : null, details), button("Close", () => node.remove(), { kind: "small bare", "aria-label": "Close the notice" }));
  holder.append(node);
  setTimeout(() => details?.open || node.remove(), isPlain ? 4_000 : 15_000);
  return node;
}

/** Says that something goes on; gives what takes it away again. `stop()` ends it. */
export function working(text, stop) {
  const node = h("div", { class: "notice plain" }, h("div", {}, h("p", {}, text), h("progress", { "aria-label": text })), button("Stop", stop, { kind: "small" }));
  byId("notices").append(node);
  return () => node.remove();
}
