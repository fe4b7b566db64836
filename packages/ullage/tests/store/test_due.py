"""Which sessions have work and no living driver, and a lease that is taken away."""

from __future__ import annotations

import asyncio

from tests.processes import run_python
from tests.store.test_leases import OWNER_OF_ANOTHER_PROCESS, needs_proc
from ullage.events import CancelAsked, SettingsChanged, TurnStarted
from ullage.messages import Message, TextPart
from ullage.store.forking import fork
from ullage.store.leases import new_owner
from ullage.store.store import SessionStore, Unattended, waiting_places
from ullage.turns.standing import UNTAKEN_S


def said(name: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text="x"),))


async def listed(store: SessionStore) -> list[Unattended]:
    """Who is unattended, once somebody is; how long they have waited is left out."""
    while not (found := await store.unattended(10)):
        await asyncio.sleep(0.01)
    assert all(0 <= each.waits_s < 60 for each in found)
    return [each._replace(waits_s=0.0) for each in found]


async def test_work_without_a_driver_makes_a_session_due(store: SessionStore) -> None:
    for name in ("begun", "told", "asked", "asked/call-1"):
        await store.create(name, [SettingsChanged(settings={})])
    await store.send("told", said("m"), "steer")
    await store.command("asked", [CancelAsked()])
    await store.send("asked/call-1", said("m"), "steer")
    while len(found := await listed(store)) < 2:
        await asyncio.sleep(0.01)
    assert found == [Unattended("told", 2), Unattended("asked", 2)]
    assert [each.id for each in await store.unattended(1)] == [found[0].id]


async def test_a_driven_or_resting_session_is_not_unattended(store: SessionStore) -> None:
    await store.create("s")
    await store.send("s", said("m"), "steer")
    lease = await store.acquire("s", new_owner(), ttl_s=60)
    assert await store.unattended(10) == []
    await store.release(lease, rests_at=1)
    assert await store.unattended(10) == []


async def test_a_session_is_due_until_released_at_its_last_event(
    store: SessionStore,
) -> None:
    await store.create("s")
    await store.send("s", said("m"), "steer")
    for rests_at in (None, 1):
        lease = await store.acquire("s", new_owner(), ttl_s=60)
        await store.append(lease, [TurnStarted(turn="t")], after=1)
        await store.release(lease, rests_at=rests_at)
        assert [each.id for each in await listed(store)] == ["s"]
    lease = await store.acquire("s", new_owner(), ttl_s=60)
    await store.release(lease, rests_at=3)
    assert await store.unattended(10) == []


async def test_a_lost_lease_does_not_say_that_the_session_rests(
    store: SessionStore,
) -> None:
    await store.create("s")
    await store.send("s", said("m"), "steer")
    old = await store.acquire("s", new_owner(), ttl_s=0)
    new = await store.acquire("s", new_owner(), ttl_s=60)
    await store.release(old, rests_at=1)
    await store.release(new)
    assert [each.id for each in await listed(store)] == ["s"]


async def test_a_driver_is_missed_when_its_lease_ends(store: SessionStore) -> None:
    await store.create("s")
    await store.send("s", said("m"), "steer")
    await store.acquire("s", "elsewhere:1:1:ff", ttl_s=0)
    await store.create("driven")
    await store.send("driven", said("m"), "steer")
    await store.acquire("driven", "elsewhere:1:1:ff", ttl_s=3_600)
    assert await listed(store) == [Unattended("s", 1)]


@needs_proc
async def test_a_local_driver_is_missed_when_its_process_ends(
    store: SessionStore,
) -> None:
    done = run_python("-c", OWNER_OF_ANOTHER_PROCESS, check=True)
    await store.create("s")
    await store.send("s", said("m"), "steer")
    await store.acquire("s", done.stdout.strip(), ttl_s=3_600)
    assert await listed(store) == [Unattended("s", 1)]


async def test_a_deleted_session_is_due_no_longer(store: SessionStore) -> None:
    await store.create("s")
    await store.send("s", said("m"), "steer")
    await store.delete("s")
    await store.create("s")
    await store.create("other")
    await store.send("other", said("m"), "steer")
    assert await listed(store) == [Unattended("other", 1)]


async def test_unattended_sessions_are_counted_by_place(store: SessionStore) -> None:
    for name, place in (("here", ""), ("a1", "a"), ("a2", "a"), ("b1", "b")):
        await store.create(name, place=place)
        await store.send(name, said("m"), "steer")
        if name == "a1":
            await fork(store, name, "a3", through=1)  # at rest
    while len(await store.unattended(10)) < 4:
        await asyncio.sleep(0.01)

    async def found(*places: str) -> list[str]:
        return [f"{each.place}:{each.id}" for each in await store.unattended(10, places)]

    assert await found("") == [":here"]
    assert await found("a") == ["a:a1", "a:a2"]
    assert await found("b", "") == [":here", "b:b1"]
    assert await found() == []
    waiting = await waiting_places(store)
    assert [(each.place, each.sessions) for each in waiting] == [
        ("", 1),
        ("a", 2),
        ("b", 1),
    ]
    assert (await store.about("a3")).place == "a"
    lease = await store.acquire("b1", new_owner(), ttl_s=60)
    assert await found("b") == []
    row = await store.about("b1")
    assert row.due_at is not None
    assert not row.lacks_worker(row.due_at + UNTAKEN_S + 1)
    await store.release(lease)
    row = await store.about("b1")
    assert row.due_at is not None
    assert not row.lacks_worker(row.due_at)
    assert row.lacks_worker(row.due_at + UNTAKEN_S + 1)
    assert not row._replace(place="").lacks_worker(row.due_at + UNTAKEN_S + 1)


async def test_who_waits_longer_says_so(store: SessionStore) -> None:
    await store.create("s")
    await store.send("s", said("m"), "steer")
    while not (before := await store.unattended(1)):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    after = await store.unattended(1)
    assert after[0].waits_s >= before[0].waits_s + 0.19
