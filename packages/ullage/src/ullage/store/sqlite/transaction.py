"""What every part of the store works with: the SQL, the head of a session's ledger, and the open transaction."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ullage.store.changes import Change
from ullage.store.refusals import no_session
from ullage.store.sql_files import named_statements


@cache
def statements() -> dict[str, str]:
    """Every statement of ``statements.sql`` by its name."""
    return named_statements("ullage.store.sqlite")


@cache
def schema() -> str:
    """The script that makes a new database."""
    return files("ullage.store.sqlite").joinpath("schema.sql").read_text("utf-8")


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
    standing: str
    listed: float
    now: float


def session_head(database: sqlite3.Connection, session: str) -> SessionHead:
    """Raises ``SessionNotFound``."""
    row = database.execute(statements()["head"], (session,)).fetchone()
    if row is None:
        raise no_session(session)
    return SessionHead(session, *row)


def time_of(database: sqlite3.Connection, where: SessionHead, seq: int) -> float | None:
    """When an event was stored; ``None`` where the ledger has no such event."""
    found = database.execute(statements()["time_of_event"], (where.key, seq)).fetchone()
    return None if found is None else found[0]


@dataclass(slots=True)
class Transaction:
    """The open transaction of the writer."""

    database: sqlite3.Connection
    changes: list[Change] = field(default_factory=list)

    def run(self, name: str, *values: object) -> sqlite3.Cursor:
        """Run a named statement."""
        return self.database.execute(statements()[name], values)
