"""Merges the events and draft pieces of a session in order, from the database and from notifications."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple

from ullage.events import CallEnded, CallStarted, DraftPiece, Event
from ullage.store.changes import Change, Subscription
from ullage.store.drafts import DraftRow
from ullage.store.refusals import history_lost

MOST_READ: Final = 1_000
"""The most events that one read loads, so that a long ledger is not in memory as a whole."""

FIRST_READ: Final = 4
"""The most events that a follower's first read loads, which tells how large they are."""

READ_BYTES: Final = 1_000_000
"""About how much JSON the following reads load. Eight followers of 600 events of 500 kB held 1.6 GB with SQLite and
2.5 GB with PostgreSQL when only their number was limited."""


class FoundEvents(NamedTuple):
    """The result of one read of the database; ``is_all`` is False if there are more events.

    ``last_at`` is the time of the event behind which was read; ``None`` where the ledger has no such event. ``size``
    is the bytes of the events' JSON.
    """

    events: list[Event]
    drafts: list[DraftRow]
    is_all: bool
    last_at: float | None = None
    size: int = 0


def is_same_event(at: float, stored: float | None) -> bool:
    """Whether an event that was read before is still the one of its number: events are told apart by their times.

    ``at`` is 0 where it is not known; then the ledger only has to have such an event (``stored``).
    """
    if stored is None:
        return False
    return not at or round(at * 1_000) == round(stored * 1_000)


def next_limit(limit: int, events: int, size: int) -> int:
    """The most events of the next read, after one that was limited to ``limit`` found so many with so many bytes."""
    if not events:
        return limit
    fitting = READ_BYTES * events // max(size, 1)
    return max(1, min(fitting, 4 * limit, MOST_READ))


class Follower:
    """The position of one follower, and what comes next for it.

    A piece belongs after the event that was the newest when the piece was stored. A piece that would come after the
    next event is left out: that event was read from the database with all remaining pieces, and a removed piece belongs
    to an answer that the events contain. A call's pieces come without a gap: one behind a piece that a crash of the
    database lost is left out, until the driver has stored both again.
    """

    def __init__(
        self, session: str, after: int, offset: int = -1, at: float = 0.0
    ) -> None:
        self.session = session
        self.seq = after
        self.at = at
        self.row = 0
        self._row_end: DraftPiece | None = None
        """The last piece of that row: one that a crash lost may have left its number to another row."""
        self.limit = FIRST_READ
        """The most events that the next read may load."""
        self._offset = offset
        """The last piece had before the start, of the call that is under way there; -1 behind its end."""
        self._had: dict[str, int] = {}

    def read(self, seen: FoundEvents) -> Iterator[Event | DraftPiece]:
        """The new items of a read, in order. Raises ``HistoryLost`` if the last event before it was replaced."""
        if self.seq and not is_same_event(self.at, seen.last_at):
            raise history_lost(self.session, self.seq)
        self.limit = next_limit(self.limit, len(seen.events), seen.size)
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

    def hear(
        self, change: Change, *, has_looked: bool = False
    ) -> Iterator[Event | DraftPiece] | None:
        """The new items of a notification; ``None`` if earlier events or pieces are missing.

        With ``has_looked`` the database was read since the notification: what is still missing was removed or lost. An
        event that comes again with a later time is another one: then only a read tells what was lost.
        """
        first = change.stored[0]
        if isinstance(first, DraftPiece):
            if change.seq > self.seq and not has_looked:
                return None
            if change.seq != self.seq:
                return iter(())
            if not has_looked and first.offset > self._last_of(first.call) + 1:
                self.row = 0  # after a crash, new rows may have the numbers of lost ones
                return None
            return self._pieces(change.stored)
        is_ahead = first.seq > self.seq + 1
        is_other = first.seq <= self.seq and first.at > self.at > 0
        if (is_ahead or is_other) and not has_looked:
            return None
        if is_ahead:  # it was told of and then lost
            return iter(())
        return (
            each
            for event in change.stored
            if not isinstance(event, DraftPiece)
            for each in self._event(event)
        )

    async def follow(
        self,
        watch: AbstractAsyncContextManager[Subscription],
        look: Callable[[], Awaitable[FoundEvents]],
    ) -> AsyncIterator[Event | DraftPiece]:
        """All items from here on, without end. ``look`` reads the database behind this follower's position."""
        async with watch as news:
            # Before any news: which pieces the follower has is known by the events that they were stored behind.
            async for each in self._look(look):
                yield each
            while True:
                changes, told_to_look = news.take()
                if told_to_look:  # first: what was not told of may belong before what was
                    async for each in self._look(look):
                        yield each
                for change in changes:
                    fresh = self.hear(change)
                    while fresh is None:
                        async for each in self._look(look):
                            yield each
                        fresh = self.hear(change, has_looked=True)
                    for each in fresh:
                        yield each
                await news.wait()

    async def _look(
        self, look: Callable[[], Awaitable[FoundEvents]]
    ) -> AsyncIterator[Event | DraftPiece]:
        is_all = False
        while not is_all:
            seen = await look()
            if seen.drafts and self._lacks_before(seen.drafts[0]):
                self.row = 0  # as above: rows before it have the numbers of lost ones
                seen = await look()
            for each in self.read(seen):
                yield each
            is_all = seen.is_all

    def _event(self, event: Event) -> Iterator[Event]:
        if event.seq > self.seq:
            self.seq = event.seq
            self.at = event.at
            if isinstance(event, CallStarted | CallEnded) and event.purpose == "main":
                self._offset = -1
                self._had.clear()
            yield event

    def _lacks_before(self, row: DraftRow) -> bool:
        """Whether pieces are missing before those of the first row that was found."""
        first = row.pieces[0]
        is_behind = self.row > 0 and not self._has_read(row)
        return is_behind and first.offset > self._last_of(first.call) + 1

    def _has_read(self, row: DraftRow) -> bool:
        return row.id == self.row and row.pieces[-1] == self._row_end

    def _row(self, row: DraftRow) -> Iterator[DraftPiece]:
        if self._has_read(row):
            return
        if row.id >= self.row:
            self.row, self._row_end = row.id, row.pieces[-1]
        yield from self._pieces(row.pieces)

    def _pieces(self, stored: Iterable[Event | DraftPiece]) -> Iterator[DraftPiece]:
        for piece in stored:
            if (
                isinstance(piece, DraftPiece)
                and piece.offset == self._last_of(piece.call) + 1
            ):
                self._had[piece.call] = piece.offset
                yield piece

    def _last_of(self, call: str) -> int:
        """The last delivered piece of a call."""
        return self._had.get(call, self._offset)
