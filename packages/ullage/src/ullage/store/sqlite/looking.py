"""The events and draft pieces that a follower has not seen yet, from one read of SQLite."""

from __future__ import annotations

import sqlite3

from ullage.store.following import FoundEvents
from ullage.store.sqlite.drafts import read_drafts
from ullage.store.sqlite.ledger import read_sized
from ullage.store.sqlite.transaction import SessionHead, session_head, time_of


def look(
    database: sqlite3.Connection, session: str, after: int, after_row: int, limit: int
) -> FoundEvents:
    """At most ``limit`` events behind ``after``; drafts behind a row, if these are all. Raises ``SessionNotFound``."""
    where: SessionHead = session_head(database, session)
    found = list(read_sized(database, where, after=after, limit=limit))
    events = [event for event, _ in found]
    size = sum(size for _, size in found)
    is_all = len(events) < limit
    drafts = list(read_drafts(database, where, after_row)) if is_all else []
    return FoundEvents(events, drafts, is_all, time_of(database, where, after), size)
