// From an item of the map to its row in the breakdown.

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
  shown?.focus({ preventScroll: true });
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
