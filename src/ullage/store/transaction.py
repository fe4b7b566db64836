"""The open transaction of the writer, and the changes that it reports to watchers."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import NamedTuple

from ullage.events import Event
from ullage.store.statements import statements
from ullage.store.store import DraftPiece


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
