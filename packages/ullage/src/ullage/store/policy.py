"""The policy of stores that a caller wrote, as numbers. Judged by tests/testing/test_stores.py of ullage-agent."""

from __future__ import annotations

POLL_S = 0.1
"""Seconds between two looks of ``Store.wait`` where a store has nothing better."""

LOOK_S = 30.0
"""Seconds after which a watched session is looked at, whatever the store has told of it."""

CANCEL_S = 0.1
"""Seconds after which a wait is cancelled again whose store has not ended it."""

RETRY_S = 1.0
"""Seconds before a watched session is looked at again whose store has failed."""

REFUSED_S = 60.0
"""Seconds for which a write is made again because others were first. Longer means a broken store."""

OWN_KEPT = 1_000
"""Own writes that are known as such to those who watch."""

LISTED_S = 60.0
"""Seconds after which a session that is driven moves to the front of lists again. PostgreSQL's ``append_events`` has
the same number."""

STANDINGS_KEPT = 10_000
"""Sessions of which a process remembers how they stand in PostgreSQL. For a forgotten one a write asks first."""
# --- Approvals over all sessions. Judged by packages/ullage-server/tests/server/test_inbox.py.

EVENTS_BEFORE_ASKED = (16, 256)
"""Events before a question in which its call is looked for: the answer with the call mostly stands a few before it,
and what hooks did and results of other calls may stand between."""
