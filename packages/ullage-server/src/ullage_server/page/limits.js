// The window and the compaction threshold of a reading in words: whose they are, and where they come from.

import { number } from "./format.js";

/** Where the size of a window, or another program's threshold, comes from. */
const SOURCES = {
  user: "set by you",
  observed: "shown by the log",
  log: "named by the log",
  settings: "set in the program",
  provider: "reported by the provider",
  error: "learnt from an error",
  documented: "by default",
  catalogue: "from the catalogue",
};

/** Empty where nothing is known. */
export const sourceOf = (source) => SOURCES[source] ?? "";

const OURSELVES = "Ullage";

/** "compacts at 160,000", "Claude Code compacts at 167,000" or "Ullage would compact at 160,000"; empty while there is none. */
export function compactsAt(threshold) {
  const { tokens, by, note } = threshold;
  if (tokens === null) return by && by !== OURSELVES ? `${by} does not compact: ${note}` : "";
  if (!by) return `${OURSELVES} would compact at ${number(tokens)}`;
  return by === OURSELVES ? `compacts at ${number(tokens)}` : `${by} compacts at ${number(tokens)}`;
}

/** The name of the figure, and what it rests on. */
export function figureOf(threshold) {
  const { tokens, by, source, note } = threshold;
  if (!by) return ["Ullage would compact at", number(tokens), "The program that wrote this log does not say where it compacts"];
  if (by === OURSELVES) return ["Compacts at", number(tokens), "min(trigger × window, input limit); held against the upper end of the interval"];
  const from = [sourceOf(source), note].filter(Boolean).join(": ");
  return [`${by} compacts at`, tokens === null ? "never" : number(tokens), from];
}

/** The window and its source. */
export const windowFrom = (window) => [sourceOf(window.source), window.note].filter(Boolean).join(": ");
