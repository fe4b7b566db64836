import asyncio

import pytest

from ullage.errors import StoreUnavailable
from ullage.events import DraftPiece, TurnStarted
from ullage.store.changes import MOST_HELD, Change, Subscription, Watchers

STORED = Change("s", 1, (TurnStarted(turn="t", seq=1),))


async def test_a_watcher_is_told_of_its_session_alone() -> None:
    watchers, subscription = Watchers(), Subscription("s")
    assert not watchers.is_listening()
    watchers.add(subscription)
    assert watchers.is_listening()
    watchers.tell([Change("other", 1, STORED.stored)])
    watchers.tell([Change("other")])
    assert not await subscription.wait(0.01)
    watchers.tell([STORED])
    assert await subscription.wait(60)
    assert subscription.take() == ([STORED], False)
    watchers.remove(subscription)
    watchers.remove(subscription)
    assert not watchers.is_listening()


async def test_pieces_wake_only_those_who_show_them() -> None:
    watchers = Watchers()
    shows, waits = Subscription("s"), Subscription("s", has_pieces=False)
    watchers.add(shows)
    watchers.add(waits)
    pieces = Change("s", 1, (DraftPiece("c", 0, "text", "p", "x"),))
    watchers.tell([STORED])
    assert await waits.wait(60)
    assert waits.newest() == 1
    assert await shows.wait(60)
    assert shows.take() == ([STORED], False)
    watchers.tell([pieces])
    assert await shows.wait(60)
    assert shows.take() == ([pieces], False)
    assert not await waits.wait(0)
    watchers.tell([pieces._replace(seq=2)])  # the news of the second event was lost
    assert await waits.wait(60)
    assert waits.newest() == 2


@pytest.mark.parametrize("seq", [0, 5])
async def test_what_another_process_stored_has_to_be_looked_up(seq: int) -> None:
    watchers, subscription = Watchers(), Subscription("s")
    watchers.add(subscription)
    watchers.tell([Change("s", seq)])
    assert await subscription.wait(60)
    assert subscription.take() == ([], True)
    assert subscription.take() == ([], False)


async def test_a_watcher_that_takes_nothing_is_told_to_look() -> None:
    subscription = Subscription("s")
    for _ in range(MOST_HELD + 1):
        subscription.hear(STORED)
    assert subscription.take() == ([], True)


async def test_a_change_that_stored_nothing_has_to_be_looked_up() -> None:
    subscription = Subscription("s")
    subscription.hear(Change("s"))
    assert subscription.take() == ([], True)


def told(seq: int) -> Change:
    return Change("s", seq, (TurnStarted(turn="t", seq=seq),))


async def test_the_newest_event_that_the_news_tells_of_is_told_once() -> None:
    subscription = Subscription("s")
    for seq in (3, 4):
        subscription.hear(told(seq))
    assert subscription.newest() == 4
    assert subscription.newest() == 0
    subscription.hear(Change("s", 4, (DraftPiece("c", 0, "text", "p", "x"),)))
    assert subscription.newest() == 4


async def test_only_the_ledger_knows_the_newest_event_after_news_from_elsewhere() -> None:
    subscription = Subscription("s")
    subscription.hear(told(3))
    subscription.hear(Change("s"))
    assert subscription.newest() is None
    for _ in range(MOST_HELD + 1):
        subscription.hear(STORED)
    assert subscription.newest() is None


async def test_known_news_from_elsewhere_wake_only_those_who_show_pieces() -> None:
    shows, waits = Subscription("s"), Subscription("s", has_pieces=False)
    for subscription in (shows, waits):
        subscription.hear(told(3))
        assert await subscription.wait(0)
        subscription.hear(Change("s", 3))
    assert await shows.wait(0) and not await waits.wait(0)
    waits.hear(Change("s", 10**17))
    waits.hear(told(4))
    assert await waits.wait(0), "a false number hides no event"


async def test_the_end_of_the_store_ends_the_waiting() -> None:
    watchers, subscription = Watchers(), Subscription("s")
    watchers.add(subscription)
    waiting = asyncio.create_task(subscription.wait())
    await asyncio.sleep(0)
    watchers.end()
    with pytest.raises(StoreUnavailable, match="closed"):
        await waiting


def test_watchers_of_a_loop_that_was_closed_are_told_nothing() -> None:
    watchers = Watchers()

    async def watch() -> None:
        watchers.add(Subscription("s"))

    asyncio.run(watch())
    watchers.tell([STORED])
    watchers.end()
