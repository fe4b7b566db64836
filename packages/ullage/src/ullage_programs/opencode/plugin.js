// Installed by `ullage install opencode`; `ullage install opencode --remove` removes it.
// Says when a session has used 70 % and 90 % of its model's window. https://opencode.ai/docs/plugins
const SHARES = [0.9, 0.7];

function amount(tokens) {
  if (tokens < 1000) return String(tokens);
  if (tokens < 999500) return `${(tokens / 1000).toFixed(tokens < 9950 ? 1 : 0)}k`;
  return `${(tokens / 1000000).toFixed(1)}M`;
}

// The input of the next call as far as it is known: all of the last call.
function size(tokens) {
  const cache = tokens.cache || {};
  const all = [tokens.input, tokens.output, cache.read, cache.write];
  return all.reduce((sum, each) => sum + (Number(each) || 0), 0);
}

async function windowOf(client, info) {
  const { data } = await client.config.providers();
  const provider = (data?.providers || []).find((each) => each.id === info.providerID);
  return Number(provider?.models?.[info.modelID]?.limit?.context) || 0;
}

export const Ullage = async ({ client }) => {
  const reached = new Map(); // session -> the largest share that was said
  const look = async (info) => {
    const used = size(info.tokens);
    const window = await windowOf(client, info);
    if (!used || !window) return;
    const share = SHARES.find((each) => used >= each * window) || 0;
    const before = reached.get(info.sessionID) || 0;
    reached.set(info.sessionID, share);
    if (share <= before) return;
    const percent = Math.round((100 * used) / window);
    const message = `next ${amount(used)}/${amount(window)} (${percent} %)`;
    const variant = share >= 0.9 ? "error" : "warning";
    await client.tui.showToast({ body: { title: "ullage", message, variant } });
  };
  return {
    event: async ({ event }) => {
      const info = event?.properties?.info;
      const isAnswer = event?.type === "message.updated" && info?.role === "assistant";
      if (!isAnswer || info.summary || !info.time?.completed || !info.tokens) return;
      try {
        await look(info);
      } catch {
        // A plugin never disturbs the program.
      }
    },
  };
};
