"""Finds the sessions of a store that have work and no living driver, and wakes them."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ullage.errors import UllageError
from ullage.store.store import Store
from ullage_agent.runtime.dispatch import LOST_WAKE_S

log = logging.getLogger("ullage.agent")

SHORTEST_SHARE: Final = 0.45
"""The shortest pause between two sweeps as a share of the longest: each is drawn anew, so that several servers of a
store rarely sweep at once."""

AT_ONCE: Final = 100
"""Sessions that one sweep wakes: what one server takes over is opened in memory."""

RETRY_S: Final = 30.0
"""Seconds for which a session is left alone after it could not be driven here, as where its settings can't be used."""


class Attending:
    """Wakes the sessions of ``store`` that are due and have no driver. ``wake`` gets the id, the last event and the
    place.

    It searches the sessions of ``places``, without them those of all places. ``pause_s`` is the longest time between
    two sweeps, ``room`` how many sessions one of them may wake.
    """

    def __init__(
        self,
        store: Store,
        wake: Callable[[str, int, str], Awaitable[None]],
        *,
        places: Sequence[str] | None = None,
        pause_s: float = LOST_WAKE_S,
        room: Callable[[], int] = lambda: AT_ONCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._wake = wake
        self._places = places
        self._pause_s = pause_s
        self._room = room
        self._clock = clock
        self._failed: dict[str, float] = {}
        self._sweeps = 0
        self._woken: dict[str, int] = {}
        """The last sweep that woke each of those that still wait, as where their place has no worker."""
        self.woken = 0
        """How many sessions it has woken."""

    def failed(self, session: str) -> None:
        """Leave this session alone for ``RETRY_S``."""
        self._failed[session] = self._clock()

    async def run(self) -> None:
        """Sweep until cancelled. A store that fails is asked again."""
        while True:
            try:
                woken = await self.sweep()
            except UllageError as problem:
                log.warning("Unfinished sessions can't be found: %s", problem)
            else:
                if woken:
                    log.info("Resuming %d sessions: %s", len(woken), ", ".join(woken))
            share = random.uniform(SHORTEST_SHARE, 1.0)  # noqa: S311
            await asyncio.sleep(share * self._pause_s)

    async def sweep(self) -> list[str]:
        """Wake them once; returns their ids. Raises ``StoreUnavailable``.

        Those that earlier sweeps woke come last, the latest woken last of all: any number of sessions that no driver
        takes delays no other.
        """
        now = self._clock()
        for session, at in tuple(self._failed.items()):
            if now - at >= RETRY_S:
                del self._failed[session]
        woken: list[str] = []
        most = min(AT_ONCE, self._room())
        if most <= 0:
            return woken
        limit = most + len(self._failed) + len(self._woken)
        found = await self._store.unattended(limit, self._places)
        can = [each for each in found if each.id not in self._failed]
        waiting = {each.id for each in can}
        self._woken = {name: at for name, at in self._woken.items() if name in waiting}
        chosen = sorted(can, key=lambda each: self._woken.get(each.id, 0))[:most]
        self._sweeps += 1
        for each in chosen:
            await self._wake(each.id, each.seq, each.place)
            woken.append(each.id)
        self._woken.update(dict.fromkeys(woken, self._sweeps))
        self.woken += len(woken)
        return woken
