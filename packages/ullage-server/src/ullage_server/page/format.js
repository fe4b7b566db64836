// Numbers and times as people read them. Nothing is computed here but the way a number is written.

const GROUPED = new Intl.NumberFormat("en-US");
const MONEY = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 4 });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** 52,100; a dash for what is unknown. */
export const number = (value) => (value === null || value === undefined ? "–" : GROUPED.format(value));

/** 52.1k: for axes and places that are too small for the number. */
export function brief(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size < 1_000) return String(value);
  if (size < 10_000) return `${trimmed(value / 1_000, 1)}k`;
  return size < 1_000_000 ? `${Math.round(value / 1_000)}k` : `${trimmed(value / 1_000_000, 1)}M`;
}

const trimmed = (value, digits) => value.toFixed(digits).replace(/\.0+$/, "");

/** +120, −5, 0. */
export function signed(value) {
  if (value === null || value === undefined) return "–";
  return value > 0 ? `+${number(value)}` : value < 0 ? `−${number(-value)}` : "0";
}

/** A part of a whole in per cent; empty where the whole is unknown. */
export function share(part, whole) {
  if (!whole) return "";
  const percent = (100 * part) / whole;
  return `${percent > 0 && percent < 9.95 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** An error in per cent with its sign. */
export function percentSigned(value) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value) < 9.95 ? Math.abs(value).toFixed(1) : GROUPED.format(Math.round(Math.abs(value)));
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${text}\u00a0%`;
}

/** ± 140 by the wider side; 14 to 286 where the sides differ by half or exceed half of the number; empty if exact. */
export function interval({ tokens, low, high }) {
  if (low === null || high === null || low === high) return "";
  const below = tokens - low;
  const above = high - tokens;
  const wide = Math.max(below, above);
  if (wide <= Math.max(1, 2 * Math.min(below, above)) && 2 * wide <= tokens) return `± ${number(wide)}`;
  return `${number(low)} to ${number(high)}`;
}

/** The same as it follows its number: ± 140, (14 to 286). */
export function besideNumber(used) {
  const ends = interval(used);
  return !ends || ends.startsWith("±") ? ends : `(${ends})`;
}

export const money = (usd) => MONEY.format(usd);

/** The hour for today, the day for earlier. `at` is seconds since 1970. */
export function when(at, now = Date.now()) {
  if (!at) return "";
  const date = new Date(at * 1000);
  return now - date.getTime() < 18 * 3_600_000 ? CLOCK.format(date) : DAY.format(date);
}

/** How long something lasts, roughly: 20 s, 4 min, 3 h, 2 days. */
export function lasting(seconds) {
  if (seconds < 59.5) return `${seconds < 1 ? 1 : Math.round(seconds)} s`;
  if (seconds < 3_570) return `${Math.round(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.round(seconds / 3_600)} h` : counted(Math.round(seconds / 86_400), "day");
}

export const fullTime = (at) => (at ? FULL.format(new Date(at * 1000)) : "");

/** 1.2 MB; sizes of bytes. */
export function bytes(size) {
  if (size === null || size === undefined) return "";
  if (size < 1_024) return `${size} B`;
  if (size < 1_048_576) return `${Math.round(size / 1_024)} kB`;
  return `${trimmed(size / 1_048_576, 1)} MB`;
}

/** "1 message", "3 messages". */
export const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** What a rewind or its undoing did to files, for a sentence: nothing, or how many came back and how many were left alone. */
export function restored({ files = [], edited_since: edited = [] }) {
  const parts = [];
  if (files.length) parts.push(`${counted(files.length, "file")} restored`);
  if (edited.length) parts.push(`${counted(edited.length, "file")} changed otherwise since and left alone`);
  return parts;
}

/** The first line of a text, at most `length` characters. */
export function firstLine(text, length = 90) {
  const line = text.slice(0, 4 * length).trim().split("\n", 1)[0];
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** Text with every character spelled that is invisible, moves a cursor or turns the direction of writing. */
export const visible = (text) => text.replace(/(?![\n\t ])[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`);
