"""Where a session stands: what every write looks at first."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from ullage.errors import SessionNotFound
from ullage.store.statements import statements


class SessionHead(NamedTuple):
    """Where a session stands. ``now`` is the database's clock, ``expires`` by it the end of the owner's lease."""

    session: str
    key: int
    seq: int
    owner: str
    generation: int
    expires: float
    title: str
    model: str
    now: float


def session_head(database: sqlite3.Connection, session: str) -> SessionHead:
    """Raises ``SessionNotFound``."""
    row = database.execute(statements()["head"], (session,)).fetchone()
    if row is None:
        raise SessionNotFound(f"There is no session {session!r} in this store.")
    return SessionHead(session, *row)
