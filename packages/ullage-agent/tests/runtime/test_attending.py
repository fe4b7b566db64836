"""Who is found without a driver is woken, and left alone for a while where it can't be driven."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import cast

from ullage.errors import StoreUnavailable
from ullage.store.store import Store, Unattended
from ullage.tasks import background
from ullage_agent.runtime.attending import AT_ONCE, RETRY_S, Attending


class FakeStore:
    """Lists the same sessions until they are driven."""

    def __init__(self, *names: str) -> None:
        self.left = [Unattended(name, 7) for name in names]
        self.fails = 0

    async def unattended(
        self, limit: int, places: Sequence[str] | None
    ) -> list[Unattended]:
        if self.fails:
            self.fails -= 1
            raise StoreUnavailable("The disk is full.")
        return self.left[:limit]


class Woken:
    """The wakes, in order; ``now`` is the clock."""

    def __init__(self, store: FakeStore) -> None:
        self.all: list[tuple[str, int]] = []
        self.any = asyncio.Event()
        self.now = 0.0
        self.attending = Attending(cast(Store, store), self.wake, clock=lambda: self.now)

    async def wake(self, session: str, why: int, place: str) -> None:
        self.all.append((session, why))
        self.any.set()


async def test_a_sweep_wakes_who_has_no_driver_with_its_last_event() -> None:
    woken = Woken(FakeStore("a", "b"))
    assert await woken.attending.sweep() == ["a", "b"]
    assert woken.all == [("a", 7), ("b", 7)]


async def test_who_can_t_be_driven_is_left_alone_for_a_while_and_holds_up_nobody() -> (
    None
):
    names = [f"s{number}" for number in range(AT_ONCE + 1)]
    woken = Woken(FakeStore(*names))
    for name in await woken.attending.sweep():
        woken.attending.failed(name)
    assert await woken.attending.sweep() == names[-1:]
    woken.now = RETRY_S
    assert await woken.attending.sweep() == names[:-1]


async def test_sessions_that_no_driver_takes_hold_up_no_other() -> None:
    """As where Restate knows no worker of their place: they stay due, and wait longest."""
    names = [f"s{number}" for number in range(2 * AT_ONCE + 1)]
    woken = Woken(FakeStore(*names))
    for _ in range(3):
        await woken.attending.sweep()
    assert {name for name, _ in woken.all} == set(names)
    for _ in range(3):
        await woken.attending.sweep()
    assert min(Counter(name for name, _ in woken.all).values()) == 2


async def test_sessions_that_no_driver_takes_hold_up_none_that_becomes_due_later() -> (
    None
):
    names = [f"s{number}" for number in range(3 * AT_ONCE)]
    store = FakeStore(*names)
    woken = Woken(store)
    for sweep in range(10):
        await woken.attending.sweep()
        if sweep >= len(names) // AT_ONCE:
            due = f"due after {sweep}"
            store.left.append(Unattended(due, 7))
            assert due in await woken.attending.sweep()
            store.left.pop()


async def test_a_store_that_fails_is_asked_again() -> None:
    store = FakeStore("a")
    store.fails = 2
    woken = Woken(store)
    async with background(woken.attending.run()):
        await woken.any.wait()
    assert woken.all[0] == ("a", 7)
