"""A driver's process remembers how its session stands; another process may have changed that meanwhile."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from tests.store.sessions import said
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    TurnEnded,
    TurnStarted,
)
from ullage.turns.standing import AT_REST, stood
from ullage_cluster.postgres.base import OpenDatabase
from ullage_cluster.postgres.store import PostgresStore

ASKED: list[Event] = [
    TurnStarted(turn="t", at=1),
    *(ApprovalAsked(call_id=call, at=1) for call in "abc"),
]


async def test_a_standing_that_changes_twice_while_it_is_folded_is_folded_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = PostgresStore(database_url), PostgresStore(database_url)
    await store.create("s", ASKED)
    lease = await store.acquire("s", "one", ttl_s=600)
    write_once = OpenDatabase._write_once
    calls = iter("ab")
    tries = 0

    async def write_after_others(self: OpenDatabase, write: Any, writer: Any) -> Any:
        nonlocal tries
        if self is store._base:
            tries += 1
            if call := next(calls, ""):
                given = ApprovalGiven(call_id=call, approved=True, at=2)
                await other.command("s", [given])
        return await write_once(self, write, writer)

    monkeypatch.setattr(OpenDatabase, "_write_once", write_after_others)
    try:
        asked = ApprovalAsked(call_id="d", at=3)
        written = await store.append(lease, [asked], after=4, durable=True)
        assert [event.seq for event in written] == [5, 6, 7]
        assert tries == 3
        standing = (await store.about("s")).standing
        assert [each.call_id for each in standing.approvals] == ["c", "d"]
        assert standing == stood(AT_REST, await store.read("s"))
    finally:
        await store.close()
        await other.close()


async def test_steps_of_a_turn_change_no_index_of_their_session(
    database_url: str,
) -> None:
    creating = PostgresStore(database_url)
    await creating.create("s")
    await creating.close()
    before = await updates(database_url)
    store = PostgresStore(database_url)
    lease = await store.acquire("s", "one", ttl_s=600)
    await store.send("s", said("m"), "steer")
    written = await store.append(lease, [TurnStarted(turn="t")], after=1)
    for number in range(5):
        call = f"c{number}"
        step: list[Event] = [
            CallStarted(call=call),
            CallEnded(call=call),
            MessageAdded(message=said(call)),
        ]
        written = await store.append(lease, step, after=written[-1].seq)
    await store.append(lease, [TurnEnded(turn="t")], after=written[-1].seq)
    await store.close()
    made, moved = (
        now - then for now, then in zip(await updates(database_url), before, strict=True)
    )
    assert (made, moved) == (9, 1), "the message alone moves it in lists"


END_ALL = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE application_name = 'ullage' AND datname = current_database()
"""


async def updates(url: str) -> tuple[int, int]:
    """How often rows of sessions were updated, and how often an index with them.

    PostgreSQL counts the last ones of a connection when that has ended.
    """
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(END_ALL)
        row = await connection.fetchrow(
            "SELECT n_tup_upd, n_tup_upd - n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'sessions'"
        )
        return tuple(row)
    finally:
        await connection.close()
