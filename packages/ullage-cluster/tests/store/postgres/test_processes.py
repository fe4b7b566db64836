"""Whose process has ended on another machine, as its lock in PostgreSQL tells, for a role without special rights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.postgres import ROLE, WAIT_S, plain_database, shared_server
from tests.store.sessions import said
from ullage.errors import SessionBusy
from ullage.loop_thread import LoopThread
from ullage.store.leases import new_owner, this_process
from ullage.store.store import ASKED_S
from ullage_cluster.postgres import news
from ullage_cluster.postgres.connecting import PgConnection, lock_of
from ullage_cluster.postgres.news import STEADY_S, News
from ullage_cluster.postgres.store import PostgresStore

ELSEWHERE = "elsewhere-1234abcd:17:1"
"""A process of another machine."""

DRIVER = f"{ELSEWHERE}:ff"

LOCK = "SELECT pg_advisory_lock_shared($1)"

END_LISTENING = """
SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 60000)) FROM pg_locks
WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""Returns once they have ended, and hold no lock."""


@pytest.fixture(scope="module")
def settled_url() -> Iterator[str]:
    """A database to which a process of ours has been connected for longer than ``STEADY_S``."""
    thread = LoopThread("connected for long")
    with plain_database() as url:
        assert f"{ROLE}@" in url

        async def connected() -> PgConnection:
            return await asyncpg.connect(
                url, server_settings={"application_name": "ullage"}
            )

        connection = thread.run(connected)
        time.sleep(STEADY_S)
        yield url
        thread.end(connection.close, within_s=WAIT_S)


@pytest.fixture
async def store(settled_url: str) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(settled_url)
    yield opened
    await opened.close()


async def other_process(url: str) -> PgConnection:
    """A connection that shows that the process of another machine lives."""
    connection = await asyncpg.connect(url)
    await connection.execute(LOCK, lock_of(ELSEWHERE))
    return connection


async def driven_elsewhere(store: PostgresStore, *sessions: str) -> None:
    """Have the process of the other machine drive sessions, of a place that has the first one's name."""
    for session in sessions:
        await store.create(session, place=sessions[0])
        await store.send(session, said("m"), "steer")
        await store.acquire(session, DRIVER, ttl_s=3_600)
    await asyncio.sleep(ASKED_S)  # nobody else is asked before


async def test_sessions_of_a_process_that_ended_elsewhere_are_taken_before_their_lease_ends(
    store: PostgresStore, settled_url: str
) -> None:
    process = await other_process(settled_url)
    await driven_elsewhere(store, "taken", "listed", "deleted")
    with pytest.raises(SessionBusy):
        await store.acquire("taken", new_owner(), ttl_s=60)
    assert await store.unattended(10, ["taken"]) == []
    await process.close()
    assert (await store.acquire("taken", new_owner(), ttl_s=60)).generation == 2
    left = await store.unattended(10, ["taken"])
    assert [each.id for each in left] == ["listed", "deleted"]
    await store.delete("deleted")


async def test_a_process_that_is_soon_connected_again_keeps_its_sessions(
    store: PostgresStore, settled_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await other_process(settled_url)
    again = await asyncpg.connect(settled_url)
    await driven_elsewhere(store, "kept")
    await process.close()
    loop, free, found = asyncio.get_running_loop(), News._free, list[set[str]]()

    async def connected_behind_the_first_look(
        self: News, connection: PgConnection, processes: set[str]
    ) -> set[str]:
        found.append(await free(self, connection, processes))
        if len(found) == 1:
            locking = again.execute(LOCK, lock_of(ELSEWHERE))
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(locking, loop))
        return found[-1]

    monkeypatch.setattr(News, "_free", connected_behind_the_first_look)
    assert await store.unattended(10, ["kept"]) == []
    assert found == [{ELSEWHERE}, set()]
    with pytest.raises(SessionBusy):
        await store.acquire("kept", new_owner(), ttl_s=60)
    await again.close()


async def test_after_a_restart_of_the_server_no_process_counts_as_ended_at_once(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "STEADY_S", 3_600.0)
    store = PostgresStore(database_url)  # all connections are new, as after a restart
    await driven_elsewhere(store, "s")
    with pytest.raises(SessionBusy):
        await store.acquire("s", new_owner(), ttl_s=60)
    assert await store.unattended(10) == []
    await store.close()


async def test_a_driver_whose_name_tells_no_process_lives_until_its_lease_ends(
    store: PostgresStore,
) -> None:
    await store.create("of no process")
    await store.acquire("of no process", "driver", ttl_s=3_600)
    with pytest.raises(SessionBusy):
        await store.acquire("of no process", new_owner(), ttl_s=60)


async def test_a_process_shows_that_it_lives_again_after_its_connection_was_lost(
    store: PostgresStore, settled_url: str
) -> None:
    other = PostgresStore(settled_url)  # the process's lock outlives its first store
    await other.open()
    await store.open()
    await other.close()
    name = settled_url.partition("?")[0].rpartition("/")[2]
    watching = await asyncpg.connect(settled_url)
    for _ in range(3):
        assert int(await asyncio.to_thread(shared_server().sql, END_LISTENING, name))
        await store.create(session := f"s{time.monotonic_ns()}")
        await store.acquire(session, new_owner(), ttl_s=60)  # once others see it
        key = lock_of(this_process())
        assert not await watching.fetchval("SELECT pg_try_advisory_lock($1)", key)
    await watching.close()
