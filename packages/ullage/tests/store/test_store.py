import asyncio
import random
import sys

import msgspec
import pytest

from tests.store.sessions import said, step
from ullage.encoding import decode_event, encode
from ullage.errors import (
    CommandRefused,
    LeaseLost,
    LedgerError,
    SessionBusy,
    SessionNotFound,
    StoreUnavailable,
)
from ullage.events import (
    ApprovalGiven,
    CancelAsked,
    DraftPiece,
    Event,
    MessageAdded,
    ModelChanged,
    Queued,
    QueueEdited,
    QueueLeft,
    Renamed,
    SessionStarted,
    TurnStarted,
    UnknownEvent,
)
from ullage.store.forking import fork
from ullage.store.places import store_at
from ullage.store.store import Checkpoint, Lease, SessionCursor, SessionStore
from ullage.store.waiting import edit, withdraw
from ullage.turns.standing import AT_REST


async def driven(
    store: SessionStore, session: str = "s", events: tuple[Event, ...] = ()
) -> Lease:
    await store.create(session, events)
    return await store.acquire(session, "driver", ttl_s=60)


async def test_a_new_session_holds_its_first_events_filled(store: SessionStore) -> None:
    made = await store.create("s", [SessionStarted(model="m"), TurnStarted(turn="t")])
    assert [(event.session, event.seq, event.id) for event in made] == [
        ("s", 1, "e1"),
        ("s", 2, "e2"),
    ]
    assert all(event.at > 1_600_000_000 for event in made)
    assert await store.read("s") == list(made)


async def test_an_id_and_a_time_that_are_given_are_kept(store: SessionStore) -> None:
    (made,) = await store.create(
        "s",
        [TurnStarted(turn="t", id="mine", at=12.5, parent="p", session="other", seq=9)],
    )
    assert made == TurnStarted(
        turn="t", id="mine", at=12.5, parent="p", session="s", seq=1
    )
    assert await store.read("s") == [made]
    assert (await store.about("s")).created == 12.5


async def test_a_taken_id_and_an_empty_one_are_refused(store: SessionStore) -> None:
    await store.create("s")
    with pytest.raises(CommandRefused, match="already"):
        await store.create("s", [TurnStarted(turn="t")])
    with pytest.raises(CommandRefused, match="not empty"):
        await store.create("")
    assert await store.read("s") == []


async def test_of_an_unknown_session_nothing_can_be_asked(store: SessionStore) -> None:
    for asked in (
        store.read("x"),
        store.about("x"),
        store.acquire("x", "o", ttl_s=1),
        store.command("x", [CancelAsked()]),
        store.send("x", said("m"), "steer"),
        store.pending("x"),
        store.read_draft("x"),
        store.checkpoint("x", "c"),
        store.keep("x", b"data"),
        store.kept("x", "handle"),
        store.delete("x"),
        store.handles("x"),
        fork(store, "x", "y", through=0),
    ):
        with pytest.raises(SessionNotFound, match="'x'"):
            await asked


async def test_every_kind_of_step_reads_back_as_it_was_written(
    store: SessionStore,
) -> None:
    chance = random.Random(1)
    events = [event for number in range(50) for event in step(chance, number)]
    lease = await driven(store)
    written = await store.append(lease, events, after=0)
    assert await store.read("s") == list(written)
    assert [encode(event) for event in await store.read("s")] == [
        encode(event) for event in written
    ]


async def test_reading_goes_on_behind_a_place_and_up_to_a_limit(
    store: SessionStore,
) -> None:
    await store.create("s", [TurnStarted(turn=str(number)) for number in range(1, 11)])
    assert [event.seq for event in await store.read("s", after=7)] == [8, 9, 10]
    assert [event.seq for event in await store.read("s", after=2, limit=3)] == [3, 4, 5]
    assert await store.read("s", after=10) == []


async def test_events_and_fields_of_a_newer_version_are_kept(store: SessionStore) -> None:
    newer = decode_event(
        b'{"type":"dreamt","v":9,"of":{"sheep":[1, 2]},"session":"elsewhere","seq":77}'
    )
    wider = decode_event(b'{"type":"turn_started","turn":"t","mood":"good"}')
    await store.create("s", [newer, wider])
    unknown, known = await store.read("s")
    assert isinstance(unknown, UnknownEvent)
    assert (unknown.session, unknown.seq, unknown.id, unknown.v) == ("s", 1, "e1", 9)
    raw = msgspec.json.decode(unknown.raw)
    assert raw["of"] == {"sheep": [1, 2]}
    assert (raw["type"], raw["session"], raw["seq"], raw["id"]) == (
        "dreamt",
        "s",
        1,
        "e1",
    )
    assert known.extra == {"mood": msgspec.Raw(b'"good"')}
    assert isinstance(known, TurnStarted)


async def test_append_gives_the_commands_of_others_first(store: SessionStore) -> None:
    lease = await driven(store)
    await store.append(lease, [TurnStarted(turn="1")], after=0)
    await store.command("s", [CancelAsked()])
    given = await store.append(lease, [TurnStarted(turn="2")], after=1)
    assert [(event.seq, type(event)) for event in given] == [
        (2, CancelAsked),
        (3, TurnStarted),
    ]


async def test_an_exact_append_fails_behind_a_command(store: SessionStore) -> None:
    lease = await driven(store)
    (asked,) = await store.command("s", [CancelAsked()])
    assert await store.append(lease, [TurnStarted(turn="1")], after=0, exact=True) == (
        asked,
    )
    assert await store.read("s") == [asked]
    (written,) = await store.append(lease, [TurnStarted(turn="1")], after=1, exact=True)
    assert written.seq == 2


async def test_nothing_can_follow_an_event_that_does_not_exist(
    store: SessionStore,
) -> None:
    lease = await driven(store)
    with pytest.raises(LedgerError, match=r"Event 5 .* is not in the ledger"):
        await store.append(lease, [TurnStarted(turn="1")], after=5)


async def test_a_second_driver_is_refused_with_the_holders_name(
    store: SessionStore,
) -> None:
    await driven(store)
    with pytest.raises(SessionBusy, match="driver") as refused:
        await store.acquire("s", "another", ttl_s=60)
    assert refused.value.held_by == "driver"
    assert refused.value.until > 1_600_000_000
    assert (await store.about("s")).held_by == "driver"


async def test_who_lost_a_lease_writes_nothing(store: SessionStore) -> None:
    await store.create("s")
    old = await store.acquire("s", "old", ttl_s=0)
    new = await store.acquire("s", "new", ttl_s=60)
    assert new == Lease("s", "new", old.generation + 1)
    for late in (
        store.append(old, [TurnStarted(turn="late")], after=0),
        store.renew(old, ttl_s=60),
        store.draft(old, [DraftPiece("c", 0, "text", "p", "late")]),
        store.save_checkpoint(old, Checkpoint(0, "x", b"")),
    ):
        with pytest.raises(LeaseLost, match="new drives it now"):
            await late
    await store.release(old)
    assert (await store.about("s")).held_by == "new"
    assert await store.read_draft("s") == []
    (event,) = await store.append(new, [TurnStarted(turn="t")], after=0)
    assert event.seq == 1


async def test_a_lease_that_ran_out_untaken_still_writes(store: SessionStore) -> None:
    await store.create("s")
    lease = await store.acquire("s", "slow", ttl_s=0)
    await store.append(lease, [TurnStarted(turn="1")], after=0)
    await store.renew(lease, ttl_s=60)
    assert (await store.about("s")).held_by == "slow"


async def test_a_released_session_is_free_at_once(store: SessionStore) -> None:
    lease = await driven(store)
    await store.release(lease)
    assert (await store.about("s")).held_by == ""
    assert (await store.acquire("s", "next", ttl_s=60)).generation == lease.generation + 1


async def test_sessions_are_listed_by_their_last_change(store: SessionStore) -> None:
    for name in ("a", "b", "c"):
        await store.create(
            name, [SessionStarted(model="m", title=f"About {name}")], origin="from"
        )
        await asyncio.sleep(0.003)
    await store.command("a", [CancelAsked()])
    listed = await store.sessions()
    assert [row.id for row in listed] == ["a", "c", "b"]
    assert listed[1]._replace(created=0, changed=0, listed=0) == (
        "c",
        "About c",
        "m",
        0,
        0,
        1,
        "",
        "from",
        0,
        listed[1].key,
        None,
        "default",
        "",
        AT_REST,
        0,
    )
    assert [row.id for row in await store.sessions(limit=2)] == ["a", "c"]
    assert [row.id for row in await store.sessions(before=listed[0].cursor)] == ["c", "b"]
    assert await store.about("c") == listed[1]


async def test_pages_of_a_list_hold_each_session_once(store: SessionStore) -> None:
    names = {f"s{number}" for number in range(60)}
    await asyncio.gather(*(store.create(name) for name in names))
    assert len({row.changed for row in await store.sessions()}) < len(names)
    seen: list[str] = []
    cursor: SessionCursor | None = None
    while page := await store.sessions(limit=7, before=cursor):
        seen += [row.id for row in page]
        cursor = page[-1].cursor
    assert len(seen) == len(names)
    assert set(seen) == names


async def test_a_session_without_a_title_has_its_first_words(store: SessionStore) -> None:
    await store.create("s", [SessionStarted(model="m")])
    await store.send("s", said("1", "  Fix the\n bug " + "x" * 200), "steer")
    await store.command(
        "s", [MessageAdded(message=said("2", "Later.")), ModelChanged(model="n")]
    )
    about = await store.about("s")
    assert about.title.startswith("Fix the bug xxx")
    assert len(about.title) == 80
    assert about.model == "n"


async def test_a_session_has_the_title_that_it_was_given_last(
    store: SessionStore,
) -> None:
    await store.create("s", [SessionStarted(title="The first name")])
    await store.send("s", said("1", "Fix the bug."), "steer")
    await store.command("s", [Renamed(title="The second name")])
    assert (await store.about("s")).title == "The second name"
    await store.send("s", said("2", "And the other bug."), "steer")
    assert (await store.about("s")).title == "The second name"


async def test_a_message_is_sent_once_whatever_how_often(store: SessionStore) -> None:
    await store.create("s")
    first = await store.send("s", said("m"), "steer")
    again = await store.send("s", said("m", "Something else."), "follow_up")
    assert (first.position, first.state, first.is_new) == (1, "pending", True)
    assert again == first._replace(is_new=False)
    assert await store.receipt("s", "m") == again
    (event,) = await store.read("s")
    assert event == Queued(
        message=said("m"),
        kind="steer",
        position=1,
        session="s",
        seq=1,
        id="e1",
        at=first.at,
    )


async def test_what_steers_is_delivered_before_what_follows_up(
    store: SessionStore,
) -> None:
    await store.create("s")
    positions = [
        (await store.send("s", said(name), kind)).position  # type: ignore[arg-type]
        for name, kind in (
            ("f1", "follow_up"),
            ("s1", "steer"),
            ("f2", "follow_up"),
            ("s2", "steer"),
        )
    ]
    assert positions == [1, 1, 3, 2]
    waiting = await store.pending("s")
    assert [(receipt.id, receipt.position, kind) for receipt, _, kind in waiting] == [
        ("s1", 1, "steer"),
        ("s2", 2, "steer"),
        ("f1", 3, "follow_up"),
        ("f2", 4, "follow_up"),
    ]


async def test_a_waiting_message_can_be_edited_and_withdrawn(store: SessionStore) -> None:
    await store.create("s")
    await store.send("s", said("m"), "steer")
    assert (await edit(store, "s", said("m", "Better."))).position == 1
    ((_, message, _),) = await store.pending("s")
    assert message == said("m", "Better.")
    assert await withdraw(store, "s", "m") == said("m", "Better.")
    assert await store.pending("s") == []
    assert [type(event) for event in await store.read("s")] == [
        Queued,
        QueueEdited,
        QueueLeft,
    ]
    receipt = await store.send("s", said("m"), "steer")
    assert (receipt.state, receipt.position, receipt.is_new) == ("withdrawn", 0, False)
    assert await store.receipt("s", "m") == receipt


async def test_there_is_no_receipt_of_a_message_that_was_never_sent(
    store: SessionStore,
) -> None:
    await store.create("s")
    assert await store.receipt("s", "m") is None
    await store.create("other")
    await store.send("other", said("m"), "steer")
    assert await store.receipt("s", "m") is None
    with pytest.raises(SessionNotFound):
        await store.receipt("none", "m")


async def test_a_message_that_left_can_not_be_changed(store: SessionStore) -> None:
    lease = await driven(store)
    await store.send("s", said("m"), "steer")
    delivery: list[Event] = [
        QueueLeft(message_id="m", how="delivered"),
        MessageAdded(message=said("m")),
    ]
    await store.append(lease, delivery, after=1)
    for refused in (
        edit(store, "s", said("m", "too late")),
        withdraw(store, "s", "m"),
        store.append(lease, [TurnStarted(turn="with it"), *delivery], after=3),
        store.command(
            "s", [TurnStarted(turn="with it"), QueueLeft(message_id="m", how="returned")]
        ),
        store.command("s", [QueueEdited(message=said("m"))]),
    ):
        with pytest.raises(CommandRefused, match="was delivered"):
            await refused
    with pytest.raises(CommandRefused, match="never queued"):
        await withdraw(store, "s", "unheard of")
    with pytest.raises(CommandRefused, match="queued before"):
        await store.command("s", [Queued(message=said("m"), kind="steer", position=1)])
    with pytest.raises(CommandRefused, match="needs an id"):
        await store.send("s", said(""), "steer")
    assert (await store.about("s")).seq == 3


async def test_a_withdrawal_and_a_delivery_at_once_have_one_winner(
    store: SessionStore,
) -> None:
    lease = await driven(store)
    for number in range(30):
        name = f"m{number}"
        await store.send("s", said(name), "steer")
        delivery: list[Event] = [
            QueueLeft(message_id=name, how="delivered"),
            MessageAdded(message=said(name)),
        ]
        both = await asyncio.gather(
            withdraw(store, "s", name),
            store.append(lease, delivery, after=0),
            return_exceptions=True,
        )
        assert sum(isinstance(each, CommandRefused) for each in both) == 1
    events = await store.read("s")
    left = [event for event in events if isinstance(event, QueueLeft)]
    assert len(left) == 30
    assert sum(isinstance(event, MessageAdded) for event in events) == sum(
        each.how == "delivered" for each in left
    )


async def test_many_writers_at_once_get_numbers_without_gaps(store: SessionStore) -> None:
    lease = await driven(store)
    appends = (
        store.append(lease, [TurnStarted(turn=f"a{number}")] * 2, after=0)
        for number in range(150)
    )
    commands = (
        store.command("s", [ApprovalGiven(call_id=str(number), approved=True)])
        for number in range(150)
    )
    given = await asyncio.gather(*appends, *commands)
    events = await store.read("s")
    assert [event.seq for event in events] == list(range(1, 451))
    for each in given[:150]:
        assert list(each) == events[: len(each)], (
            "an append gives the ledger up to its own events"
        )


async def test_a_write_whose_caller_was_cancelled_is_written(store: SessionStore) -> None:
    lease = await driven(store)
    tasks = [
        asyncio.create_task(store.append(lease, [TurnStarted(turn=str(number))], after=0))
        for number in range(20)
    ]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert all(task.cancelled() for task in tasks)
    await store.append(lease, [TurnStarted(turn="after them")], after=0)
    assert len(await store.read("s")) == 21


async def test_an_unclosed_store_writes_what_was_begun_at_the_end(
    processes_place: str,
) -> None:
    program = f"""
import asyncio
from ullage.events import TurnStarted
from ullage.store.places import store_at
from ullage.store.waiting import edit, withdraw
from ullage.store.forking import fork
async def main():
    store = store_at({processes_place!r})
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=60)
    for number in range(500):
        asyncio.ensure_future(store.append(lease, [TurnStarted(turn=str(number))], after=0))
    await asyncio.sleep(0)
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    assert await process.wait() == 0
    store = store_at(processes_place)
    assert len(await store.read("s")) == 500
    await store.close()


async def test_a_closed_store_says_so_and_closes_twice_quietly(
    store: SessionStore,
) -> None:
    await store.create("s")
    await store.close()
    await store.close()
    for late in (store.create("t"), store.read("s"), store.send("s", said("m"), "steer")):
        with pytest.raises(StoreUnavailable, match="was closed"):
            await late


def test_one_store_serves_several_event_loops(place: str) -> None:
    store = store_at(place)
    asyncio.run(store.create("s"))
    assert asyncio.run(store.read("s")) == []
    asyncio.run(store.close())
