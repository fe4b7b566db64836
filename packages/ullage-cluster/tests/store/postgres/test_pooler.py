"""The store behind pgbouncer in transaction mode, with PostgreSQL's own address beside it."""

from __future__ import annotations

import asyncio

import pytest

from tests.pooler import pooled
from tests.postgres import WAIT_S, shared_server
from tests.store.sessions import said
from ullage.errors import LeaseLost
from ullage.events import DraftPiece, TurnStarted
from ullage_cluster.postgres.store import PostgresStore


async def test_sessions_at_once_are_written_and_followed_by_pooler(
    database_url: str,
) -> None:
    # Fewer connections than a store has: the statements of each come to PostgreSQL on any of them.
    with pooled(shared_server(), size=2) as pooler:
        await _used_at_once(pooler.url_with_direct(database_url))


async def _used_at_once(url: str) -> None:
    store, other = PostgresStore(url), PostgresStore(url)

    async def used(session: str) -> None:
        await store.create(session)
        lease = await store.acquire(session, "one", ttl_s=600)
        following = other.follow(session)
        for number in range(1, 11):
            receipt = await other.send(session, said(f"m{number}"), "steer")
            assert receipt.position == number
            (turn,) = await store.append(
                lease, [TurnStarted(turn=f"t{number}")], after=2 * number - 1, exact=True
            )
            await store.draft(lease, [DraftPiece("c", number - 1, "text", "p", "piece")])
            seen = [await anext(following) for _ in range(3)]
            assert turn in seen and any(isinstance(each, DraftPiece) for each in seen)
        await store.renew(lease, ttl_s=0)
        await other.acquire(session, "two", ttl_s=600)
        with pytest.raises(LeaseLost):
            await store.append(lease, [TurnStarted(turn="late")], after=20)
        assert len(await store.read(session)) == 20

    async with asyncio.timeout(5 * WAIT_S):
        await asyncio.gather(*(used(f"s{number}") for number in range(8)))
    await store.close()
    await other.close()
