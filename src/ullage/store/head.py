"""The head of a session's ledger, which every write reads first."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from ullage.errors import SessionNotFound
from ullage.store.statements import statements


class SessionHead(NamedTuple):
    """The head of a session's ledger. ``now`` is the database's clock, ``expires`` the end of the lease by it."""

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
