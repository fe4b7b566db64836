"""The events and draft pieces that a follower has not seen yet, from one read of SQLite."""

from __future__ import annotations

import sqlite3

from ullage.store.following import MOST_READ, FoundEvents
from ullage.store.sqlite.drafts import read_drafts
from ullage.store.sqlite.ledger import read, time_of
from ullage.store.sqlite.transaction import SessionHead, session_head


def look(
    database: sqlite3.Connection, session: str, after: int, after_row: int
) -> FoundEvents:
    """Events behind ``after`` and drafts behind a row. Raises ``SessionNotFound``."""
    where: SessionHead = session_head(database, session)
    events = list(read(database, where, after=after, limit=MOST_READ))
    is_all = len(events) < MOST_READ
    drafts = list(read_drafts(database, where, after_row)) if is_all else []
    return FoundEvents(events, drafts, is_all, time_of(database, where, after))
