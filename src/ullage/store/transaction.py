"""What every part of the store works with: the SQL, the head of a session's ledger, and the open transaction."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ullage.errors import SessionNotFound
from ullage.events import Event
from ullage.store.store import DraftPiece


class Migration(NamedTuple):
    """The step to ``version`` from the one before it."""

    version: int
    name: str
    script: str


@cache
def statements() -> dict[str, str]:
    """Every statement of ``statements.sql`` by its name."""
    text = files("ullage.store").joinpath("statements.sql").read_text("utf-8")
    named = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {
        name: body.strip().removesuffix(";")
        for name, body in zip(named[::2], named[1::2], strict=True)
    }


@cache
def schema() -> str:
    """The script that makes a new database."""
    return files("ullage.store").joinpath("schema.sql").read_text("utf-8")


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps in order, the first from an empty database to version 1."""
    found = []
    for file in files("ullage.store").joinpath("migrations").iterdir():
        number = re.match(r"(\d{4})_(\w+)\.sql$", file.name)
        if number:
            found.append(Migration(int(number[1]), number[2], file.read_text("utf-8")))
    return tuple(sorted(found))


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


class Change(NamedTuple):
    """The items that one write stored in a session; ``seq`` is the last event's number after it.

    A change without items (a released lease, a deleted session) has to be read from the database.
    """

    session: str
    seq: int = 0
    stored: tuple[Event | DraftPiece, ...] = ()


@dataclass(slots=True)
class Transaction:
    """The open transaction of the writer."""

    database: sqlite3.Connection
    changes: list[Change] = field(default_factory=list)

    def run(self, name: str, *values: object) -> sqlite3.Cursor:
        """Run a named statement."""
        return self.database.execute(statements()[name], values)
