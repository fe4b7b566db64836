// The largest parts of the window, with what taking each out frees and costs. Loaded when it is opened.

import { announce, button, h, released, replace } from "./dom.js";
import { counted, firstLine, money, number } from "./format.js";
import { loadStyles } from "./styles.js";

const PARTS_SHOWN = 10;
const LEAST_USD = 0.0001;

/** Draws them for the session that is shown, the largest first. */
export async function showDroppable(page, node) {
  const { remote, api } = page;
  const [{ droppable }] = await Promise.all([api.get(`${remote.path}/droppable?count=${PARTS_SHOWN}`), loadStyles()]);
  await released();
  if (page.remote !== remote) return;
  const drop = (places) => page.act((to) => api.post(`${to.path}/drop`, { places }));
  replace(
    node,
    droppable.length
      ? h("ol", { class: "droppable", "aria-label": "The largest parts" }, droppable.map((part) => h("li", {}, drawPart(part, drop, page))))
      : h("p", { class: "hint" }, "There is nothing to take out."),
  );
}

/** "5 messages · 343 tokens cached again, $0.002 · saves $0.0039 a call". */
function priceOf({ messages, cache_lost: lost, usd, saves_usd: saves, reasoning_lost: reasoning }) {
  const found = [lost ? `${number(lost)} tokens cached again${usd === null ? "" : `, ${money(usd)}`}` : "no cache lost"];
  if (messages.length > 1) found.unshift(counted(messages.length, "message"));
  if (saves >= LEAST_USD) found.push(`saves ${money(saves)} a call`);
  if (reasoning) found.push(`${number(reasoning)} tokens of reasoning get lost`);
  return found;
}

function drawPart(part, drop, page) {
  const name = firstLine(part.label || part.places.join(", "), 60);
  const about = h("small", {}, part.refused || priceOf(part).join(" · "));
  const reveal = () => page.reveal({ message: part.messages[0], part: part.places[0], tokens: part.freed });
  const what = part.messages.length ? h("button", { type: "button", class: "item-text", title: "Show it", onclick: reveal }, name) : h("span", { class: "item-text" }, name);
  if (part.refused) return [what, h("span", { class: "dim row-tokens" }, "stays"), about];
  const take = button("Drop", () => takeOut(), { kind: "small", "data-needs": "write", hint: "Take it out of the window; this can be undone", "aria-label": `Drop ${name}, ${number(part.freed)} tokens` });
  const takeOut = async () => {
    take.disabled = true;
    const done = await drop(part.places);
    take.disabled = Boolean(done) && !done.refused;
    if (done?.refused) about.textContent = done.refused;
    else if (done) announce(`${number(done.freed)} tokens left the window. Undo is in the list of compactions.`);
  };
  return [what, h("span", { class: "row-tokens" }, `−${number(part.freed)}`), take, about];
}
