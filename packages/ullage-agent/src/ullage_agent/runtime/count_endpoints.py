"""Which endpoints count requests, and how: found by asking once, and remembered.

A server without a count endpoint is not asked again for a week, by any session on this machine; one that fails is left
alone for a while. Nothing here raises for a count that can't be had.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from ullage.codec.blocks import PLAIN, Options
from ullage.codec.wire import CountEndpoint
from ullage.codec.wires import wire_named
from ullage.errors import NoAnswer, NotFound, ProviderError, UllageError
from ullage.messages import Request
from ullage.meter.fingerprint import digest
from ullage.reasoning import ReasoningPolicy
from ullage.store.counts import CountStore, KnownCounts, KnownEndpoint
from ullage.wire.client import Client
from ullage.wire.counting import count
from ullage.wire.endpoints import Endpoint
from ullage_agent.runtime.policy import MISSING_S, PAUSE_S

log = logging.getLogger("ullage.agent")

_MISSING: Final = (404, 405, 410, 501)


@dataclass(slots=True)
class CountEndpoints:
    """What the sessions of an agent know of count endpoints. Belongs to one event loop.

    Without a ``store`` nothing is kept for later ones. ``clock`` gives seconds since 1970.
    """

    client: Client
    clock: Callable[[], float]
    store: CountStore | None = None
    _known: KnownCounts | None = None
    _left_until: dict[str, float] = field(default_factory=dict)
    """When an endpoint that failed may be asked again."""

    async def known(self) -> KnownCounts:
        """What is stored. It is read once; two that ask at the same time both wait for it."""
        if self._known is None:
            stored = KnownCounts()
            if self.store is not None:
                with suppress(UllageError):
                    stored = await asyncio.to_thread(self.store.read)
            if self._known is None:
                self._known = stored
        return self._known

    async def keep(self, new: KnownCounts) -> None:
        """Remember these, in the store as well. What can't be written is kept in memory alone.

        After a cancel the store may have them alone, and never the memory alone.
        """
        if self.store is not None:
            try:
                await asyncio.to_thread(self.store.add, new)
            except UllageError as problem:
                log.debug("%s", problem)
        self._known = (await self.known()).plus(new)

    async def count(
        self,
        request: Request,
        endpoint: Endpoint,
        *,
        policy: ReasoningPolicy,
        options: Options = PLAIN,
    ) -> int | None:
        """The tokens of a request as its provider counts them; ``None`` where that can't be had in time.

        Safe to cancel: nothing is remembered of a count that was cancelled.
        """
        place, failed = place_of(endpoint, request.model), False
        ways = await self._ways(endpoint, request.model)
        if not ways:
            return None
        try:
            for way in ways:
                try:
                    tokens = await count(
                        request,
                        endpoint,
                        way,
                        client=self.client,
                        policy=policy,
                        options=options,
                    )
                except ProviderError as problem:
                    log.debug("No count by %s: %s", way.name, problem)
                    failed = failed or not (
                        isinstance(problem, NotFound) or problem.status in _MISSING
                    )
                    if isinstance(problem, NoAnswer):
                        break
                    continue
                await self._works(place, way)
                return tokens
        except UllageError as problem:  # a request that can't be sent at all
            log.debug("No count: %s", problem)
            return None
        if failed:
            self._left_until[place] = self.clock() + PAUSE_S
        else:
            await self.keep(_found(place, KnownEndpoint(way="", at=self.clock())))
        return None

    async def _ways(self, endpoint: Endpoint, model: str) -> tuple[CountEndpoint, ...]:
        """The ways to try: the one that is known to work, none, or all.

        Another version may know other ways, and a clock may have been wrong.
        """
        place, now = place_of(endpoint, model), self.clock()
        if now < self._left_until.get(place, 0.0):
            return ()
        ways = wire_named(endpoint.wire).counts
        known = (await self.known()).endpoints.get(place)
        if known is None:
            return ways
        for way in ways:
            if way.name == known.way:
                return (way,)
        is_missing = not known.way and known.at <= now < known.at + MISSING_S
        return () if is_missing else ways

    async def _works(self, place: str, way: CountEndpoint) -> None:
        known = (await self.known()).endpoints.get(place)
        if known is None or known.way != way.name:
            await self.keep(_found(place, KnownEndpoint(way=way.name, at=self.clock())))


def place_of(endpoint: Endpoint, model: str) -> str:
    """Names one model at one address, without telling the address."""
    return digest(endpoint.base_url, endpoint.wire, model)


def _found(place: str, endpoint: KnownEndpoint) -> KnownCounts:
    return KnownCounts(endpoints={place: endpoint})
