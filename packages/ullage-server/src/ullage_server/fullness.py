"""How full the sessions of a list are: the newest reading of each, without reading again what has not changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.errors import SessionNotFound
from ullage.events import ReadingTaken
from ullage.store.store import SessionRow, SessionStore
from ullage_server.live_types import REMEMBERED

EVENTS_READ: Final = 64
"""The last events of a session in which its newest reading is looked for: each model call writes two."""

AT_ONCE: Final = 16
"""Sessions that are read at the same time."""


class Fullness(NamedTuple):
    """Tokens used and the window, as the last reading has them; ``None`` where they are unknown."""

    used: int | None = None
    window: int | None = None


class _Seen(NamedTuple):
    created: float
    seq: int
    fullness: Fullness


class FullnessCache:
    """The fullness of sessions, by the last event that it was read from."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._reading = asyncio.Semaphore(AT_ONCE)

    async def of(self, store: SessionStore, rows: Sequence[SessionRow]) -> list[Fullness]:
        """The fullness of each of these sessions. Raises ``StoreUnavailable``."""
        return list(await asyncio.gather(*(self._of(store, row) for row in rows)))

    async def _of(self, store: SessionStore, row: SessionRow) -> Fullness:
        seen = self._seen.pop(row.id, None)
        if seen is None or seen.created != row.created or seen.seq > row.seq:
            seen = _Seen(row.created, 0, Fullness())
        if seen.seq < row.seq:
            seen = await self._read(store, row, seen)
        self._seen[row.id] = seen
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return seen.fullness

    async def _read(self, store: SessionStore, row: SessionRow, seen: _Seen) -> _Seen:
        after = max(seen.seq, row.seq - EVENTS_READ)
        async with self._reading:
            try:
                events = await store.read(row.id, after=after)
            except SessionNotFound:  # it was deleted since it was listed
                return seen
        fullness = seen.fullness
        seq = row.seq
        for event in events:
            seq = event.seq
            if isinstance(event, ReadingTaken):
                fullness = Fullness(event.used.tokens, event.window)
        return _Seen(row.created, seq, fullness)
