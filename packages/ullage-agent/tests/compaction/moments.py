"""The moments of a compaction, made reachable from outside the product: its hooks, store, connection and strategies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, cast

import httpx2

from ullage.context.situation import Situation
from ullage.context.strategy import Proposal, Strategy, SummaryAnswer
from ullage.events import CancelAsked, Event
from ullage.meter.reading import Reading
from ullage.store.store import Lease, SessionStore
from ullage_agent.runtime.hooks import Hook

PIECE: Final = "a piece came"
IN_THE_OPEN: Final = (
    "before the hooks",
    "behind the hooks",
    "a request is ready",
    "its head came",
    PIECE,
    "it is whole",
)
"""Kinds of moment at which the compaction waits for somebody else, so that a cancel ends it right there. At all others
it writes or proves, which a cancel waits for."""


class Moments:
    """Counts the moments that are reached while it ``is_armed``, and holds whoever reaches the one named ``at``.

    A moment is its kind and its number of that kind, from 1. ``held`` is set when it is reached; whoever is held goes
    on once ``go`` is, or is cancelled. ``cancels`` is set when a cancel is on its way to the store, before any later
    write of the driver.
    """

    def __init__(self, at: str = "") -> None:
        self.at = at
        self.is_armed = False
        self.reached: list[str] = []
        self.held = asyncio.Event()
        self.go = asyncio.Event()
        self.cancels = asyncio.Event()
        self._counts = Counter[str]()

    async def reach(self, kind: str) -> None:
        if not self.is_armed:
            return
        self._counts[kind] += 1
        self.reached.append(f"{kind}, {self._counts[kind]}")
        if self.reached[-1] == self.at:
            self.held.set()
            await self.go.wait()


class FakeHoldingStore:
    """A store with a moment before and after each write of the driver, which tells of a cancel."""

    def __init__(self, store: SessionStore, moments: Moments) -> None:
        self._store = store
        self._moments = moments

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(
        self, lease: Lease, events: Sequence[Event], **more: Any
    ) -> Sequence[Event]:
        kinds = " ".join(type(event).__name__ for event in events)
        await self._moments.reach(f"before the write of {kinds}")
        stored = await self._store.append(lease, events, **more)
        await self._moments.reach(f"behind the write of {kinds}")
        return stored

    async def command(self, session: str, events: Sequence[Event]) -> Sequence[Event]:
        if any(isinstance(event, CancelAsked) for event in events):
            self._moments.cancels.set()
        return await self._store.command(session, events)


def holding(store: SessionStore, moments: Moments) -> SessionStore:
    """The store with its moments."""
    return cast(SessionStore, FakeHoldingStore(store, moments))


class FakeHoldingTransport(httpx2.AsyncHTTPTransport):
    """A connection with a moment before each request but a count, behind its answer's head, and behind each piece."""

    def __init__(self, moments: Moments) -> None:
        super().__init__()
        self._moments = moments

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if "count" in request.url.path.lower():
            # It runs beside the compaction, which goes on when it is held, and comes early or late.
            return await super().handle_async_request(request)
        await self._moments.reach("a request is ready")
        response = await super().handle_async_request(request)
        try:
            await self._moments.reach("its head came")
        except BaseException:
            await response.aclose()
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Held(response.stream, self._moments)
        return response


class _Held(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, moments: Moments) -> None:
        self._stream = stream
        self._moments = moments

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece
            await self._moments.reach(PIECE)
        await self._moments.reach("it is whole")

    async def aclose(self) -> None:
        await self._stream.aclose()


class HoldingHook(Hook):
    """A hook with a moment before a compaction and behind it."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments

    async def before_compaction(self, reading: Reading, trigger: str) -> tuple[str, ...]:
        await self._moments.reach("before the hooks")
        return ()

    async def after_compaction(self, before: Reading, after: Reading) -> None:
        await self._moments.reach("behind the hooks")


class HoldingStrategy:
    """A strategy with a moment whenever it is asked: it works in a thread, which no cancel ends."""

    def __init__(self, strategy: Strategy, moments: Moments) -> None:
        self.name = strategy.name
        self._strategy = strategy
        self._moments = moments
        self._loop = asyncio.get_running_loop()

    def calls_at_most(self, situation: Situation) -> int:
        return self._strategy.calls_at_most(situation)

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        asked = self._moments.reach(f"{self.name} is asked with {len(answers)} answers")
        asyncio.run_coroutine_threadsafe(asked, self._loop).result()
        return self._strategy.propose(situation, answers)
