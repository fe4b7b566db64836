"""The ledger of an open session and the folds of its events.

Every change goes through ``write``: events are stored first and then folded, in the order of the ledger, together with
commands of others. So every decision rests on stored events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from ullage.advice.cause import Cause
from ullage.advice.causes import CauseFollower
from ullage.checkpoint.contents import events_of, put_contents, removed_entries
from ullage.errors import HistoryLost, LeaseLost
from ullage.events import Event, Uncompacted
from ullage.meter.meter import Meter
from ullage.meter.view import Entry
from ullage.store.refusals import history_lost
from ullage.store.store import Lease, SessionStore
from ullage.tasks import to_completion
from ullage.turns.loop import Loop, apply


async def load_contents(
    store: SessionStore, session: str, entries: Sequence[Entry]
) -> None:
    """Read the missing contents of these messages from the store."""
    missing = [entry for entry in entries if entry.content is None]
    if missing:
        put_contents(missing, await store.read_these(session, events_of(missing)))


async def load_for(event: Event, store: SessionStore, session: str, meter: Meter) -> None:
    """Read the contents that the fold of this event needs."""
    if meter._fold.needs_content(event):
        entries = list(meter._fold.view)
        if isinstance(event, Uncompacted):
            entries += removed_entries(meter._fold)
        await load_contents(store, session, entries)


def _follow(events: Iterable[Event], meter: Meter, causes: CauseFollower) -> None:
    for event in events:
        meter.apply(event)
        causes.follow(event, meter._fold)


class Ledger:
    """One session and its folds. Belongs to one event loop. ``listeners`` are called with each event after its fold.

    ``lease`` is ``None`` while another process may drive: the session can only be read then. ``write`` and ``catch_up``
    raise ``LeaseLost`` and ``StoreUnavailable``, and ``HistoryLost`` where folded events were lost by the database: the
    session has to be opened again then. Nothing of the call is stored then.
    """

    def __init__(
        self, store: SessionStore, session: str, meter: Meter, loop: Loop
    ) -> None:
        self.store = store
        self.session = session
        self.lease: Lease | None = None
        self.meter = meter
        self.loop = loop
        self.causes = CauseFollower()
        """Why calls paid again, and why the next one will: since this object folds, or of all once ``explain`` ran."""
        self._is_explained = not loop.seq
        self.listeners: list[Callable[[Event], None]] = []
        self.is_broken = False
        """An event could not be folded, or a folded one was lost: the session has to be opened again."""
        self._is_history_lost = False
        self.at = 0.0
        """The time of the last folded event; 0 before the first one that this object folds."""
        self._lock = asyncio.Lock()
        self._is_told = False
        """The store was read or written since the last ``keep_up``: either tells what others have stored."""
        self._is_loaded = False
        """Whether every message in view has its content; later ones always have."""

    @property
    def held(self) -> Lease:
        """The lease. Raises ``LeaseLost`` if there is none."""
        if self.lease is None:
            raise LeaseLost(f"The session {self.session} is not driven from here.")
        return self.lease

    async def write(
        self,
        events: Sequence[Event],
        *,
        exact: bool = False,
        durable: bool = False,
        ends_draft: str = "",
    ) -> bool:
        """Store and fold these events, after the commands that were stored before them.

        With ``exact`` they are stored only if no other event was stored since the last folded one; False means that
        another was, and it is folded. A write is completed and folded even if the caller is cancelled.
        """
        decided = self.loop.seq if exact else None
        return await to_completion(
            self._write(events, decided, durable=durable, ends_draft=ends_draft)
        )

    async def catch_up(self) -> None:
        """Fold the events that others have stored since."""
        await to_completion(self._catch_up())

    async def keep_up(self) -> None:
        """``catch_up``, unless a write or a read did the same since the last call."""
        async with self._whole():  # events that are being folded are waited for
            is_told = self._is_told
        if not is_told:
            await self.catch_up()
        self._is_told = False

    async def load(self, entries: Sequence[Entry] | None = None) -> None:
        """Read the missing contents of these messages in view, or of all of them."""
        if self._is_loaded:
            return
        async with self._lock:
            await load_contents(
                self.store,
                self.session,
                list(self.meter._fold.view) if entries is None else entries,
            )
            self._is_loaded = self._is_loaded or entries is None

    async def explain(self) -> Mapping[str, Cause]:
        """Why calls paid again, by their names. What this object did not fold itself is read once."""
        if not self._is_explained:
            meter, causes, after = Meter(), CauseFollower(), self.loop.seq
            events = await self.store.read(self.session)
            known = [event for event in events if event.seq <= after]
            await to_completion(asyncio.to_thread(_follow, known, meter, causes))
            async with self._lock:
                events = await self.store.read(self.session, after=after)
                known = [event for event in events if event.seq <= self.loop.seq]
                _follow(known, meter, causes)
                self.causes, self._is_explained = causes, True
        return self.causes.found

    async def has(self, seq: int) -> bool:
        """Whether the event is folded. Waits for a write in progress: its events are announced before their fold."""
        async with self._lock:
            return self.loop.seq >= seq

    @asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """A block in which no event is folded, so that another thread may read the folds. It must not write."""
        async with self._lock:
            yield

    async def _write(
        self,
        events: Sequence[Event],
        decided: int | None,
        *,
        durable: bool,
        ends_draft: str,
    ) -> bool:
        async with self._whole():
            exact = decided is not None
            if (
                exact and self.loop.seq != decided
            ):  # another event was folded before the lock was free
                return False
            stored = await self.store.append(
                self.held,
                events,
                after=self.loop.seq,
                exact=exact,
                durable=durable,
                ends_draft=ends_draft,
            )
            await self._fold(stored)
            return not exact or len(stored) == len(events)

    async def _catch_up(self) -> None:
        async with self._whole():
            found = await self.store.read(self.session, after=self.loop.seq, at=self.at)
            await self._fold(found)

    @asynccontextmanager
    async def _whole(self) -> AsyncIterator[None]:
        """A block that nothing else folds beside. Raises ``HistoryLost`` and, of incomplete folds, ``RuntimeError``."""
        async with self._lock:
            if self._is_history_lost:  # another caller noticed it
                raise history_lost(self.session, self.loop.seq)
            if self.is_broken:
                raise RuntimeError(
                    f"The folds of the session {self.session} are incomplete. Open it again."
                )
            try:
                yield
            except HistoryLost:
                self.is_broken = self._is_history_lost = True
                raise

    async def _fold(self, events: Sequence[Event]) -> None:
        self._is_told = self.is_broken = True
        for event in events:
            await load_for(event, self.store, self.session, self.meter)
            self.meter.apply(event)
            self.causes.follow(event, self.meter._fold)
            self.loop = apply(self.loop, event)
            self.at = event.at
            for listener in self.listeners:
                listener(event)
        self.is_broken = False
