"""Where a session is driven: a wake says that a session has work, and a dispatch has it driven somewhere.

A wake carries no content. What there is to do is in the ledger, and a driver that finds nothing returns at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple, Protocol

from ullage.errors import StoreUnavailable
from ullage.tasks import start, stop
from ullage_agent.runtime.policy import LISTEN_AGAIN_S, LOST_WAKE_S

log = logging.getLogger("ullage.agent")

Drive = Callable[[str], Awaitable[bool]]
"""Drives a session until it rests, waits for a person, or has another driver. Begins at the call; what it returns ends
with it and raises nothing but a cancel, which stops the driver. False: the same may succeed in another process, or
later."""


class ListenAddress(NamedTuple):
    """Where a worker listens for Restate."""

    host: str
    port: int


class Dispatch(Protocol):
    """Has woken sessions driven. It orders nothing and excludes nothing: the ledger's queue and its lease do."""

    place: str
    """The place whose sessions ``serve`` has driven here, and where new ones are begun; empty: those without one."""

    sweep_s: float
    """The longest time between two searches for lost wakes, in seconds."""

    async def wake(self, session: str, why: int, place: str = "") -> None:
        """Have this session of this place driven at least once after this call. ``why`` is its event that asks for it:
        the same wake again changes nothing."""
        ...

    async def serve(self, drive: Drive) -> None:
        """Drive the woken sessions of ``place``, each once at a time, until cancelled. That cancels the drives too."""
        ...

    async def problem(self) -> str:
        """Why a wake would reach nobody now; empty if nothing is known to be wrong."""
        ...

    async def close(self) -> None:
        """Let connections go. Wakes may follow: they connect again."""
        ...


class DriverCalls(Protocol):
    """Calls for a driver between the processes of one store. A call may be lost, and several processes may hear it."""

    async def call(self, session: str, place: str) -> None:
        """Ask the processes that listen for this place to drive this session. Raises ``StoreUnavailable``."""
        ...

    def heard(self, place: str) -> AsyncIterator[str]:
        """The sessions of this place that any process calls a driver for, from the first step of the iteration on.

        Raises ``StoreUnavailable`` when the connection ends.
        """
        ...

    async def check(self) -> None:
        """Raises ``StoreUnavailable`` unless a call would be sent now."""
        ...

    async def close(self) -> None:
        """Let the connection go."""
        ...


class Embedded:
    """Drives in the process that wakes, if it ``serves`` the session's place; otherwise in one that hears the call.

    The store's lease keeps two processes apart that heard the same call. Without ``calls``, as with SQLite, and after a
    lost one, the sweep of the processes that serve finds the session: see ``Host``. Wakes that came before ``serve``
    are carried out by it.
    """

    sweep_s = LOST_WAKE_S

    def __init__(
        self, place: str = "", calls: DriverCalls | None = None, *, serves: bool = True
    ) -> None:
        self.place = place
        self._calls = calls
        self._serves = serves
        self._drive: Drive | None = None
        self._running: dict[str, asyncio.Task[bool]] = {}
        self._again: set[str] = set()
        """Sessions to drive once more: woken while they were driven, or before there was a ``serve``."""

    async def wake(self, session: str, why: int, place: str = "") -> None:
        """See ``Dispatch.wake``."""
        if self._serves and place == self.place:
            self._wake_here(session)
        elif self._calls is not None:
            try:
                await self._calls.call(session, place)
            except StoreUnavailable as problem:
                log.warning("A call for a driver of %s was lost: %s", session, problem)

    def _wake_here(self, session: str) -> None:
        if self._drive is None or session in self._running:
            self._again.add(session)
        else:
            self._begin(session, self._drive)

    def _begin(self, session: str, drive: Drive) -> None:
        self._again.discard(session)
        running = start(drive(session), name=f"drives {session}")
        self._running[session] = running
        running.add_done_callback(lambda _: self._ended(session))

    def _ended(self, session: str) -> None:
        del self._running[session]
        if self._drive is not None and session in self._again:
            self._begin(session, self._drive)

    async def serve(self, drive: Drive) -> None:
        """See ``Dispatch.serve``."""
        self._drive = drive
        for session in tuple(self._again):
            self._begin(session, drive)
        try:
            await self._hear()
        finally:
            self._drive = None
            await stop(*self._running.values())

    async def _hear(self) -> None:
        while self._calls is not None:
            try:
                async for session in self._calls.heard(self.place):
                    if session.isprintable():  # whoever reaches the database may call
                        self._wake_here(session)
            except StoreUnavailable as problem:
                log.warning("Calls for drivers can't be heard: %s", problem)
            await asyncio.sleep(LISTEN_AGAIN_S)
        await asyncio.Event().wait()

    async def problem(self) -> str:
        """See ``Dispatch.problem``."""
        try:
            if self._calls is not None:
                await self._calls.check()
        except StoreUnavailable as problem:
            return f"Calls for drivers can't be sent or heard: {problem}"
        return ""

    async def close(self) -> None:
        """See ``Dispatch.close``."""
        if self._calls is not None:
            await self._calls.close()
