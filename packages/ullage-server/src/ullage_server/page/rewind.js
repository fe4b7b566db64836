// Going back to before a message that a person said. Loaded when it is first asked for.

import { confirm } from "./dialogs.js";
import { announce } from "./dom.js";
import { counted, firstLine } from "./format.js";

/** Says what leaves the window, asks, goes back, and puts what was said into the box again. */
export async function rewind(page, message) {
  const { ledger, remote } = page;
  const leaving = inView(ledger, message);
  const calls = leaving.flatMap((one) => one.parts ?? []).filter((part) => part.type === "tool_call").length;
  const text = (message.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
  const what = [counted(leaving.length, "message"), calls ? `with ${counted(calls, "tool call")}` : ""].filter(Boolean).join(" ");
  const told = `“${firstLine(text, 120)}” and everything behind it, ${what}, ${leaving.length === 1 ? "leaves" : "leave"} the window. The session's record keeps them. Files that tools have changed stay as they are now. Your text goes back into the message box.`;
  if (!(await confirm("Rewind to before this message?", told, "Rewind")) || remote !== page.remote) return;
  const done = await page.act(async (to) => to.rewind(await to.before(message.id)));
  if (!done) return;
  announce(`Rewound: ${what} left the window`);
  page.composer.put(text);
}

function inView(ledger, message) {
  const items = [...ledger.items.values()].filter((item) => item.kind === "message" && !ledger.away.has(item.message.id));
  const from = items.findIndex((item) => item.message.id === message.id);
  return items.slice(from).map((item) => item.message);
}
