// A compaction before it is made: what leaves, what stays, the summary to be edited, what would be lost, and the price.
// Loaded when a preview is first asked for.

import { open } from "./dialogs.js";
import { announce, byId, button, h, replace } from "./dom.js";
import { counted, firstLine, money, number } from "./format.js";
import { loadStyles } from "./styles.js";

const LINES_SHOWN = 200;
const VALUES_SHOWN = 24;

/** Shows the preview of a compaction with these instructions, and makes the compaction where a person accepts it. */
export async function preview(page, instructions) {
  await loadStyles();
  const { api, remote } = page;
  const asking = new AbortController();
  const shown = h("div", { class: "previewed", role: "status" }, h("p", { class: "hint" }, "Asking for the summary …"));
  const dialog = open("Preview of a compaction", shown);
  dialog.classList.add("reviewing");
  dialog.addEventListener("close", () => asking.abort(), { once: true });
  try {
    const found = await api.call("POST", `${remote.path}/preview`, { instructions }, asking.signal);
    show(page, remote, found, shown);
  } catch (problem) {
    if (problem.name !== "AbortError") refused(shown, problem);
  }
}

function show(page, remote, found, node) {
  const text = h("textarea", { id: "preview-summary", rows: "10", value: found.summary, readonly: !found.is_editable });
  const told = h("p", { class: "outcome failed", role: "alert" });
  const accept = async () => {
    yes.disabled = true;
    const summary = text.value === found.summary ? null : text.value;
    try {
      await page.api.post(`${remote.path}/preview/${encodeURIComponent(found.id)}/accept`, { summary });
      byId("dialog").close();
      announce(`Compacted: ${number(found.freed)} tokens left the window`);
    } catch (problem) {
      told.textContent = [problem.message, problem.next].filter(Boolean).join(" ");
      yes.disabled = false;
    }
  };
  const yes = button("Compact like this", accept, { kind: "primary", "data-needs": "write" });
  replace(
    node,
    h("p", { class: "preview-size" }, h("strong", {}, `${number(found.before)} → ${number(found.after)} tokens`), ` · ${number(found.freed)} freed by “${found.strategy}”`),
    h("p", { class: "hint" }, priceOf(found)),
    found.lost.length ? lostOf(found, text) : h("p", { class: "hint" }, "No path, address, id or long number would be lost."),
    found.summary ? [h("label", { for: "preview-summary" }, found.is_editable ? "The summary in its place, which you can edit" : "The summary in its place"), text] : null,
    moved("Leaves", found.leaves),
    moved("Stays", found.stays),
    told,
    h("div", { class: "dialog-buttons" }, button("Reject", () => byId("dialog").close()), yes),
  );
  node.removeAttribute("role");
  (found.summary && found.is_editable ? text : yes).focus({ preventScroll: true });
  announce(`${number(found.freed)} tokens would be freed, ${counted(found.lost.length, "value")} lost`);
}

/** "5,900 tokens of the cache are written again, $0.02. Each later call saves $0.004. The preview cost …". */
function priceOf({ cache_lost: lost, usd, saves_usd: saves, reasoning_lost: reasoning, spent = 0, spent_usd: spentUsd = null }) {
  const cost = (dollars) => (dollars === null ? "" : `, ${money(dollars)}`);
  return [
    lost ? `${number(lost)} tokens are stored in the cache again${cost(usd)}.` : "Nothing of the cache is lost.",
    saves ? `Each later call saves ${money(saves)}.` : "",
    reasoning ? `${number(reasoning)} tokens of reasoning get lost.` : "",
    spent ? `This preview has cost ${number(spent)} tokens${cost(spentUsd)}.` : "",
  ].filter(Boolean).join(" ");
}

/** What no message would hold any more; a press puts it at the end of the summary. */
function lostOf(found, text) {
  const add = (value, event) => {
    text.value = `${text.value.trimEnd()}\n${value}`;
    event.target.disabled = true;
    announce(`${value} is in the summary now`);
  };
  const entry = ({ value, uses }) => {
    const name = [h("code", {}, firstLine(value, 60)), uses > 1 ? h("small", {}, ` ${number(uses)} uses`) : ""];
    return h("li", {}, found.is_editable && found.summary ? button(name, (event) => add(value, event), { kind: "small", hint: "Add it to the summary" }) : name);
  };
  const rest = found.lost.length - VALUES_SHOWN;
  return h(
    "section",
    { class: "lost", "aria-label": "What would be lost" },
    h("h3", {}, `Would be lost: ${counted(found.lost.length, "value")}`),
    found.is_editable && found.summary ? h("p", { class: "hint" }, "Press one to add it to the summary.") : null,
    h("ul", { class: "named" }, found.lost.slice(0, VALUES_SHOWN).map(entry), rest > 0 ? h("li", { class: "dim" }, `and ${number(rest)} more`) : null),
  );
}

function moved(title, messages) {
  const tokens = messages.reduce((sum, one) => sum + one.tokens, 0);
  const line = (one) => h("li", {}, h("span", { class: "item-text" }, firstLine(one.line, 160), one.why ? h("small", {}, ` ${one.why}`) : ""), h("span", { class: "row-tokens" }, number(one.tokens)));
  const rest = messages.length - LINES_SHOWN;
  return h(
    "details",
    { class: "moved" },
    h("summary", {}, `${title}: ${counted(messages.length, "message")}, ${number(tokens)} tokens`),
    h("ol", { tabindex: "0", "aria-label": title }, messages.slice(0, LINES_SHOWN).map(line), rest > 0 ? h("li", { class: "dim" }, `and ${number(rest)} more`) : null),
  );
}

function refused(node, problem) {
  replace(node, h("p", {}, [problem.message, problem.next].filter(Boolean).join(" ")), h("div", { class: "dialog-buttons" }, button("Close", () => byId("dialog").close(), { kind: "primary" })));
}
