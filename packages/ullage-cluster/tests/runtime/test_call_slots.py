"""Slots for calls, given by a store that several processes share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
import pytest

from tests.agents import haiku
from tests.store.fixtures import new_database, new_place, place, store
from ullage.errors import RateLimited
from ullage.events import CallRetried
from ullage.models.rate_limits import Bucket, RateState
from ullage.store.store import Revise, Revision, SessionStore, SharedKey
from ullage.usage import Usage
from ullage.wire.endpoints import Endpoint, Key
from ullage_agent.runtime.call_slots import RATE, CallSlots, SharedSlot, name_of
from ullage_agent.runtime.hosting import Host
from ullage_agent.runtime.policy import NO_LIMIT_S
from ullage_simulators import running
from ullage_simulators.scenario import read

__all__ = ["new_database", "new_place", "place", "store"]

T = TypeVar("T")

ENDPOINT = Endpoint(
    provider="anthropic",
    wire="messages",
    base_url="https://api.example/v1",
    key=Key("sk-secret"),
    auth="x-api-key",
)


class FakeCountingStore:
    """A store that counts its reads and writes of shared values."""

    def __init__(self, inner: SessionStore) -> None:
        self._inner = inner
        self.counts: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def shared(self, kind: str, names: Sequence[str] | None = None) -> Any:
        self.counts["read"] += kind == RATE
        return await self._inner.shared(kind, names)

    async def revise(self, keys: Sequence[SharedKey], change: Revise[T]) -> T:
        self.counts["write"] += keys[0].kind == RATE
        return await self._inner.revise(keys, change)


class FakeStillStore:
    """A store whose clock stands still, however long a busy machine takes from one call to the next."""

    def __init__(self, inner: SessionStore) -> None:
        self._inner = inner
        self._now: float | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def revise(self, keys: Sequence[SharedKey], change: Revise[T]) -> T:
        def at_one_time(before: tuple[str, ...], now: float) -> Revision[T]:
            if self._now is None:
                self._now = now
            return change(before, self._now)

        return await self._inner.revise(keys, at_one_time)


@pytest.fixture
def still(store: SessionStore) -> SessionStore:
    """See ``FakeStillStore``."""
    return cast(SessionStore, FakeStillStore(store))


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def slot_of(slots: CallSlots, **limits: float) -> SharedSlot:
    return slots.for_call(ENDPOINT, "claude", limits)


def headers(left: int, most: int = 60) -> dict[str, str]:
    begin = "anthropic-ratelimit-requests-"
    return {f"{begin}limit": str(most), f"{begin}remaining": str(left)}


async def wait_of(slot: SharedSlot) -> float:
    return (await slot.wait()).sent_s


async def refuse(slot: SharedSlot, wait_s: float) -> float:
    await slot.refused(wait_s)
    return await wait_of(slot)


async def test_calls_without_a_limit_write_nothing_and_rarely_read(
    store: SessionStore,
) -> None:
    counting, clock = FakeCountingStore(store), FakeClock()
    slots = CallSlots(counting, clock=clock)
    for _ in range(100):
        slot = slot_of(slots)
        assert await wait_of(slot) == 0
        slot.heard(200, headers(59))
        slot.ended(Usage(input=10, output=10))
    assert counting.counts == {"read": 1}
    clock.now += NO_LIMIT_S
    await slot_of(slots).wait()
    assert counting.counts == {"read": 2}


async def test_a_refusal_at_one_process_has_another_one_wait(still: SessionStore) -> None:
    clock = FakeClock()
    here, there = CallSlots(still, clock=clock), CallSlots(still, clock=clock)
    assert await wait_of(slot_of(there)) == 0
    slot = slot_of(here)
    assert await wait_of(slot) == 0
    slot.heard(429, headers(0))
    again = await refuse(slot, 20.0)
    assert 19 < again <= 20 and await wait_of(slot) == again
    clock.now += NO_LIMIT_S
    other = await wait_of(slot_of(there))
    assert again < other < 30
    apart = there.for_call(ENDPOINT, "another model", {})
    assert await wait_of(apart) == 0


async def test_a_slot_moves_with_a_refusal_while_it_is_waited_for(
    still: SessionStore,
) -> None:
    clock = FakeClock()
    slots = CallSlots(still, clock=clock)
    first = slot_of(slots)
    await first.wait()
    first.heard(429, headers(0))
    await refuse(first, 5.0)
    waiting = slot_of(slots)
    wait = await waiting.wait()
    assert wait.ask_s == wait.sent_s > 5
    await slot_of(slots).refused(100.0)
    clock.now += wait.ask_s
    moved = await waiting.wait()
    assert 90 < moved.sent_s <= 100
    clock.now += moved.ask_s
    assert await wait_of(waiting) == 0


async def waiting_calls(slots: CallSlots, **limits: float) -> list[SharedSlot]:
    """A hundred calls that wait for a limit that was just used up."""
    await slot_of(slots, **limits).refused(0.0)
    calls = [slot_of(slots, **limits) for _ in range(100)]
    for call in calls:
        await call.wait()
    return calls


async def test_cancelled_calls_give_places_back_to_other_processes(
    still: SessionStore,
) -> None:
    here = CallSlots(still, clock=FakeClock())
    calls = await waiting_calls(here, requests=60.0)
    cancelled = [asyncio.create_task(call.give_back()) for call in calls]
    await asyncio.sleep(0)
    for task in cancelled:
        task.cancel()
    await asyncio.wait(cancelled)
    for slots in (CallSlots(still, clock=FakeClock()), here):
        assert await wait_of(slot_of(slots, requests=60.0)) < 3


async def test_calls_of_a_process_are_sent_in_their_order(still: SessionStore) -> None:
    clock = FakeClock()
    calls = await waiting_calls(CallSlots(still, clock=clock), requests=60.0)
    waits = [await call.wait() for call in calls]
    assert [wait.sent_s for wait in waits] == sorted(wait.sent_s for wait in waits)
    assert 90 < waits[-1].sent_s < 110 and 0 < waits[-1].ask_s < 12
    promised = [call for call in calls if call.promise is not None]
    assert promised == calls[: len(promised)] and len(promised) < 40
    await promised[0].give_back()
    await calls[-1].wait()
    promised = [call for call in calls if call.promise is not None]
    assert promised == calls[1 : len(promised) + 1]


async def test_a_call_that_would_wait_too_long_leaves_the_line(
    still: SessionStore,
) -> None:
    slots = CallSlots(still, clock=FakeClock())
    await waiting_calls(slots, requests=60.0)
    limits = {"requests": 60.0}
    short = slots.for_call(ENDPOINT, "claude", limits, longest_s=60.0)
    with pytest.raises(
        RateLimited, match=r"would wait for .* s, and at most 60 s are waited"
    ) as refused:
        await short.wait()
    assert 90 < (refused.value.retry_after_s or 0) < 110
    await short.give_back()
    again = slots.for_call(ENDPOINT, "claude", limits, longest_s=120.0)
    assert 90 < await wait_of(again) < 110


async def test_a_call_whose_turn_has_come_is_sent_however_late(
    still: SessionStore,
) -> None:
    clock = FakeClock()
    slots = CallSlots(still, clock=clock)
    await slot_of(slots).refused(0.0)
    for limits in ({}, {"requests": 60.0}):
        call = slots.for_call(ENDPOINT, "claude", limits, longest_s=5.0)
        waited = await call.wait()
        clock.now += waited.ask_s + 100.0
        assert await wait_of(call) == 0


async def test_a_call_that_fails_is_sent_again_although_the_first_took_longer_than_a_wait_may(
    tmp_path: Path,
) -> None:
    fault = {"kind": "status", "request": 1, "status": 503, "retry_after_s": 0.1}
    script = read({"answers": [{"text": "Done."}], "faults": [fault]})
    with running(script) as server:
        url = server.url("anthropic")
        agent = haiku(tmp_path / "s.db", base_url=url)
        assert (await agent.ask("Hi.", session="s")).text == "Done."


async def test_a_place_that_was_taken_at_once_is_given_back_too(
    store: SessionStore,
) -> None:
    counting = FakeCountingStore(store)
    call = slot_of(CallSlots(counting), requests=60.0)
    waiting = asyncio.create_task(call.wait())
    while not counting.counts["write"]:
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert call.promise is not None and not call.promise.wait_s
    taken = await requests_of(store)
    await call.give_back()
    assert (await requests_of(store)).level > taken.level + 0.5


async def test_calls_refused_at_once_are_not_resent_at_once(still: SessionStore) -> None:
    slots = CallSlots(still, clock=FakeClock())
    calls = [slot_of(slots) for _ in range(20)]
    for call in calls:
        await call.wait()
    waits = []
    for call in calls:
        call.heard(429, {})
        waits.append(await refuse(call, 5.0))
    assert 4 < min(waits) <= 5 and max(waits) > min(waits) + 1.5


async def requests_of(store: SessionStore) -> Bucket:
    (text,) = (await store.shared(RATE)).values()
    return msgspec.json.decode(text, type=RateState).buckets["requests"]


async def test_tokens_of_answers_count_and_those_of_caches_don_t(
    store: SessionStore,
) -> None:
    slots = CallSlots(store)
    for cached, expected in ((3_000, 0.0), (0, 60.0)):
        slot = slot_of(slots, input_tokens=1_000.0)
        assert await wait_of(slot) == 0
        slot.ended(Usage(input=3_010, output=1, cache_read=cached))
        if cached:
            continue
        assert await wait_of(slot_of(slots, input_tokens=1_000.0)) >= expected


async def test_the_name_of_the_value_does_not_show_the_key(store: SessionStore) -> None:
    slot = slot_of(CallSlots(store), requests=60.0)
    await slot.wait()
    (name,) = await store.shared(RATE)
    assert "secret" not in name and name.startswith("anthropic claude ")
    other = Endpoint(
        provider="anthropic",
        wire="messages",
        base_url=ENDPOINT.base_url,
        key=Key("sk-other"),
        auth="x-api-key",
    )
    assert name_of(other, "claude") != name


async def test_sessions_of_one_process_finish_within_the_limit(tmp_path: Path) -> None:
    script = read({"answers": [{"text": "Done."}], "server": {"requests_per_minute": 60}})
    with running(script) as server:
        agent = haiku(tmp_path / "s.db", base_url=server.url("anthropic"))
        async with Host(agent) as host:
            answers = await asyncio.gather(
                *(agent.ask("Hi.", session=f"s{number}") for number in range(66))
            )
            assert {answer.text for answer in answers} == {"Done."}
            waited = [
                event
                for number in range(66)
                for event in await host.store.read(f"s{number}")
                if isinstance(event, CallRetried) and event.attempt == 0
            ]
        refused = [each for each in server.exchanges if each.status == 429]
        assert len(refused) <= 6 + 3
    assert all("rate limit" in event.error for event in waited)


async def test_a_wait_that_is_too_long_makes_others_wait(tmp_path: Path) -> None:
    fault = {"kind": "status", "request": 1, "status": 429, "retry_after_s": 500}
    script = read({"answers": [{"text": "Done."}], "faults": [fault]})
    with running(script) as server:
        agent = haiku(tmp_path / "s.db", base_url=server.url("anthropic"))
        async with Host(agent):
            with pytest.raises(RateLimited):
                await agent.ask("Hi.", session="s")
            slot = agent._shared.slots.for_call(  # type: ignore[union-attr]
                agent.settings.endpoint({"ANTHROPIC_API_KEY": "x"})[0],
                "claude-haiku-4-5",
                {},
            )
            assert 100 < await wait_of(slot) <= 120
