"""What a write is given, and what it tells of itself once it is stored."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import NamedTuple

from ullage.events import Event
from ullage.store.statements import statements
from ullage.store.store import DraftPiece


class Change(NamedTuple):
    """What one write stored in a session; ``seq`` is the last event's number after it.

    A change that stored neither events nor pieces (a lease let go, a session deleted) has to be looked up.
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
