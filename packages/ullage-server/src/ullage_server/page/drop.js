// The largest parts of the window, with what taking each out frees and costs. Loaded when it is opened.

import { announce, button, h, replace } from "./dom.js";
import { firstLine, number } from "./format.js";
import { priceOf } from "./preview.js";
import { loadStyles } from "./styles.js";

/** Draws them for the session that is shown, the largest first. */
export async function showDroppable(page, node) {
  const { remote, api } = page;
  const [{ droppable }] = await Promise.all([api.get(`${remote.path}/droppable`), loadStyles()]);
  if (page.remote !== remote) return;
  const drop = (places) => page.act((to) => api.post(`${to.path}/drop`, { places }));
  replace(
    node,
    droppable.length
      ? h("ol", { class: "droppable", "aria-label": "The largest parts" }, droppable.map((part) => h("li", {}, drawPart(part, drop))))
      : h("p", { class: "hint" }, "There is nothing to take out."),
  );
}

function drawPart(part, drop) {
  const name = firstLine(part.label || part.places.join(", "), 60);
  const about = h("small", {}, part.refused || priceOf(part));
  const what = h("p", {}, h("span", { class: "item-text", title: part.label }, name), about);
  if (part.refused) return [what, h("span", { class: "dim row-tokens" }, "stays")];
  const take = button("Drop", () => takeOut(), { kind: "small", "data-needs": "write", hint: "Take it out of the window; this can be undone", "aria-label": `Drop ${name}, ${number(part.freed)} tokens` });
  const takeOut = async () => {
    take.disabled = true;
    const done = await drop(part.places);
    take.disabled = Boolean(done) && !done.refused;
    if (done?.refused) about.textContent = done.refused;
    else if (done) announce(`${number(done.freed)} tokens left the window. Undo is in the list of compactions.`);
  };
  return [what, h("span", { class: "row-tokens" }, `−${number(part.freed)}`), take];
}
