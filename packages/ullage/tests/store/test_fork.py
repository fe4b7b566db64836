import pytest

from tests.store.sessions import said
from ullage.errors import CommandRefused, LedgerError
from ullage.events import (
    Event,
    Forked,
    MessageAdded,
    Queued,
    QueueLeft,
    SessionStarted,
    TurnStarted,
)
from ullage.store.forking import fork
from ullage.store.store import SessionStore
from ullage.store.waiting import edit


async def origin(store: SessionStore) -> str:
    """Eight events: `early` is delivered, `edited` and `late` wait; gives the handle of what is kept."""
    await store.create("o", [SessionStarted(model="m", title="The origin")])
    lease = await store.acquire("o", "driver", ttl_s=60)
    await store.send("o", said("early"), "steer")
    await store.send("o", said("edited"), "follow_up")
    delivered: list[Event] = [
        QueueLeft(message_id="early", how="delivered"),
        MessageAdded(message=said("early")),
    ]
    await store.append(lease, delivered, after=3)
    await edit(store, "o", said("edited", "Better."))
    await store.send("o", said("late"), "steer")
    await store.append(lease, [TurnStarted(turn="t")], after=7)
    return await store.keep("o", b"a long result")


async def test_a_fork_is_a_copy_up_to_an_event_with_nothing_waiting(
    store: SessionStore,
) -> None:
    handle = await origin(store)
    added = await fork(store, "o", "f", through=7)
    assert [type(event) for event in added] == [QueueLeft, QueueLeft, Forked]
    dropped = ("the queued message edited", "the queued message late")
    assert added[-1] == Forked(
        origin="o",
        through=7,
        dropped=dropped,
        session="f",
        seq=10,
        id="e10",
        at=added[-1].at,
    )
    theirs, ours = await store.read("o"), await store.read("f")
    assert [type(event) for event in ours[:7]] == [type(event) for event in theirs[:7]]
    assert [(event.id, event.at) for event in ours[:7]] == [
        (event.id, event.at) for event in theirs[:7]
    ]
    assert {event.session for event in ours} == {"f"}
    assert await store.pending("f") == []
    assert [receipt.id for receipt, _, _ in await store.pending("o")] == [
        "late",
        "edited",
    ]
    assert await store.kept("f", handle) == b"a long result"
    about = await store.about("f")
    assert (about.title, about.model, about.origin, about.seq, about.held_by) == (
        "The origin",
        "m",
        "o",
        10,
        "",
    )


@pytest.mark.parametrize(
    ("through", "waiting"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 1), (6, 1), (8, 2)]
)
async def test_at_every_place_what_waited_there_is_ended(
    store: SessionStore, through: int, waiting: int
) -> None:
    await origin(store)
    added = await fork(store, "o", "f", through=through)
    assert (
        sum(isinstance(event, QueueLeft) and event.how == "returned" for event in added)
        == waiting
    )
    events = await store.read("f")
    queued = {event.message.id for event in events if isinstance(event, Queued)}
    assert queued == {
        event.message_id for event in events if isinstance(event, QueueLeft)
    }
    for name in queued:
        assert not (await store.send("f", said(name), "steer")).is_new, (
            "an id is used once, in a fork too"
        )


async def test_a_fork_of_a_fork_goes_on_by_itself(store: SessionStore) -> None:
    await origin(store)
    await fork(store, "o", "f", through=8)
    await fork(store, "f", "g", through=12)
    lease = await store.acquire("g", "driver", ttl_s=60)
    await store.append(lease, [TurnStarted(turn="own")], after=13)
    assert len(await store.read("o")) == 8
    assert len(await store.read("f")) == 12
    assert (await store.about("g")).origin == "f"


async def test_a_place_that_is_not_there_and_a_taken_id_are_refused(
    store: SessionStore,
) -> None:
    await origin(store)
    for through in (-1, 9):
        with pytest.raises(LedgerError, match="its last one is 8"):
            await fork(store, "o", "f", through=through)
    with pytest.raises(CommandRefused, match="already"):
        await fork(store, "o", "o", through=1)
    assert [row.id for row in await store.sessions()] == ["o"]
