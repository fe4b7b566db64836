"""A dispatch for two or three servers of one store without an engine: leases, calls for a driver, and the sweep."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Protocol

from ullage.errors import StoreUnavailable
from ullage.tasks import background
from ullage_agent.runtime.dispatch import Drive, Embedded

log = logging.getLogger("ullage.agent")

LISTEN_AGAIN_S = 1.0
"""Seconds before calls are listened for again after the database was away."""


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


class LeaseDispatch(Embedded):
    """Drives in the process that wakes, if it ``serves`` the session's place; otherwise in a process that hears the
    call.

    The store's lease keeps two processes apart that heard the same call. Without ``calls``, as with SQLite, and after a
    lost one, the sweep of the processes that serve finds the session: see ``Attending``.
    """

    def __init__(
        self, calls: DriverCalls | None = None, *, serves: bool = True, place: str = ""
    ) -> None:
        super().__init__(place)
        self._calls = calls
        self._serves = serves

    async def wake(self, session: str, why: int, place: str = "") -> None:
        """See ``Dispatch.wake``."""
        if self._serves and place == self.place:
            self._wake_here(session)
        elif self._calls is not None:
            try:
                await self._calls.call(session, place)
            except StoreUnavailable as problem:
                log.warning("A call for a driver of %s was lost: %s", session, problem)

    async def serve(self, drive: Drive) -> None:
        """See ``Dispatch.serve``."""
        async with background(self._hear()):
            await super().serve(drive)

    async def _hear(self) -> None:
        while self._calls is not None:
            try:
                async for session in self._calls.heard(self.place):
                    if session.isprintable():  # whoever reaches the database may call
                        self._wake_here(session)
            except StoreUnavailable as problem:
                log.warning("Calls for drivers can't be heard: %s", problem)
            await asyncio.sleep(LISTEN_AGAIN_S)

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
