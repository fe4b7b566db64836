"""A session as its driver sees it: the ledger it appends to, and the folds of it.

Every change goes through ``write``: stored first, then folded, in the order of the ledger, the commands of others among
them. Nobody else changes the folds, so that what is decided on is always what is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from ullage.agent.loop import Loop, apply
from ullage.checkpoint.contents import events_of, put_contents, removed_entries
from ullage.errors import LeaseLost
from ullage.events import Event, Uncompacted
from ullage.meter.meter import Meter
from ullage.meter.view import Entry
from ullage.store.store import Lease, Store
from ullage.tasks import to_completion


async def load_contents(store: Store, session: str, entries: Sequence[Entry]) -> None:
    """Read the contents of these messages from the store, as far as they are missing."""
    missing = [entry for entry in entries if entry.content is None]
    if missing:
        put_contents(missing, await store.read_these(session, events_of(missing)))


async def load_for(event: Event, store: Store, session: str, meter: Meter) -> None:
    """Read the contents that folding this event needs."""
    if meter._fold.needs_content(event):
        entries = list(meter._fold.view)
        if isinstance(event, Uncompacted):
            entries += removed_entries(meter._fold)
        await load_contents(store, session, entries)


class Ledger:
    """One session and its folds. Belongs to one event loop. ``listeners`` are called with each event once it is folded.

    ``lease`` is ``None`` while somebody else may drive: then it can only be looked at.
    ``write`` and ``catch_up`` raise ``LeaseLost`` and ``StoreUnavailable``; then nothing of the call is stored.
    """

    def __init__(self, store: Store, session: str, meter: Meter, loop: Loop) -> None:
        self.store = store
        self.session = session
        self.lease: Lease | None = None
        self.meter = meter
        self.loop = loop
        self.listeners: list[Callable[[Event], None]] = []
        self.is_broken = False
        """An event could not be folded, so that the folds are half done: the session has to be opened again."""
        self._lock = asyncio.Lock()
        self._is_loaded = False
        """Whether no message in view lacks its content: those that come in later have theirs."""

    @property
    def held(self) -> Lease:
        """The lease. Raises ``LeaseLost`` where there is none."""
        if self.lease is None:
            raise LeaseLost(f"The session {self.session} is not driven from here.")
        return self.lease

    async def write(
        self, events: Sequence[Event], *, exact: bool = False, durable: bool = False, ends_draft: str = ""
    ) -> bool:
        """Store and fold these events, after the commands that came before them.

        With ``exact`` they are written only if nothing was stored since what is folded at this moment, where they were
        decided: False says that something was, and it is folded. A write that was begun ends, and is folded, even if
        the caller is cancelled.
        """
        decided = self.loop.seq if exact else None
        return await to_completion(self._write(events, decided, durable=durable, ends_draft=ends_draft))

    async def catch_up(self) -> int:
        """Fold what others have stored since; gives how many events that were."""
        return await to_completion(self._catch_up())

    async def load(self, entries: Sequence[Entry] | None = None) -> None:
        """Read the contents of these messages in view, or of all, where they were not read yet."""
        if self._is_loaded:
            return
        async with self._lock:
            await load_contents(self.store, self.session, list(self.meter._fold.view) if entries is None else entries)
            self._is_loaded = self._is_loaded or entries is None

    async def has(self, seq: int) -> bool:
        """Whether the event is folded, once a write under way has ended: what it stores is told before it is folded."""
        async with self._lock:
            return self.loop.seq >= seq

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """Nothing is folded inside the block, so that another thread may read the folds. Not to be written in."""
        async with self._lock:
            yield

    async def _write(self, events: Sequence[Event], decided: int | None, *, durable: bool, ends_draft: str) -> bool:
        async with self._lock:
            self._check()
            exact = decided is not None
            if exact and self.loop.seq != decided:  # folded while the lock was waited for
                return False
            stored = await self.store.append(
                self.held, events, after=self.loop.seq, exact=exact, durable=durable, ends_draft=ends_draft
            )
            await self._fold(stored)
            return not exact or len(stored) == len(events)

    async def _catch_up(self) -> int:
        async with self._lock:
            self._check()
            found = await self.store.read(self.session, after=self.loop.seq)
            await self._fold(found)
            return len(found)

    def _check(self) -> None:
        if self.is_broken:
            raise RuntimeError(f"The folds of the session {self.session} are half done. Open it again.")

    async def _fold(self, events: Sequence[Event]) -> None:
        self.is_broken = True
        for event in events:
            await load_for(event, self.store, self.session, self.meter)
            self.meter.apply(event)
            self.loop = apply(self.loop, event)
            for listener in self.listeners:
                listener(event)
        self.is_broken = False
