"""Notifications that no process of ours has sent, as who is connected may send any; and those that were lost."""

from __future__ import annotations

import asyncio
import json

import asyncpg
import pytest

from tests.postgres import WAIT_S
from tests.store.sessions import said
from ullage.events import DraftPiece, TurnStarted
from ullage_cluster.postgres import news
from ullage_cluster.postgres.news import CHANNEL, MOST_PIECES
from ullage_cluster.postgres.store import PostgresStore


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


async def test_a_piece_of_which_nothing_told_is_found_behind_one_that_was_heard(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = PostgresStore(database_url), PostgresStore(database_url)
    try:
        async with asyncio.timeout(WAIT_S):
            await store.create("s")
            lease = await store.acquire("s", "driver", ttl_s=600)
            await store.send("s", said("m"), "steer")
            following = other.follow("s", after=0)
            await anext(following)
            for offset in range(3):
                heard = DraftPiece("c", 2 * offset, "text", "p", "heard")
                await store.draft(lease, [heard])
                assert await anext(following) == heard
                lost = DraftPiece("c", 2 * offset + 1, "text", "p", "lost")
                with monkeypatch.context() as patched:
                    patched.setattr(news, "payload_of", lambda change: "")
                    await store.draft(lease, [lost])
                    assert await anext(following) == lost
    finally:
        await store.close()
        await other.close()
