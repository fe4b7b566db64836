"""Every store keeps how a session stands beside it, and lists by it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

from tests.store.sessions import said
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallRetried,
    CallStarted,
    Event,
    Renamed,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.store.forking import fork
from ullage.store.store import Lease, SessionStore
from ullage.turns.standing import AT_REST, NEEDS_A_PERSON, Standing, stood

BEGUN = TurnStarted(turn="t", at=10)
ASKED = ApprovalAsked(call_id="a", tool="write", digest="d", at=11)
FAILED = TurnPaused(turn="t", reason="failed", note="No route.", at=12)


async def driven(store: SessionStore, name: str, *events: Event) -> Lease:
    await store.create(name)
    lease = await store.acquire(name, "driver", ttl_s=60)
    await store.append(lease, events, after=0)
    return lease


async def standing(store: SessionStore, name: str = "s") -> Standing:
    return (await store.about(name)).standing


async def listed(store: SessionStore, *, tenant: str = "") -> list[str]:
    rows = await store.sessions(states=NEEDS_A_PERSON, tenant=tenant)
    return [row.id for row in rows]


async def test_a_session_stands_as_its_events_say(store: SessionStore) -> None:
    lease = await driven(store, "s", BEGUN)
    assert await standing(store) == stood(AT_REST, await store.read("s"))
    await store.append(lease, [CallStarted(call="c")], after=1)
    assert (await standing(store)).state == "works"
    await store.append(lease, [ASKED, TurnPaused(turn="t", reason="approval")], after=2)
    asked = await standing(store)
    assert asked == stood(AT_REST, await store.read("s"))
    assert [(each.tool, each.asked) for each in asked.approvals] == [("write", 3)]
    assert (await store.sessions())[0].standing == asked
    await store.command("s", [ApprovalGiven(call_id="a", approved=True, digest="d")])
    assert (await standing(store)).state == "works"
    await store.append(lease, [TurnEnded(turn="t", at=30)], after=5)
    rests = await standing(store)
    assert (rests.state, rests.since, rests.seq) == ("at_rest", 30, 6)


async def test_a_message_between_two_writes_of_a_driver_is_counted(
    store: SessionStore,
) -> None:
    lease = await driven(store, "s", BEGUN)
    await store.send("s", said("m"), "steer")
    await store.append(lease, [FAILED], after=1)
    assert (await standing(store)).seq == 3


async def test_events_without_a_time_stand_since_now(store: SessionStore) -> None:
    await driven(store, "s", TurnStarted(turn="t"))
    (event,) = await store.read("s")
    assert abs((await standing(store)).since - event.at) < 30


async def test_a_driver_and_commands_at_once_lose_nothing(store: SessionStore) -> None:
    calls = [f"c{number}" for number in range(12)]
    asked = [ApprovalAsked(call_id=call, digest="d") for call in calls]
    lease = await driven(store, "s", BEGUN, *asked)

    async def approve(call: str) -> None:
        await store.command("s", [ApprovalGiven(call_id=call, approved=True)])

    async def drive() -> None:
        after = len(asked) + 1
        for number in range(12):
            retried = CallRetried(call="x", attempt=number, wait_s=0)
            written = await store.append(lease, [retried], after=after)
            after = written[-1].seq

    await asyncio.gather(drive(), *map(approve, calls))
    events = await store.read("s")
    assert len(events) == 1 + 3 * len(calls)
    assert not (await standing(store)).approvals
    assert (await standing(store)).state in ("works", "waits")


async def test_what_needs_a_person_is_listed_and_counted(store: SessionStore) -> None:
    waits = CallRetried(call="c", attempt=0, wait_s=60)
    histories: dict[str, Sequence[Event]] = {
        "failed": [BEGUN, FAILED],
        "works": [BEGUN],
        "waits": [BEGUN, waits],
        "asks": [BEGUN, ASKED],
        "budget": [BEGUN, TurnPaused(turn="t", reason="budget")],
        "rests": [BEGUN, TurnEnded(turn="t")],
    }
    for name, events in histories.items():
        await driven(store, name, *events)
    await store.create("elsewhere", [BEGUN, FAILED], tenant="other")
    assert set(await listed(store)) == {"failed", "asks", "budget", "elsewhere"}
    assert set(await listed(store, tenant="default")) == {"failed", "asks", "budget"}
    assert await listed(store, tenant="other") == ["elsewhere"]
    asking = await store.sessions(states=["needs_approval"], tenant="default")
    assert [row.id for row in asking] == ["asks"]
    one = {"failed": 1, "waits": 1, "needs_approval": 1, "paused": 1}
    rows = {row.id: row.listed for row in await store.sessions()}
    of_all = await store.standing_counts()
    assert {state: count.sessions for state, count in of_all.items()} == one | {
        "failed": 2
    }
    assert of_all["failed"].since == min(rows["failed"], rows["elsewhere"])
    of_one = await store.standing_counts("default")
    assert {state: count.sessions for state, count in of_one.items()} == one
    assert of_one["failed"].since == rows["failed"]
    assert await store.standing_counts("nobody") == {}
    first = await store.sessions(states=NEEDS_A_PERSON, limit=2)
    rest = await store.sessions(states=NEEDS_A_PERSON, before=first[-1].cursor)
    assert {row.id for row in (*first, *rest)} == {*await listed(store)}
    assert len(first) + len(rest) == 4


async def test_a_copy_of_a_failed_session_rests(store: SessionStore) -> None:
    await driven(store, "s", BEGUN, ASKED, FAILED)
    await fork(store, "s", "copy", through=3)
    assert (await standing(store)).state == "needs_approval"
    assert (await standing(store, "copy")).state == "at_rest"
    assert await listed(store) == ["s"]


async def test_lists_are_in_the_order_of_messages_commands_and_rests(
    store: SessionStore,
) -> None:
    leases = {}
    for name in ("a", "b", "c"):
        leases[name] = await driven(store, name, BEGUN)
        await asyncio.sleep(0.003)
    await store.append(leases["a"], [CallStarted(call="c")], after=1)
    rows = await store.sessions()
    assert [row.id for row in rows] == ["c", "b", "a"], "a step moves nothing"
    await asyncio.sleep(0.003)
    await store.send("b", said("m"), "steer")
    await asyncio.sleep(0.003)
    await store.command("c", [Renamed(title="C")])
    await asyncio.sleep(0.003)
    await store.append(leases["a"], [TurnEnded(turn="t")], after=2)
    await store.release(leases["a"], rests_at=3)
    rows = await store.sessions()
    assert [row.id for row in rows] == ["a", "c", "b"]
    assert all(one.cursor > other.cursor for one, other in pairwise(rows))
    assert [row.id for row in await store.sessions(before=rows[0].cursor)] == ["c", "b"]
