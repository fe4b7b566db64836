// Installed by `ullage install pi`; `ullage install pi --remove` removes it.
// Shows the context in pi's footer, with the largest tool result in view and the room to pi's own compaction.
// https://pi.dev/docs: extensions, ctx.getContextUsage(), ctx.ui.setStatus().
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const USUAL_RESERVE = 16384; // pi's compaction.reserveTokens when it is not set

function amount(tokens) {
  if (tokens < 1000) return String(tokens);
  if (tokens < 999500) return `${(tokens / 1000).toFixed(tokens < 9950 ? 1 : 0)}k`;
  return `${(tokens / 1000000).toFixed(1)}M`;
}

// pi's own settings of its compaction; its defaults when the file can't be read.
function compaction() {
  const directory = process.env.PI_CODING_AGENT_DIR || join(homedir(), ".pi", "agent");
  try {
    const found = JSON.parse(readFileSync(join(directory, "settings.json"), "utf8")).compaction;
    return { enabled: found?.enabled !== false, reserve: Number(found?.reserveTokens) || USUAL_RESERVE };
  } catch {
    return { enabled: true, reserve: USUAL_RESERVE };
  }
}

function line(usage, largest) {
  const percent = Math.round((100 * usage.tokens) / usage.contextWindow);
  const parts = [`next ~${amount(usage.tokens)}/${amount(usage.contextWindow)} (${percent} %)`];
  const { enabled, reserve } = compaction();
  const left = usage.contextWindow - (enabled ? reserve : 0) - usage.tokens;
  const end = enabled ? "compaction" : "the end";
  parts.push(left > 0 ? `${amount(left)} to ${end}` : `${end} is due`);
  if (largest.tokens > 0.02 * usage.contextWindow) parts.push(`largest ${largest.name} ~${amount(largest.tokens)}`);
  return parts.join(" · ");
}

export default function (pi) {
  let largest = { tokens: 0, name: "" };
  const show = (ctx) => {
    if (!ctx.hasUI) return;
    const usage = ctx.getContextUsage();
    const known = usage && Number.isFinite(usage.tokens) && usage.contextWindow > 0;
    ctx.ui.setStatus("ullage", known ? line(usage, largest) : undefined);
  };
  const forget = (ctx) => {
    largest = { tokens: 0, name: "" };
    show(ctx);
  };
  pi.on("session_start", (_event, ctx) => forget(ctx));
  pi.on("session_compact", (_event, ctx) => forget(ctx));
  pi.on("turn_end", (_event, ctx) => show(ctx));
  pi.on("tool_result", (event, ctx) => {
    const texts = (event.content || []).map((part) => part.text || "");
    const tokens = Math.round(texts.join("").length / 4);
    const path = String(event.input?.path || event.input?.command || "").split("\n")[0];
    if (tokens > largest.tokens) {
      largest = { tokens, name: `${event.toolName} ${path.split("/").pop()}`.trim().slice(0, 28) };
    }
    show(ctx);
  });
}
