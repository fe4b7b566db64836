"""Notifies watchers of what was stored, in this process and in others."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from itertools import chain
from typing import NamedTuple

from ullage.errors import StoreUnavailable
from ullage.events import DraftPiece, Event
from ullage.store.store import StoreObserver

MOST_HELD = 1_000
"""The most changes that are held for a slow watcher; beyond that it reads the database instead."""


class Change(NamedTuple):
    """The items that one write stored in a session; ``seq`` is the last event's number after it.

    A change without items has to be read from the database: a released lease, a deleted session, what another process
    stored. Its ``seq`` is 0 where it is not known.
    """

    session: str
    seq: int = 0
    stored: tuple[Event | DraftPiece, ...] = ()

    @property
    def has_pieces(self) -> bool:
        """Whether it holds pieces of an answer; a change holds either these or events."""
        if not self.stored:
            return False
        first = self.stored[0]
        return isinstance(first, DraftPiece)


class Subscription:
    """The news of one watcher. All methods are called in its event loop.

    Without ``has_pieces`` pieces that stream wake it only where they tell of an event that no news told of.
    """

    def __init__(self, session: str, *, has_pieces: bool = True) -> None:
        self.session = session
        self.has_pieces = has_pieces
        self._seq = 0
        """The newest event, by the last news."""
        self.loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._held: deque[Change] = deque()
        self._must_look = False
        self._is_closed = False

    async def wait(self, timeout_s: float | None = None) -> bool:
        """See ``Watch.wait``. Raises ``StoreUnavailable`` once the store was closed."""
        if timeout_s is None:
            await self._news.wait()
        elif not self._news.is_set():
            try:
                async with asyncio.timeout(timeout_s):
                    await self._news.wait()
            except TimeoutError:
                return False
        if self._is_closed:
            raise StoreUnavailable(
                "The store was closed while a session was watched. Open it again to continue."
            )
        self._news.clear()
        return True

    def take(self) -> tuple[list[Change], bool]:
        """The changes since the last call, and whether the database holds more."""
        held, must_look = list(self._held), self._must_look
        self._held.clear()
        self._must_look = False
        return held, must_look

    def newest(self) -> int | None:
        """See ``Watch.newest``. Not to be mixed with ``take``."""
        held, must_look = self.take()
        return None if must_look else max((change.seq for change in held), default=0)

    def hear(self, change: Change) -> None:
        """A change of this process, or of another one."""
        tells_of_event = not change.seq or change.seq != self._seq
        # Not the highest: whoever can connect to the database can tell of one that there will never be.
        self._seq = change.seq or self._seq
        if not (self.has_pieces or tells_of_event) and (
            change.has_pieces or not change.stored
        ):
            return
        if len(self._held) >= MOST_HELD:
            self._held.clear()
            self._must_look = True
        elif not change.stored:
            self._must_look = True
        else:
            self._held.append(change)
        self._news.set()

    def end(self) -> None:
        self._is_closed = True
        self._news.set()


_News = tuple[Subscription, Change]


class Watchers:
    """All subscriptions of one store. Safe to call from any thread. ``observer`` is told of the store's own doings."""

    def __init__(self) -> None:
        self.observer = StoreObserver()
        self._lock = threading.Lock()
        self._by_session: dict[str, list[Subscription]] = {}

    @asynccontextmanager
    async def watching(
        self,
        session: str,
        begin: Callable[[], Awaitable[object]],
        *,
        has_pieces: bool,
    ) -> AsyncIterator[Subscription]:
        """The news of a session. ``begin`` is awaited with the subscription in place, so that no change is missed."""
        subscription = Subscription(session, has_pieces=has_pieces)
        self.add(subscription)
        try:
            await begin()
            yield subscription
        finally:
            self.remove(subscription)

    def add(self, subscription: Subscription) -> None:
        with self._lock:
            self._by_session.setdefault(subscription.session, []).append(subscription)

    def remove(self, subscription: Subscription) -> None:
        with self._lock:
            remaining = self._by_session.get(subscription.session, [])
            if subscription in remaining:
                remaining.remove(subscription)
            if not remaining:
                self._by_session.pop(subscription.session, None)

    def is_listening(self) -> bool:
        return bool(self._by_session)

    def is_watched(self, session: str) -> bool:
        return session in self._by_session

    def sessions(self) -> list[str]:
        """The ids of the sessions that are watched."""
        with self._lock:
            return list(self._by_session)

    def tell(self, changes: Iterable[Change]) -> None:
        """These were committed, by this store or by another process."""
        news: list[_News] = []
        with self._lock:
            for change in changes:
                for subscription in self._by_session.get(change.session, ()):
                    news.append((subscription, change))
        _deliver(news)

    def end(self) -> None:
        """Ends all subscriptions, because the store closes."""
        with self._lock:
            subscriptions = list(chain.from_iterable(self._by_session.values()))
        for subscription in subscriptions:
            with suppress(RuntimeError):  # the loop is closed and has no listeners
                subscription.loop.call_soon_threadsafe(subscription.end)


def _deliver(news: list[_News]) -> None:
    """Wake each event loop once, however many of its subscriptions have news."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_News]] = {}
    for subscription, change in news:
        by_loop.setdefault(subscription.loop, []).append((subscription, change))
    for loop, its_news in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed and has no listeners
            loop.call_soon_threadsafe(_hear_all, its_news)


def _hear_all(news: list[_News]) -> None:
    for subscription, change in news:
        subscription.hear(change)
