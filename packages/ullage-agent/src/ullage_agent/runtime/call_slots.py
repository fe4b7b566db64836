"""Slots for model calls within a provider's rate limits, which all processes of a store share.

A process asks the store for a slot only while a limit is set, or was learnt from the provider's headers because little
of it was left or a call was refused. Otherwise it looks once a second, while it makes calls, whether another process
has learnt one.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Final

import msgspec

from ullage.codec.rate_headers import rate_headers
from ullage.envelope import RATE_WAIT_S
from ullage.errors import RateLimited, StoreUnavailable
from ullage.models.rate_limits import (
    CHUNK_S,
    Amounts,
    RateReport,
    RateSlot,
    RateState,
    SlotTaken,
    is_limited,
    is_low,
    take,
    updated,
)
from ullage.store.store import Revision, SessionStore, SharedKey
from ullage.tasks import to_completion
from ullage.usage import Usage
from ullage.wire.call import SlotWait
from ullage.wire.endpoints import Endpoint
from ullage_agent.runtime.policy import NEWEST_SHARE, NO_LIMIT_S, SOONEST_S, SPREAD_S
from ullage_agent.runtime.quotas import Clock

RATE: Final = "rate"
"""The kind of the values in the store. Their names hold a digest of the key, not the key."""

_state: Final = msgspec.json.Decoder(RateState)


class CallSlots:
    """The slots of one process, by key and model. Belongs to one event loop."""

    def __init__(self, store: SessionStore, *, clock: Clock = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._queues: dict[str, _Queue] = {}

    def for_call(
        self,
        endpoint: Endpoint,
        model: str,
        limits: Amounts,
        *,
        longest_s: float = RATE_WAIT_S,
    ) -> SharedSlot:
        """The slot of one call. ``limits`` are the operator's, per minute. Raises ``BadKey``.

        A call that would wait for more than ``longest_s`` seconds is refused.
        """
        name = name_of(endpoint, model)
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _Queue(self._store, name, self._clock)
        queue.limits = limits
        return SharedSlot(queue, longest_s, endpoint.provider or endpoint.base_url)


def name_of(endpoint: Endpoint, model: str) -> str:
    """The name of the value for a key and a model: providers limit each model on its own. Raises ``BadKey``."""
    key = "\n".join((endpoint.base_url, *endpoint.auth_header().values()))
    return f"{endpoint.provider} {model} {sha256(key.encode()).hexdigest()[:16]}"


class SharedSlot:
    """See ``wire.call.CallSlot``."""

    def __init__(self, queue: _Queue, longest_s: float, provider: str) -> None:
        self.cost: Amounts = {}
        self.promise: RateSlot | None = None
        """What the store promised; ``None`` before."""
        self.sent_at = 0.0
        """When the call may be sent, by the clock of the process."""
        self._queue = queue
        self._began_at = queue.clock()
        self._longest_s = longest_s
        self._provider = provider

    async def wait(self) -> SlotWait:
        """See ``CallSlot``. Raises ``RateLimited``, ``StoreUnavailable``."""
        if self.promise is None:
            self.cost = self.cost or self._queue.cost()
            await self._queue.ask(self)
        now = self._queue.clock()
        if self.promise is None:
            wait = self._queue.outlook(self)
        elif self.sent_at > now or not self.promise.wait_s:
            left_s = max(0.0, self.sent_at - now)
            wait = SlotWait(left_s, left_s)
        else:
            wait = await self._moved()
        if wait.sent_s and now + wait.sent_s > self._began_at + self._longest_s:
            raise RateLimited(
                f"The rate limit of {self._provider} is used up: this call would wait for "
                f"{now - self._began_at + wait.sent_s:,.0f} s, and at most {self._longest_s:,.0f} s are waited. "
                "It was not sent. Try again later.",
                retry_after_s=wait.sent_s,
            )
        return wait

    async def _moved(self) -> SlotWait:
        """The wait is over; refusals of other calls may have added to it."""
        assert self.promise is not None
        shifted_s = await self._queue.shifted_s()
        wait_s = max(0.0, shifted_s - self.promise.shifted_s)
        self.promise = self.promise._replace(wait_s=wait_s, shifted_s=shifted_s)
        self.sent_at = self._queue.clock() + wait_s
        return SlotWait(wait_s, wait_s)

    def heard(self, status: int, headers: Mapping[str, str]) -> None:
        """See ``CallSlot``."""
        self._queue.heard(headers, is_refused=status == 429)

    async def refused(self, wait_s: float) -> None:
        """See ``CallSlot``. Raises ``StoreUnavailable``."""
        self.promise = None
        self._began_at = self._queue.clock()
        await self._queue.refused(wait_s)

    async def give_back(self) -> None:
        """See ``CallSlot``."""
        await to_completion(self._queue.give_back(self))

    def ended(self, usage: Usage | None) -> None:
        """See ``CallSlot``."""
        self._queue.ended(usage, self.cost)


class _Queue:
    """One value of the store, as this process knows it.

    Calls of this process get their promises in the order in which they came: ``_line`` are those that wait for one.
    """

    def __init__(self, store: SessionStore, name: str, clock: Clock) -> None:
        self.limits: Amounts = {}
        self.clock = clock
        self._store = store
        self._key = SharedKey(RATE, name)
        self._lock = asyncio.Lock()
        self._line: list[SharedSlot] = []
        self._ask_at = float("-inf")
        """Before then the store gives no promise."""
        self._outlook = RateSlot(0.0, 0.0)
        self._outlook_at = 0.0
        """The last answer without a promise, and when it came."""
        self._report = RateReport()
        self._ahead: Amounts = {}
        self._ahead_until = 0.0
        self._known_until = float("-inf")
        self._is_limited = False
        self._mean: dict[str, float] = {}

    def cost(self) -> Amounts:
        """What a call will probably use."""
        return {**self._mean, "requests": 1.0}

    async def ask(self, slot: SharedSlot) -> None:
        """Have the store promise a slot to the calls that came first, until this one has its own or none is left."""
        async with self._lock:
            if slot.promise is None and slot not in self._line:
                is_first = not self._line
                if is_first and (
                    not await self._limited() or self._take_ahead(slot.cost)
                ):
                    slot.promise = RateSlot(0.0, 0.0)
                else:
                    self._line.append(slot)
        while slot.promise is None:
            async with self._lock:
                if slot.promise is not None or self.clock() < self._ask_at:
                    return
                await to_completion(self._serve_first())

    async def _serve_first(self) -> None:
        first = self._line[0]
        promise = await self._take(first.cost)
        now = self.clock()
        if not promise.is_promised:
            self._ask_at = now + promise.ask_s + SPREAD_S * random.random()
            self._outlook, self._outlook_at = promise, now
            return
        self._line.remove(first)
        first.promise, first.sent_at = promise, now + promise.wait_s

    def outlook(self, slot: SharedSlot) -> SlotWait:
        """How long a call of the line waits, as far as this process knows."""
        now = self.clock()
        before_s = self._outlook.pace_s * self._line.index(slot)
        ask_s = max(SOONEST_S, self._ask_at - now)
        sent_s = self._outlook_at + self._outlook.wait_s + before_s - now
        return SlotWait(max(ask_s, sent_s), ask_s)

    async def give_back(self, slot: SharedSlot) -> None:
        """The call of this slot is not sent."""
        async with self._lock:
            if slot in self._line:
                self._line.remove(slot)
            elif slot.promise is not None:
                self.returned(slot.cost)
                self._ask_at = float("-inf")
                with suppress(StoreUnavailable):  # the limit refills without it
                    await self._revise(_told)
            slot.promise = None

    async def refused(self, wait_s: float) -> None:
        """Have all calls of the key wait. Raises ``StoreUnavailable``."""
        async with self._lock:
            self.returned(self._ahead)
            self._ahead = {}
            self._report = self._report._replace(refused_s=wait_s)
            self._ask_at = float("-inf")
            await to_completion(self._revise(_told))

    async def shifted_s(self) -> float:
        """By how much refusals have moved slots until now."""
        return (await self._stored()).shifted_s

    def heard(self, headers: Mapping[str, str], *, is_refused: bool) -> None:
        limits, remaining = rate_headers(headers, time.time())
        if not (is_refused or is_low(limits, remaining)):
            return
        self._report = self._report._replace(learnt=limits, remaining=remaining)
        self._is_limited, self._known_until = True, self.clock() + NO_LIMIT_S

    def ended(self, usage: Usage | None, cost: Amounts) -> None:
        if usage is None or not usage.input:
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
        is_new = self.clock() < self._ahead_until
        if is_new and ahead and all(ahead[kind] >= cost.get(kind, 0.0) for kind in ahead):
            self._ahead = {kind: ahead[kind] - cost.get(kind, 0.0) for kind in ahead}
            return True
        self.returned(ahead)
        self._ahead = {}
        return False

    async def _limited(self) -> bool:
        if self.limits:
            return True
        if self.clock() >= self._known_until:
            self._is_limited = is_limited(await self._stored(), time.time())
            self._known_until = self.clock() + NO_LIMIT_S
        return self._is_limited

    async def _stored(self) -> RateState:
        values = await self._store.shared(RATE, [self._key.name])
        text = values.get(self._key.name, "")
        return _state.decode(text) if text else RateState()

    async def _take(self, cost: Amounts) -> RateSlot:
        promise = await self._revise(partial(_taken, cost=cost))
        self._ahead, self._ahead_until = promise.ahead, self.clock() + CHUNK_S
        return promise

    async def _revise(self, make: Callable[[RateState, float], SlotTaken]) -> RateSlot:
        """Store what this process has to report, and what ``make`` gives."""
        report, self._report = self._report, RateReport()
        limits = self.limits

        def change(before: tuple[str, ...], now: float) -> Revision[RateSlot]:
            had = _state.decode(before[0]) if before[0] else RateState()
            taken = make(updated(had, report, limits, now), now)
            return Revision((msgspec.json.encode(taken.state).decode(),), taken.slot)

        return await self._store.revise([self._key], change)


def _taken(state: RateState, now: float, *, cost: Amounts) -> SlotTaken:
    return take(state, cost, now)


def _told(state: RateState, now: float) -> SlotTaken:
    return SlotTaken(state, RateSlot(0.0, state.shifted_s))
