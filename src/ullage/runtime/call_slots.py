"""Slots for model calls within a provider's rate limits, which all processes of a store share.

A process asks the store for a slot only while a limit is set, or was learnt from the provider's headers because little
of it was left or a call was refused. Otherwise it looks once a second, while it makes calls, whether another process
has learnt one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec

from ullage.codec.rate_headers import rate_headers
from ullage.models.rate_limits import (
    CHUNK_S,
    Amounts,
    RateReport,
    RateSlot,
    RateState,
    is_limited,
    is_low,
    take,
    updated,
)
from ullage.runtime.quotas import Clock
from ullage.store.store import Revision, SharedKey, Store
from ullage.usage import Usage
from ullage.wire.endpoints import Endpoint

RATE: Final = "rate"
"""The kind of the values in the store. Their names hold a digest of the key, not the key."""

KNOWN_S: Final = 1.0
"""Seconds for which a process believes that no limit is shared."""

NEWEST_SHARE: Final = 0.3
"""The weight of a call in the mean of what calls use."""

_state: Final = msgspec.json.Decoder(RateState)


class CallSlots:
    """The slots of one process, by key and model. Belongs to one event loop."""

    def __init__(self, store: Store, *, clock: Clock = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._queues: dict[str, _Queue] = {}

    def for_call(self, endpoint: Endpoint, model: str, limits: Amounts) -> SharedSlot:
        """The slot of one call. ``limits`` are the operator's, per minute. Raises ``BadKey``."""
        name = name_of(endpoint, model)
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _Queue(self._store, name, self._clock)
        queue.limits = limits
        return SharedSlot(queue)


def name_of(endpoint: Endpoint, model: str) -> str:
    """The name of the value for a key and a model: providers limit each model on its own. Raises ``BadKey``."""
    key = "\n".join((endpoint.base_url, *endpoint.auth_header().values()))
    return f"{endpoint.provider} {model} {sha256(key.encode()).hexdigest()[:16]}"


class SharedSlot:
    """See ``wire.call.CallSlot``."""

    def __init__(self, queue: _Queue) -> None:
        self._queue = queue
        self._slot: RateSlot | None = None
        self._is_told = False
        self._cost: Amounts = {}

    async def wait_s(self) -> float:
        """See ``CallSlot``. Raises ``StoreUnavailable``."""
        if self._slot is None:
            self._cost = self._queue.cost()
            self._slot = await self._queue.take(self._cost)
        if not self._is_told:
            self._is_told = True
            return self._slot.wait_s
        if not self._slot.wait_s:
            return 0.0
        shifted_s = await self._queue.shifted_s()
        wait = max(0.0, shifted_s - self._slot.shifted_s)
        self._slot = self._slot._replace(wait_s=wait, shifted_s=shifted_s)
        return wait

    def heard(self, status: int, headers: Mapping[str, str]) -> None:
        """See ``CallSlot``."""
        self._queue.heard(headers, is_refused=status == 429)

    async def refused(self, wait_s: float, *, again: bool) -> float:
        """See ``CallSlot``. Raises ``StoreUnavailable``."""
        self._slot = await self._queue.refused(wait_s, self._cost if again else {})
        self._is_told = False
        return self._slot.wait_s

    def give_back(self) -> None:
        """See ``CallSlot``."""
        self._queue.returned(self._cost)
        self._slot = None

    def ended(self, usage: Usage | None) -> None:
        """See ``CallSlot``."""
        self._queue.ended(usage, self._cost)


class _Queue:
    """One value of the store, as this process knows it."""

    def __init__(self, store: Store, name: str, clock: Clock) -> None:
        self.limits: Amounts = {}
        self._store = store
        self._key = SharedKey(RATE, name)
        self._clock = clock
        self._lock = asyncio.Lock()
        self._report = RateReport()
        self._ahead: dict[str, float] = {}
        self._ahead_until = 0.0
        self._known_until = float("-inf")
        self._is_limited = False
        self._mean: dict[str, float] = {}

    def cost(self) -> Amounts:
        """What a call will probably use."""
        return {**self._mean, "requests": 1.0}

    async def take(self, cost: Amounts) -> RateSlot:
        async with self._lock:
            if not await self._limited():
                return RateSlot(0.0, 0.0, {})
            if self._take_ahead(cost):
                return RateSlot(0.0, 0.0, {})
            return await self._revise(cost)

    async def refused(self, wait_s: float, cost: Amounts) -> RateSlot:
        async with self._lock:
            self.returned(self._ahead)
            self._report = self._report._replace(refused_s=wait_s)
            return await self._revise(cost)

    async def shifted_s(self) -> float:
        """By how much refusals have moved slots until now."""
        return (await self._stored()).shifted_s

    def heard(self, headers: Mapping[str, str], *, is_refused: bool) -> None:
        limits, remaining = rate_headers(headers, time.time())
        if not (is_refused or is_low(limits, remaining)):
            return
        self._report = self._report._replace(learnt=limits, remaining=remaining)
        self._is_limited, self._known_until = True, self._clock() + KNOWN_S

    def ended(self, usage: Usage | None, cost: Amounts) -> None:
        if usage is None or usage.input is None:
            return
        sent = float(usage.input - (usage.cache_read or 0))
        written = float(usage.output or 0)
        used = {
            "input_tokens": sent,
            "output_tokens": written,
            "tokens": sent + written,
        }
        self.returned({kind: cost.get(kind, 0.0) - used[kind] for kind in used})
        for kind, amount in used.items():
            before = self._mean.get(kind, amount)
            self._mean[kind] = before + NEWEST_SHARE * (amount - before)

    def returned(self, amounts: Amounts) -> None:
        """Note what is to be given back with the next change of the value."""
        if not self._is_limited and not self.limits:
            return
        before = self._report.returned
        kinds = before.keys() | amounts.keys()
        after = {kind: before.get(kind, 0.0) + amounts.get(kind, 0.0) for kind in kinds}
        self._report = self._report._replace(returned=after)

    def _take_ahead(self, cost: Amounts) -> bool:
        """Whether what was taken ahead is enough for this call too. It is given back when it is too old."""
        ahead = self._ahead
        is_new = self._clock() < self._ahead_until
        if is_new and ahead and all(ahead[kind] >= cost.get(kind, 0.0) for kind in ahead):
            self._ahead = {kind: ahead[kind] - cost.get(kind, 0.0) for kind in ahead}
            return True
        self.returned(ahead)
        self._ahead = {}
        return False

    async def _limited(self) -> bool:
        if self.limits:
            return True
        if self._clock() >= self._known_until:
            self._is_limited = is_limited(await self._stored(), time.time())
            self._known_until = self._clock() + KNOWN_S
        return self._is_limited

    async def _stored(self) -> RateState:
        values = await self._store.shared(RATE, [self._key.name])
        text = values.get(self._key.name, "")
        return _state.decode(text) if text else RateState()

    async def _revise(self, cost: Amounts) -> RateSlot:
        report, self._report = self._report, RateReport()
        change = partial(_changed, report=report, limits=self.limits, cost=cost)
        slot = await self._store.revise([self._key], change)
        self._ahead, self._ahead_until = dict(slot.ahead), self._clock() + CHUNK_S
        return slot


def _changed(
    before: tuple[str, ...],
    now: float,
    *,
    report: RateReport,
    limits: Amounts,
    cost: Amounts,
) -> Revision[RateSlot]:
    """See ``Revise``."""
    had = _state.decode(before[0]) if before[0] else RateState()
    taken = take(updated(had, report, limits, now), cost, now)
    return Revision((msgspec.json.encode(taken.state).decode(),), taken.slot)
