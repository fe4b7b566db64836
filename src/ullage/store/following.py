"""The events and draft pieces of a session in one order, from what was read and from what is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from ullage.events import Event
from ullage.store.drafts import DraftRow, read_drafts
from ullage.store.head import SessionHead, session_head
from ullage.store.ledger import read
from ullage.store.store import DraftPiece
from ullage.store.transaction import Change

MOST_READ = 1_000
"""Events that are read at once, so that a long ledger is not held in memory as a whole."""


class FoundEvents(NamedTuple):
    """What one look into the database found behind a place; ``is_all`` is False when there are more events."""

    events: list[Event]
    drafts: list[DraftRow]
    is_all: bool


def look(database: sqlite3.Connection, session: str, after: int, after_row: int) -> FoundEvents:
    """Events behind ``after`` and drafts behind a row. Raises ``SessionNotFound``."""
    where: SessionHead = session_head(database, session)
    events = list(read(database, where, after=after, limit=MOST_READ))
    is_all = len(events) < MOST_READ
    return FoundEvents(events, list(read_drafts(database, where, after_row)) if is_all else [], is_all)


class Follower:
    """What one who follows has had, and hence what comes next for it.

    A piece belongs behind the event that was the last when it was stored. One that would come later than the next
    event is left out: then that event was read from the database together with all pieces that were still there, and
    the ones that were not belong to answers that are in the events.
    """

    def __init__(self, after: int, offset: int) -> None:
        self.seq = after
        self.row = 0
        self._from = after
        self._offset = offset
        self._had: dict[str, int] = {}

    def read(self, seen: FoundEvents) -> Iterator[Event | DraftPiece]:
        """What is new in what was looked up, in order."""
        drafts = iter(seen.drafts)
        row = next(drafts, None)
        for event in seen.events:
            while row is not None and row.seq < event.seq:
                yield from self._row(row)
                row = next(drafts, None)
            yield from self._event(event)
        while row is not None:
            yield from self._row(row)
            row = next(drafts, None)

    def hear(self, change: Change, *, has_looked: bool = False) -> Iterator[Event | DraftPiece] | None:
        """What is new in what was told; ``None`` when events or pieces lie before it that were not told.

        With ``has_looked`` the database has been read since it was told: what is missing before a piece then is gone.
        """
        first = change.stored[0]
        if isinstance(first, DraftPiece):
            if change.seq > self.seq:
                return None
            if change.seq < self.seq:
                return iter(())
            if not has_looked and first.offset > self._last_of(first.call, change.seq) + 1:
                return None
            pieces = tuple(each for each in change.stored if isinstance(each, DraftPiece))
            return self._pieces(change.seq, pieces)
        if first.seq > self.seq + 1:
            return None
        return (each for event in change.stored if not isinstance(event, DraftPiece) for each in self._event(event))

    def _event(self, event: Event) -> Iterator[Event]:
        if event.seq > self.seq:
            self.seq = event.seq
            yield event

    def _row(self, row: DraftRow) -> Iterator[DraftPiece]:
        self.row = max(self.row, row.id)
        yield from self._pieces(row.seq, row.pieces)

    def _pieces(self, seq: int, pieces: tuple[DraftPiece, ...]) -> Iterator[DraftPiece]:
        for piece in pieces:
            if piece.offset > self._last_of(piece.call, seq):
                self._had[piece.call] = piece.offset
                yield piece

    def _last_of(self, call: str, seq: int) -> int:
        """The last piece had of a call, one of whose pieces was stored behind the event ``seq``."""
        # A call whose first piece was stored behind the place we began at is none that ``offset`` is about.
        return self._had.setdefault(call, self._offset if seq <= self._from else -1)
