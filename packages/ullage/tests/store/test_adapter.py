"""What is said of a store that has lost or damaged something. ``test_store`` and others try the rest of the adapter."""

from __future__ import annotations

import asyncio

import pytest

from tests.store.sessions import said
from ullage.errors import LeaseLost, SessionBusy, SessionNotFound, StoreUnavailable
from ullage.events import CancelAsked, DraftPiece, QueueLeft, RowDamaged, TurnStarted
from ullage.store.adapter import SHARED, StoreAdapter
from ullage.store.memory import MemoryStore
from ullage.store.protocol import ABOUT
from ullage.store.store import Checkpoint, Revision, SharedKey
from ullage.tasks import background


async def stored(memory: MemoryStore) -> StoreAdapter:
    store = StoreAdapter(memory)
    await store.create("s", [TurnStarted(turn=str(number)) for number in range(3)])
    return store


async def test_a_damaged_row_is_read_as_one_and_the_others_as_they_are() -> None:
    memory = MemoryStore()
    store = await stored(memory)
    memory._sessions["s"].rows[1] = b'{"type":"turn_st\xff'
    found = await store.read("s")
    assert [type(event) for event in found] == [TurnStarted, RowDamaged, TurnStarted]
    assert found[1].seq == 2


async def test_rows_that_are_lost_or_mixed_up_are_named() -> None:
    memory = MemoryStore()
    store = await stored(memory)
    rows = memory._sessions["s"].rows
    rows[0], rows[1] = rows[1], rows[0]
    with pytest.raises(
        StoreUnavailable, match="In the place of row 1 of the session 's'"
    ):
        await store.read("s")
    del rows[1:]
    with pytest.raises(StoreUnavailable, match="gave 1 of the 3 rows behind row 0"):
        await store.read("s")


async def test_a_damaged_value_about_names_its_session() -> None:
    memory = MemoryStore()
    store = await stored(memory)
    memory._sessions["s"].values[ABOUT] = b"nonsense"
    for asked in (
        store.about("s"),
        store.sessions(),
        store.send("s", said("m"), "steer"),
    ):
        with pytest.raises(StoreUnavailable, match="'about' of the session 's'"):
            await asked


async def test_what_all_processes_share_is_no_session() -> None:
    store = StoreAdapter(MemoryStore())
    key = SharedKey("grants", "g")
    await store.revise([key], lambda before, now: Revision(("given",), None))
    for asked in (store.about(SHARED), store.read(SHARED), store.delete(SHARED)):
        with pytest.raises(SessionNotFound):
            await asked
    assert await store.shared("grants") == {"g": "given"}


async def test_a_store_that_waits_for_nothing_does_not_stop_its_event_loop() -> None:
    class Hasty(MemoryStore):
        looks = 0

        async def wait(self, session: str, version: int, timeout_s: float) -> None:
            self.looks += 1
            assert self.looks < 100

    memory = Hasty()
    store = await stored(memory)
    async with store.watch("s"):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert memory.looks < 50


async def test_what_ends_leaves_no_values_behind() -> None:
    memory = MemoryStore()
    store = await stored(memory)
    lease = await store.acquire("s", "driver", ttl_s=60)
    await store.draft(lease, [DraftPiece("c", 0, "text", "p", "x")])
    await store.draft(lease, [DraftPiece("c", 1, "text", "p", "x")])
    await store.save_checkpoint(lease, Checkpoint(3, "f", b"x"))
    await store.append(lease, [TurnStarted(turn="t")], after=3, ends_draft="c")
    assert memory._sessions["s"].values.keys() == {ABOUT, "checkpoint"}
    await store.release(lease)
    await store.delete("s")
    assert not memory._sessions
    await store.release(lease)
    with pytest.raises(SessionNotFound):
        await store.about("s")


async def test_messages_that_were_delivered_make_no_write_larger() -> None:
    memory = MemoryStore()
    store = await stored(memory)
    lease = await store.acquire("s", "driver", ttl_s=60)
    sizes = []
    for number in range(30):
        await store.send("s", said(f"m{number}"), "steer")
        left = QueueLeft(message_id=f"m{number}", how="delivered")
        await store.append(lease, [left], after=3)
        sizes.append(len(memory._sessions["s"].values[ABOUT]))
    assert sizes[-1] <= sizes[0] + 10
    receipt = await store.receipt("s", "m3")
    assert receipt is not None and receipt.state == "delivered"


async def test_of_drivers_that_take_a_session_through_two_adapters_one_wins_and_who_lost_it_writes_nothing() -> (
    None
):
    memory = MemoryStore()
    first, second = StoreAdapter(memory), StoreAdapter(memory)
    await first.create("s")
    taken = await asyncio.gather(
        *(
            (first, second)[number % 2].acquire("s", f"driver {number}", ttl_s=600)
            for number in range(8)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(each, SessionBusy) for each in taken) == 7
    old = next(each for each in taken if not isinstance(each, BaseException))
    await first.renew(old, ttl_s=0)
    await second.acquire("s", "thief", ttl_s=600)
    with pytest.raises(LeaseLost):
        await first.append(old, [TurnStarted(turn="late")], after=0)
    assert not await second.read("s")


async def test_what_many_send_through_two_adapters_is_stored_once_and_followed_in_order() -> (
    None
):
    memory = MemoryStore()
    first, second = StoreAdapter(memory), StoreAdapter(memory)
    await first.create("s")
    seen: list[int] = []

    async def follow() -> None:
        async for each in second.follow("s"):
            assert not isinstance(each, DraftPiece)
            seen.append(each.seq)
            if len(seen) == 80:
                return

    async def send(number: int) -> None:
        store = (first, second)[number % 2]
        for each in range(5):
            await store.send("s", said(f"m{number}-{each}"), "follow_up")
            await store.command("s", [CancelAsked()])

    async with asyncio.timeout(60), background(follow()) as following:
        await asyncio.gather(*(send(number) for number in range(8)))
        await following
    assert seen == list(range(1, 81))
    assert len(await first.pending("s")) == 40
