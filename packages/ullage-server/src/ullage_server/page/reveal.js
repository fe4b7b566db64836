// From an item of the map to its row in the breakdown, or to its message in the conversation.

import { offerFocus } from "./keyboard.js";

/** Shows a message with what it costs, loading the pages before it. False where there is none. */
export async function revealMessage(conversation, message, part, tokens) {
  const { drawing, ledger, list, nodes } = conversation;
  while (!ledger.items.has(`m:${message}`)) if (!(await conversation.fill())) return false;
  drawing.tokens.set(message, tokens);
  const item = ledger.items.get(`m:${message}`);
  const keys = new Set([item.key, ...(item.message.parts ?? []).map((one) => ledger.owners.get(one.call_id)).filter(Boolean)]);
  for (const key of keys) conversation.swap(key, nodes.get(key), ledger.items.get(key));
  const found = findMessage(list, message, part);
  if (!found) return false;
  conversation.sticks = false;
  const isFold = found.tagName === "DETAILS";
  if (isFold) found.open = true;
  const node = isFold ? found : found.closest("article");
  for (const shown of list.querySelectorAll(".shown")) shown.classList.remove("shown");
  node.classList.add("shown");
  node.scrollIntoView({ block: "center" });
  offerFocus(isFold ? node.querySelector("summary") : node);
  requestAnimationFrame(() => node.scrollIntoView({ block: "center" }));
  return true;
}

function findMessage(list, message, part) {
  const within = [...list.querySelectorAll(`[data-message="${CSS.escape(message)}"]`)].filter((node) => !node.hidden);
  const exact = within.map((node) => (node.dataset.part === part ? node : node.querySelector(`[data-part="${CSS.escape(part)}"]`)));
  return exact.find(Boolean) ?? within[0];
}

/** Opens the row of an item's category, and shows the item there if it is among the largest. */
export async function revealRow(rows, item) {
  const path = pathOf(rows.reading.rows, item.category) ?? item.category;
  const tool = `${path}/${item.tool}`;
  const names = path.split("/");
  names.forEach((name, at) => rows.opened.add(names.slice(0, at + 1).join("/")));
  if (item.tool) rows.opened.add(tool);
  if (!rows.known) await rows.load();
  rows.draw();
  const find = (name, value) => value && rows.node.querySelector(`[data-${name}="${CSS.escape(value)}"]`);
  const shown = find("item", item.part) || find("path", tool) || find("path", path);
  shown?.scrollIntoView({ block: "center" });
  if (shown) offerFocus(shown);
}

/** The path of the row that is called so; rows may name the number of their items: "Tools (25)". */
function pathOf(rows, name, above = "") {
  for (const row of rows) {
    const path = above ? `${above}/${row.name}` : row.name;
    if (row.name === name || row.name.startsWith(`${name} (`)) return path;
  }
  for (const row of rows) {
    const found = pathOf(row.children, name, above ? `${above}/${row.name}` : row.name);
    if (found) return found;
  }
  return null;
}
