// How a session stands, in words: the server's one value of it, which all lists show.

import { counted, lasting, when } from "./format.js";

/** States in which a session needs a person, in the order in which the list has them. */
export const NEEDS = ["needs_approval", "failed", "paused"];

export const LABELS = { at_rest: "at rest", works: "works", waits: "waits", needs_approval: "needs approval", failed: "failed", paused: "paused" };

const ENDS = { max_steps: "its steps are used up", loop: "it repeated the same calls", length: "its answer was too long", refused: "the model refused", dropped: "the answer broke off", too_large: "it does not fit the window", budget: "its budget is used up", other: "", failed: "" };

/** Whether unfinished work has nobody who does it: its process has ended, or no worker has taken it. */
export const lacksDriver = ({ standing }) => ["interrupted", "worker"].includes(standing?.kind);

/** "RateLimited" as "rate limited". */
const inWords = (kind) => ENDS[kind] ?? kind.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();

const TEXTS = {
  needs_approval: ({ approvals: [first, ...more] = [] }) => (first?.tool || "a call") + (more.length ? ` and ${more.length} more` : ""),
  failed: ({ kind = "", attempts = 0 }) => [attempts > 1 ? `failed after ${counted(attempts, "attempt")}` : "failed", inWords(kind)].filter(Boolean).join(": "),
  paused: ({ kind = "" }) => ["paused", inWords(kind)].filter(Boolean).join(": "),
  waits: waiting,
  works: () => "works",
};

function waiting({ kind, attempts = 0, until = 0 }, place, now) {
  const left = until - now;
  const again = left <= 0 ? "" : left < 3_600 ? `again in ${lasting(left)}` : `again at ${when(until, now * 1000)}`;
  const why = { worker: place ? `no worker of the place ${place}` : "no worker", rate_limit: "waits for the rate limit", quota: "waits for the quota" }[kind];
  return [why ?? `attempt ${attempts} failed`, again].filter(Boolean).join(", ");
}

/** What a session of a list does, and since when, for a line; empty texts for one at rest. `now` is seconds since 1970. */
export function standingOf({ standing, place }, now) {
  const { state, since = now } = standing;
  const text = TEXTS[state]?.(standing, place, now) ?? "";
  const time = lasting(Math.max(0, now - since));
  return { text, time: text && (state === "failed" ? `${time} ago` : `for ${time}`) };
}
