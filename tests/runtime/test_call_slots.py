"""Slots for calls, given by a store that several processes share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from ullage_simulators import running
from ullage_simulators.scenario import read

from tests.agents import haiku
from tests.store.conftest import new_place, place, store
from ullage.errors import RateLimited
from ullage.events import CallRetried
from ullage.runtime.call_slots import KNOWN_S, RATE, CallSlots, SharedSlot, name_of
from ullage.runtime.hosting import Host
from ullage.store.store import Revise, SharedKey, Store
from ullage.usage import Usage
from ullage.wire.endpoints import Endpoint, Key

__all__ = ["new_place", "place", "store"]

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

    def __init__(self, inner: Store) -> None:
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


async def test_calls_without_a_limit_write_nothing_and_rarely_read(store: Store) -> None:
    counting, clock = FakeCountingStore(store), FakeClock()
    slots = CallSlots(counting, clock=clock)
    for _ in range(100):
        slot = slot_of(slots)
        assert await slot.wait_s() == 0
        slot.heard(200, headers(59))
        slot.ended(Usage(input=10, output=10))
    assert counting.counts == {"read": 1}
    clock.now += KNOWN_S
    await slot_of(slots).wait_s()
    assert counting.counts == {"read": 2}


async def test_a_refusal_at_one_process_has_another_one_wait(store: Store) -> None:
    clock = FakeClock()
    here, there = CallSlots(store, clock=clock), CallSlots(store, clock=clock)
    assert await slot_of(there).wait_s() == 0
    slot = slot_of(here)
    assert await slot.wait_s() == 0
    slot.heard(429, headers(0))
    again = await slot.refused(30.0, again=True)
    assert 29 < again <= 30 and await slot.wait_s() == again
    clock.now += KNOWN_S
    other = await slot_of(there).wait_s()
    assert again < other < 40
    apart = there.for_call(ENDPOINT, "another model", {})
    assert await apart.wait_s() == 0


async def test_a_slot_moves_with_a_refusal_while_it_is_waited_for(store: Store) -> None:
    slots = CallSlots(store)
    first = slot_of(slots)
    await first.wait_s()
    first.heard(429, headers(0))
    await first.refused(5.0, again=True)
    waiting = slot_of(slots)
    assert await waiting.wait_s() > 5
    await slot_of(slots).refused(100.0, again=True)
    assert 90 < await waiting.wait_s() <= 100
    assert await waiting.wait_s() == 0


async def test_a_call_that_is_cancelled_gives_its_place_back(store: Store) -> None:
    slots = CallSlots(store)
    first = slot_of(slots, requests=60.0)
    await first.refused(0.0, again=False)
    waits = []
    for _ in range(3):
        slot = slot_of(slots, requests=60.0)
        waits.append(await slot.wait_s())
        slot.give_back()
    assert max(waits) - min(waits) < 1.0


async def test_tokens_of_answers_count_and_those_read_from_a_cache_don_t(
    store: Store,
) -> None:
    slots = CallSlots(store)
    for cached, expected in ((3_000, 0.0), (0, 60.0)):
        slot = slot_of(slots, input_tokens=1_000.0)
        assert await slot.wait_s() == 0
        slot.ended(Usage(input=3_010, output=1, cache_read=cached))
        if cached:
            continue
        assert await slot_of(slots, input_tokens=1_000.0).wait_s() >= expected


async def test_the_name_of_the_value_does_not_show_the_key(store: Store) -> None:
    slot = slot_of(CallSlots(store), requests=60.0)
    await slot.wait_s()
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


async def test_sessions_of_one_process_finish_within_the_limit_and_say_that_they_wait(
    tmp_path: Path,
) -> None:
    script = read({"answers": [{"text": "Done."}], "server": {"requests_per_minute": 60}})
    with running(script) as server:
        agent = haiku(tmp_path / "s.db", base_url=server.url("anthropic"))
        async with Host(agent) as host:
            answers = await asyncio.gather(
                *(agent.ask("Hi.", session=f"s{number}") for number in range(75))
            )
            assert {answer.text for answer in answers} == {"Done."}
            waited = [
                event
                for number in range(75)
                for event in await host.store.read(f"s{number}")
                if isinstance(event, CallRetried) and event.attempt == 0
            ]
        refused = [each for each in server.exchanges if each.status == 429]
        assert len(refused) <= 15 + 3
    assert all("rate limit" in event.error for event in waited)


async def test_a_wait_that_is_too_long_is_refused_and_has_others_wait(
    tmp_path: Path,
) -> None:
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
            assert 100 < await slot.wait_s() <= 120
