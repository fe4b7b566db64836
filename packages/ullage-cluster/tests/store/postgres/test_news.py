"""Notifications that no process of ours has sent, as who is connected may send any; and those that were lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import cast

import asyncpg
import pytest

from tests.postgres import WAIT_S
from tests.store.sessions import said
from ullage.errors import SessionNotFound
from ullage.events import (
    CallEnded,
    CallStarted,
    DraftPiece,
    Event,
    Queued,
    TurnStarted,
)
from ullage.store.changes import Change
from ullage.store.store import StoreObserver
from ullage_cluster.postgres import news
from ullage_cluster.postgres.news import CHANNEL, MOST_PIECES, News
from ullage_cluster.postgres.store import PostgresStore

CRASH = """WITH lost AS (DELETE FROM drafts RETURNING id)
SELECT setval(pg_get_serial_sequence('drafts', 'id'), id, false) FROM lost"""
"""As after one of the database that lost the last row and its number."""


def forged(session: str, seq: int, *pieces: tuple[object, ...]) -> str:
    return json.dumps([session, seq, 10**30, pieces])


FORGED = (
    "",
    "[",
    "[" * 7_000,
    "\x01" * 7_000,
    json.dumps(["s", 1, 0, [["c", 0, "text"]]]),
    forged("\x1b[2J", 1),
    forged("s", 10**30),
    forged("s", -1),
    forged("s", 0),
    forged("other", 10**30, ("c", 0, "text", "p", "false", "", "")),
    forged("s", 1, ("c", -9, "text", "p", "false", "", "")),
    forged("s", 1, ("c", MOST_PIECES, "text", "p", "false", "", "")),
    forged("s", 1, ("c", 10**40, "text", "p", "false", "", "")),
    forged("s", 10**30, ("c", 0, "text", "p", "false", "", "")),
)


async def test_forged_notifications_take_nothing_from_others(database_url: str) -> None:
    store, other = PostgresStore(database_url), PostgresStore(database_url)
    forger = await asyncpg.connect(database_url)
    try:
        async with asyncio.timeout(WAIT_S):
            await store.create("s")
            lease = await store.acquire("s", "driver", ttl_s=600)
            await store.send("s", said("m"), "steer")
            following = other.follow("s", after=0)
            await anext(following)
            for offset, payload in enumerate(FORGED):
                await forger.execute("SELECT pg_notify($1, $2)", CHANNEL, payload)
                piece = DraftPiece("c", offset, "text", "p", f"piece {offset}")
                await store.draft(lease, [piece])
                assert await anext(following) == piece
            (turn,) = await store.append(lease, [TurnStarted(turn="t")], after=1)
            assert await anext(following) == turn
    finally:
        await forger.close()
        await store.close()
        await other.close()


class Counting(StoreObserver):
    def __init__(self) -> None:
        self.lost = 0

    def lost_notifications(self, count: int) -> None:
        self.lost += count


@dataclass
class Pair:
    """A process that writes, and one that looks only when it is told to."""

    writes: PostgresStore
    hears: PostgresStore
    url: str
    counting: Counting
    following: AsyncIterator[Event | DraftPiece]
    _patch: pytest.MonkeyPatch

    async def next(self) -> Event | DraftPiece:
        """What is heard next."""
        async with asyncio.timeout(WAIT_S):
            return await anext(self.following)

    async def look(self) -> None:
        heard = self.hears._base._news
        assert heard is not None
        assert heard._connection is not None
        looking = partial(heard._look, heard._connection, ["s"])
        await self.hears._base.run(looking)

    async def lost(self) -> int:
        """How many notifications are called lost by two looks: what the first one finds may still be told of.

        What is heard next may come from the tables, before its notification is sent.
        """
        await self.writes._base.run(self._sent)
        self.counting.lost = 0
        await self.look()
        await self.look()
        return self.counting.lost

    async def _sent(self) -> None:
        """Return once the server has each notification of the process that writes."""
        news = self.writes._base._news
        assert news is not None
        await news._send()
        async with news._lock:  # which a notification holds that is on its way
            pass

    @contextmanager
    def losing(self) -> Iterator[None]:
        """No change that is made inside is told of."""
        with self._patch.context() as patch:
            patch.setattr(self.writes._base._news, "tell", lambda change: None)
            yield


@pytest.fixture
async def pair(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    monkeypatch.setattr(news, "LOOK_S", 3_600.0)
    counting = Counting()
    writes, hears = PostgresStore(database_url), PostgresStore(database_url)
    hears.observe(counting)
    await writes.create("s")
    await writes.send("s", said("m"), "steer")
    following = hears.follow("s", after=0)
    pair = Pair(writes, hears, database_url, counting, following, monkeypatch)
    await pair.next()
    yield pair
    await cast(AsyncGenerator[object], following).aclose()
    await writes.close()
    await hears.close()


def piece(call: str, offset: int) -> DraftPiece:
    return DraftPiece(call, offset, "text", "p", "x")


async def test_nothing_is_called_lost_that_was_told(pair: Pair) -> None:
    seq = 1
    for call in ("c", "d"):
        lease = await pair.writes.acquire("s", "driver", ttl_s=600)
        assert not await pair.lost(), "acquired"
        for offset in range(3):
            await pair.writes.draft(lease, [piece(call, offset)])
            assert await pair.next() == piece(call, offset)
            assert not await pair.lost(), "a piece"
            await pair.writes.send("s", said(f"{call}{offset}"), "steer")
            await pair.next()
            assert not await pair.lost(), "an event amid an answer"
            seq += 1
        turn = [TurnStarted(turn=call)]
        await pair.writes.append(lease, turn, after=seq, ends_draft=call)
        await pair.next()
        await pair.writes.release(lease)
        seq += 1
        assert not await pair.lost(), "the end of an answer, and a release"


async def test_news_that_come_behind_a_look_were_not_lost(pair: Pair) -> None:
    lease = await pair.writes.acquire("s", "driver", ttl_s=600)
    for offset in range(3):
        with pair.losing():
            await pair.writes.draft(lease, [piece("c", offset)])
        await pair.look()
        late = Change("s", 1, (piece("c", offset),))
        assert pair.writes._base._news is not None
        await pair.writes._base.run(partial(_told, pair.writes._base._news, late))
        assert await pair.next() == piece("c", offset)
        assert not await pair.lost()


async def _told(news_of: News, change: Change) -> None:
    news_of.tell(change)


async def test_a_piece_of_which_nothing_told_is_found_behind_one_that_was_heard(
    pair: Pair,
) -> None:
    lease = await pair.writes.acquire("s", "driver", ttl_s=600)
    for offset in range(0, 6, 2):
        await pair.writes.draft(lease, [piece("c", offset)])
        assert await pair.next() == piece("c", offset)
        with pair.losing():
            await pair.writes.draft(lease, [piece("c", offset + 1)])
        assert await pair.lost() == 1
        assert await pair.next() == piece("c", offset + 1)


async def test_a_piece_of_which_nothing_told_is_found_behind_an_own_event(
    pair: Pair,
) -> None:
    lease = await pair.writes.acquire("s", "driver", ttl_s=600)
    with pair.losing():
        await pair.writes.draft(lease, [piece("c", 0)])
    await pair.hears.send("s", said("n"), "steer")
    event = await pair.next()
    assert isinstance(event, Queued)
    assert event.seq == 2
    assert await pair.lost() == 1


async def test_the_piece_of_another_call_is_not_taken_for_one_that_was_seen(
    pair: Pair,
) -> None:
    lease = await pair.writes.acquire("s", "driver", ttl_s=600)
    await pair.writes.draft(lease, [piece("c", 0)])
    assert await pair.next() == piece("c", 0)
    await pair.look()
    end, start = CallEnded(call="c"), CallStarted(call="d")
    await pair.writes.append(lease, [end, start], after=1, ends_draft="c")
    assert [await pair.next(), await pair.next()] == [
        *await pair.hears.read("s", after=1)
    ]
    with pair.losing():
        await pair.writes.draft(lease, [piece("d", 0)])
    assert await pair.lost() == 1
    assert await pair.next() == piece("d", 0)


async def test_a_row_that_has_the_number_of_a_lost_one_is_read_again(pair: Pair) -> None:
    lease = await pair.writes.acquire("s", "driver", ttl_s=600)
    with pair.losing():
        await pair.writes.draft(lease, [piece("c", 0)])
    assert await pair.lost() == 1
    assert await pair.next() == piece("c", 0)
    crashing = await asyncpg.connect(pair.url)
    await crashing.execute(CRASH)
    await crashing.close()
    with pair.losing():
        pieces = [piece("c", offset) for offset in range(3)]
        await pair.writes.draft(lease, pieces)
    turn = await pair.writes.append(lease, [TurnStarted(turn="t")], after=1)
    assert [await pair.next() for _ in range(3)] == [*pieces[1:], *turn]


async def test_an_event_and_an_end_of_which_nothing_told_are_found(pair: Pair) -> None:
    await pair.writes.send("s", said("heard"), "steer")
    await pair.next()
    with pair.losing():
        await pair.writes.send("s", said("lost"), "steer")
    assert await pair.lost() == 1
    event = await pair.next()
    assert isinstance(event, Queued)
    assert event.message == said("lost")
    await pair.writes.send("s", said("heard, too"), "steer")
    await pair.next()
    with pair.losing():
        await pair.writes.delete("s")
    assert await pair.lost() == 1
    with pytest.raises(SessionNotFound):
        await pair.next()


async def test_who_heard_of_an_event_that_there_never_will_be_hears_of_others(
    pair: Pair,
) -> None:
    forger = await asyncpg.connect(pair.url)
    async with pair.hears.watch("s") as watch:
        await forger.execute("SELECT pg_notify($1, $2)", CHANNEL, forged("s", 10**9))
        assert await watch.wait(WAIT_S)
        await pair.writes.send("s", said("n"), "steer")
        assert await watch.wait(WAIT_S)
    await forger.close()
