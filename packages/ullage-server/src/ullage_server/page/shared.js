// The page as a read-only link opens it: one session, and nothing that sends or changes anything.

import { byId } from "./dom.js";
import { fullTime } from "./format.js";
import { loadStyles } from "./styles.js";

/** Says this above the session, and hides what is not for readers. */
function say(text) {
  document.body.classList.add("shared");
  byId("shared").hidden = false;
  byId("shared").textContent = text;
  return loadStyles();
}

/** Shows the one session that the token of the link is for, and nothing else. */
export async function readAlong(page) {
  const { session, expires } = page.access;
  page.api.isShared = true;
  page.sessions.only = session;
  page.tab("conversation");
  await say(`Read-only: you see this session live until ${fullTime(expires)}.`);
  await page.follow(session);
  page.sessions.soon();
}

/** Says that the link is over. */
export const endOfLink = () => say("This read-only link works no longer. Ask the person who sent it for a new one.");
