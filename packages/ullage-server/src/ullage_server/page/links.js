// Links to a session: for those who have a token of their own, and for those who only read along.

import { open } from "./dialogs.js";
import { byId, button, h, replace } from "./dom.js";
import { fullTime } from "./format.js";
import { notice } from "./notices.js";
import { loadStyles } from "./styles.js";

const HOURS = [[1, "1 hour"], [24, "1 day"], [168, "7 days"]];

/** The address of a session. */
export const addressOf = (id, token = "") => `${location.origin}${location.pathname}#session=${encodeURIComponent(id)}${token && `&token=${token}`}`;

/** Copies a text; where the browser allows no page to do that (without https), it is shown to be copied by hand. */
async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    notice(done, { isPlain: true });
    return true;
  } catch {
    return false;
  }
}

function field(text) {
  const shown = h("input", { type: "text", readonly: true, value: text, "aria-label": "The link", onfocus: () => shown.select() });
  return shown;
}

const close = () => button("Close", () => byId("dialog").close());

/** Copies the link to a session. */
export async function copyLink(id) {
  await loadStyles();
  if (await copy(addressOf(id), "The link is copied. It opens this session for everybody who has a token of this server.")) return;
  const link = field(addressOf(id));
  open("Link to this session", h("p", { class: "hint" }, "It opens this session for everybody who has a token of this server."), h("p", { class: "copied" }, link), h("div", { class: "dialog-buttons" }, close()));
  link.focus();
}

/** Asks for how long, makes a link that only reads this session, and shows it. */
export async function shareReadOnly(id, remote, tell) {
  await loadStyles();
  const hours = h("select", { "aria-label": "How long the link works" }, HOURS.map(([value, label]) => h("option", { value, selected: value === 24 }, label)));
  const made = h("div", { role: "status" });
  const make = async (event) => {
    event.preventDefault();
    try {
      const { token, expires } = await remote.link(Number(hours.value));
      const link = field(addressOf(id, token));
      const label = button("Copy", async () => (await copy(link.value, "The read-only link is copied.")) ? (label.textContent = "Copied") : link.focus(), { kind: "primary" });
      replace(made, h("p", { class: "copied" }, link, label), h("p", { class: "hint" }, `It works until ${fullTime(expires)}. It is shown only now.`));
      label.focus();
    } catch (problem) {
      byId("dialog").close();
      tell(problem);
    }
  };
  const form = h("form", { onsubmit: make }, h("p", {}, "Who has the link sees this session, what was said and what comes, and no other. Nothing can be sent, approved or changed with it."), h("p", { class: "copied" }, h("label", {}, "It works for ", hours), h("button", { type: "submit", class: "button" }, "Make a link")), made);
  open("Share this session, read-only", form, h("div", { class: "dialog-buttons" }, close()));
  hours.focus();
}
