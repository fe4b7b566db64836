// What is asked when the events of a session are silent.

import { lacksDriver } from "./standing.js";

/** Whether anything works on the session's unfinished work: no event says that a worker is missing, and the server's
 * list says so after 6 s. */
export async function ask(following) {
  const { ledger, remote, signal } = following;
  const isAtWork = following.isCaughtUp && (ledger.turn || ledger.queue.size) && !ledger.paused && !ledger.interrupted;
  const state = isAtWork ? await remote.state(signal).catch(() => null) : null;
  if (signal.aborted) return;
  if (state?.seq === ledger.seq) ledger.interrupt(lacksDriver(state), state.note);
  following.listen();
}
