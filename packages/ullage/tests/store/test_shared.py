"""Values that all processes of a store share, and sessions that are due from a later time on."""

from __future__ import annotations

import asyncio
import time

from tests.store.test_due import listed, said
from ullage.errors import CommandRefused
from ullage.events import SettingsChanged
from ullage.store.leases import new_owner
from ullage.store.places import store_at
from ullage.store.store import SPENT_BY, Revision, SessionStore, SharedKey

KEY = SharedKey("count", "one")


def plus(before: tuple[str, ...], now: float) -> Revision[int]:
    """Each value one more; gives the first."""
    after = tuple(str(int(value or "0") + 1) for value in before)
    return Revision(after, int(after[0]))


async def test_a_value_that_many_change_at_once_counts_every_change(place: str) -> None:
    stores = [store_at(place) for _ in range(3)]
    try:
        other = SharedKey("count", "other")
        orders = ([KEY, other], [other, KEY], [KEY])
        changes = [
            store.revise(keys, plus)
            for _ in range(20)
            for store, keys in zip(stores, orders, strict=True)
        ]
        results = await asyncio.gather(*changes)
        assert await stores[0].shared("count") == {"one": "60", "other": "40"}
        assert len(set(results)) >= 20
    finally:
        for store in stores:
            await store.close()


async def test_values_have_a_kind_and_a_name(store: SessionStore) -> None:
    await store.revise([KEY, SharedKey("other", "one")], plus)
    assert await store.shared("count") == {"one": "1"}
    assert await store.shared("count", ["one", "two"]) == {"one": "1"}
    assert await store.shared("count", []) == {}
    assert await store.shared("none") == {}
    await store.revise([KEY], lambda before, now: Revision(("",), None))
    assert await store.shared("count") == {}
    assert await store.revise([KEY], plus) == 1


async def test_a_change_that_raises_changes_nothing(store: SessionStore) -> None:
    await store.revise([KEY], plus)

    def refuse(before: tuple[str, ...], now: float) -> Revision[None]:
        raise CommandRefused("No.")

    for _ in range(5):
        try:
            await store.revise([KEY], refuse)
        except CommandRefused as problem:
            assert str(problem) == "No."
    assert await store.shared("count") == {"one": "1"}
    assert await store.revise([KEY], plus) == 2


async def test_a_change_gets_the_time_of_the_database(store: SessionStore) -> None:
    told = await store.revise([KEY], lambda before, now: Revision(("x",), now))
    assert abs(told - time.time()) < 60


async def test_what_a_session_had_spent_goes_with_it(store: SessionStore) -> None:
    await store.create("s", [SettingsChanged(settings={})])
    await store.revise([SharedKey(SPENT_BY, "s"), SharedKey(SPENT_BY, "t")], plus)
    await store.delete("s")
    assert await store.shared(SPENT_BY) == {"t": "1"}


async def test_a_session_released_until_later_is_due_then(store: SessionStore) -> None:
    await store.create("s", [SettingsChanged(settings={})])
    await store.send("s", said("m"), "steer")
    lease = await store.acquire("s", new_owner(), ttl_s=60)
    await store.release(lease, rests_at=2, due_at=time.time() + 3600)
    assert (await store.about("s")).is_due
    await asyncio.sleep(1.2)
    assert await store.unattended(10) == []
    await store.command("s", [])
    assert [(each.id, each.seq) for each in await listed(store)] == [("s", 2)]


async def test_a_message_makes_a_waiting_session_due(store: SessionStore) -> None:
    await store.create("s", [SettingsChanged(settings={})])
    await store.send("s", said("m"), "steer")
    lease = await store.acquire("s", new_owner(), ttl_s=60)
    await store.release(lease, rests_at=2, due_at=time.time() + 3600)
    await store.send("s", said("n"), "steer")
    assert [(each.id, each.seq) for each in await listed(store)] == [("s", 3)]


async def test_what_came_after_the_last_look_is_not_postponed(
    store: SessionStore,
) -> None:
    await store.create("s", [SettingsChanged(settings={})])
    await store.send("s", said("m"), "steer")
    lease = await store.acquire("s", new_owner(), ttl_s=60)
    await store.release(lease, rests_at=1, due_at=time.time() + 3600)
    assert [(each.id, each.seq) for each in await listed(store)] == [("s", 2)]
