"""The policy of metering other programs' requests, as numbers.

A number stands here where it was chosen: with its unit, its reason or source, and at the head of its group the bench or
the test that judges it. What a provider, a program or a protocol does is no choice, and stands where it is used.
"""

from __future__ import annotations

# --- Lanes in memory. Judged by bench.proxy: memory and the time of a request.

MOST_OPEN = 32
"""Lanes that are kept in memory; the one used longest ago is read from the store again when it is needed."""

HELD_BYTES = 8 * 1024 * 1024
"""Bytes of the last requests of the lanes in memory. A lane takes two to three times its request."""

MOST_CHILDREN = 64
"""Subagents of a conversation that are taken up with it."""

RECENT_S = 12 * 3600.0
"""At the start, lanes that changed within this time are taken up again."""

MOST_PROVISIONAL = 16
PROVISIONAL_S = 5.0
"""Calls kept back until a later call tells whether they open their session, and for how many seconds: a title and the
first call of its conversation were 10 to 300 ms apart (Claude Code 2.1.332 at a terminal, 5 sessions)."""

# --- Their leases.

AT_ONCE_S = 0.0
"""The lease of a lane has run out when it is taken: another process may take the session over at any time, and the
next write of this one then fails. Two proxies that meter one session follow each other so."""

# --- What is learnt of models.

LEARNING_S = 20.0
"""Seconds between two writes of what was learnt of models."""

# --- Errors of SDKs.

MOST_CAUSES = 10
"""How many exceptions are looked at: a framework wraps the SDK's, and that the transport's."""
