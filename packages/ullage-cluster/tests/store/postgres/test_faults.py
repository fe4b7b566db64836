"""What dies in the middle of writes: PostgreSQL, its connections, the program that writes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.postgres import WAIT_S, PostgresServer, new_server, shared_server
from tests.store.sessions import said
from tests.store.test_following import ENDS, examine, until_the_end
from ullage.codec.stream import TextDelta
from ullage.errors import LeaseLost
from ullage.events import CallStarted, DraftPiece, Event, TurnStarted
from ullage.store.forking import fork
from ullage.store.store import Lease, SessionStore
from ullage.tasks import background
from ullage_agent.runtime.drafting import drafting
from ullage_cluster.postgres import base
from ullage_cluster.postgres.connecting import PgConnection, PgPool, drop
from ullage_cluster.postgres.store import PostgresStore

pytestmark = pytest.mark.slow

SESSIONS = 6
CRASHES = 3


@pytest.fixture(autouse=True)
def _a_busy_machine_takes_long_to_start_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WAIT_S", "READ_S"):
        monkeypatch.setattr(base, name, float(WAIT_S))


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    server = new_server()
    yield server
    server.remove()


async def test_a_crash_of_the_server_loses_nothing_durable_and_writes_nothing_twice(
    own_server: PostgresServer,
) -> None:
    store = PostgresStore(own_server.url(own_server.new_database()))
    is_over = asyncio.Event()
    has_begun = asyncio.Event()
    acknowledged: dict[str, list[str]] = {}

    async def drive(session: str) -> None:
        lease = await store.acquire(session, "o", ttl_s=600)
        names = acknowledged[session] = []
        while not is_over.is_set():
            turn = TurnStarted(turn=f"{session}-{len(names)}")
            await store.append(lease, [turn], after=len(names), durable=True)
            names.append(turn.turn)
            # A crash loses the lease of a driver that has written nothing durable.
            if len(acknowledged) == SESSIONS and all(acknowledged.values()):
                has_begun.set()
        end = TurnStarted(turn=ENDS)
        await store.append(lease, [end], after=len(names), durable=True)
        names.append(ENDS)

    async def some_write() -> None:
        """Wait for a write, and fail with a driver that ended."""
        async with asyncio.timeout(60), background(has_begun.wait()) as waiting:
            await asyncio.wait([waiting, *drivers], return_when="FIRST_COMPLETED")
            assert has_begun.is_set(), [each for each in drivers if each.done()]

    sessions = [f"s{number}" for number in range(SESSIONS)]
    for each in sessions:
        await store.create(each)
    drivers = [asyncio.create_task(drive(each)) for each in sessions]
    await some_write()
    follower = asyncio.create_task(until_the_end(store.follow("s0")))
    for _ in range(CRASHES):
        has_begun.clear()
        await some_write()
        await asyncio.to_thread(own_server.stop, "immediate")
        await asyncio.to_thread(own_server.start)
    is_over.set()
    async with asyncio.timeout(60):
        await asyncio.gather(*drivers)
    for session in sessions:
        events = await store.read(session)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        turns = [event.turn for event in events if isinstance(event, TurnStarted)]
        assert turns == acknowledged[session]
    async with asyncio.timeout(60):
        seen = await follower
    examine(seen)
    assert len(seen) == len(acknowledged["s0"])
    await store.close()


async def test_a_crash_amid_an_answer_leaves_no_hole_for_its_followers() -> None:
    """A crash loses pieces that followers have. Those who come back hear the next ones before they have read."""
    server = new_server("wal_writer_delay = 10s\n")  # loses all that is not durable
    url = server.url(server.new_database())
    stores = [PostgresStore(url), PostgresStore(url)]
    for store in stores:
        await store.open()  # one that is opened first during the crash fails at once
    await stores[0].create("s")
    lease = await stores[0].acquire("s", "o", ttl_s=600)
    call = [CallStarted(call="c")]
    (begun,) = await stores[0].append(lease, call, after=0, durable=True)
    lost = 0
    has_stored = asyncio.Event()

    async def store_pieces(lease: Lease, pieces: Sequence[DraftPiece], **how: Any) -> int:
        nonlocal lost
        stored = await stores[0].draft(lease, pieces, **how)
        lost += max(0, pieces[0].offset - stored)
        has_stored.set()
        return stored

    async def follow(store: PostgresStore, leaves: bool) -> list[Event | DraftPiece]:
        seen: list[Event | DraftPiece] = []
        while True:
            at, offset = (begun.at, len(seen) - 1) if leaves else (0.0, -1)
            stream = store.follow("s", after=int(leaves), offset=offset, at=at)
            async for item in stream:
                seen.append(item)
                if isinstance(item, TurnStarted):
                    return seen
                if leaves and len(seen) % 17 == 0:
                    break

    followers = [
        asyncio.create_task(follow(store, leaves))
        for store in stores
        for leaves in (False, True, True, True)
    ]
    seam = cast(SessionStore, SimpleNamespace(draft=store_pieces))
    pieces = 0
    async with drafting(seam, lease, "c", after=1, at=begun.at, flush_s=0.01) as draft:
        for crashes in range(1, CRASHES + 1):
            has_stored.clear()
            restarting = asyncio.create_task(_crash(server, has_stored))
            while not restarting.done():
                draft.put(TextDelta("p", str(pieces)))
                pieces += 1
                await asyncio.sleep(0.002)
            await restarting
            while len(await stores[1].read_draft("s")) < 100 * crashes:
                draft.put(TextDelta("p", str(pieces)))
                pieces += 1
                await asyncio.sleep(0.002)
    await stores[0].append(lease, [TurnStarted(turn=ENDS)], after=0, durable=True)
    async with asyncio.timeout(60):
        for seen in await asyncio.gather(*followers):
            drafts = [item for item in seen if isinstance(item, DraftPiece)]
            assert [item.offset for item in drafts] == list(range(pieces))
    assert lost, "no crash lost a piece"
    for store in stores:
        await store.close()
    server.remove()


async def _crash(server: PostgresServer, has_stored: asyncio.Event) -> None:
    await has_stored.wait()  # what is not durable yet
    await asyncio.sleep(0.2)
    await asyncio.to_thread(server.stop, "immediate")
    await asyncio.to_thread(server.start)


async def test_connections_ended_amid_writes_are_made_again(database_url: str) -> None:
    store = PostgresStore(database_url)
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=600)
    name = database_url.partition("?")[0].rpartition("/")[2]
    ends = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        f"WHERE datname = '{name}' AND application_name = 'ullage'"
    )

    for number in range(5 * 40):
        writing = asyncio.ensure_future(
            store.append(lease, [TurnStarted(turn=str(number))], after=number)
        )
        if number % 40 == 20:
            await asyncio.to_thread(shared_server().sql, ends)
        await writing
    events = await store.read("s")
    turns = [event.turn for event in events if isinstance(event, TurnStarted)]
    assert turns == [str(number) for number in range(5 * 40)]
    await store.close()


async def test_a_late_statement_is_not_written_a_second_time(database_url: str) -> None:
    store = PostgresStore(database_url)
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=600)
    connection = await store._base.read(_held_by_the_pool)  # the next write has it too
    backend = connection.get_server_pid()
    os.kill(backend, signal.SIGSTOP)
    writing = asyncio.create_task(store.append(lease, [TurnStarted(turn="1")], after=0))
    await asyncio.sleep(0.2)  # the statement is sent
    await store._base.run(partial(_ended, connection))
    assert len(await writing) == 1
    os.kill(backend, signal.SIGCONT)
    name = database_url.partition("?")[0].rpartition("/")[2]
    running = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {backend} AND datname = '{name}'"
    async with asyncio.timeout(60):
        while await asyncio.to_thread(shared_server().sql, running) != "0\n":
            await asyncio.sleep(0.05)
    assert len(await store.read("s")) == 1
    await store.close()


async def _held_by_the_pool(connection: PgConnection) -> PgConnection:
    return connection._con


async def _ended(connection: PgConnection) -> None:
    drop(connection)


class _LosingAnswers:
    """A pool whose connections end when a statement was committed, before its answer comes; so many times."""

    def __init__(self, pool: PgPool, losses: int) -> None:
        self.lost: list[str] = []
        self._pool = pool
        self._losses = losses

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[PgConnection]:
        async with self._pool.acquire() as connection:
            self._connection = connection
            yield connection if len(self.lost) == self._losses else self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def transaction(self) -> AbstractAsyncContextManager[object]:
        return self._committed()

    @asynccontextmanager
    async def _committed(self) -> AsyncIterator[None]:
        async with self._connection.transaction():
            yield
        self._lose("COMMIT")

    async def fetchval(self, statement: str, *values: object) -> object:
        found = await self._connection.fetchval(statement, *values)
        if "end_write" in statement:
            self._lose(statement)
        return found

    async def fetchrow(self, statement: str, *values: object) -> object:
        found = await self._connection.fetchrow(statement, *values)
        if "settle_write" in statement:
            self._lose(statement)
        return found

    def _lose(self, statement: str) -> None:
        self.lost.append(statement)
        self._connection._con.terminate()
        raise ConnectionResetError


@pytest.mark.parametrize("losses", [1, 3])
async def test_unanswered_commits_are_looked_up(database_url: str, losses: int) -> None:
    store = PostgresStore(database_url)
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=600)
    piece = DraftPiece("c", 0, "text", "p", "x")
    base = store._base
    pool = base._pool
    for write in (
        partial(store.append, lease, [TurnStarted(turn="1")], after=0),
        partial(store.draft, lease, [piece]),
        partial(fork, store, "s", "fork", through=1),
        partial(store.send, "s", said("m"), "steer"),
    ):
        base._pool = losing = _LosingAnswers(pool, losses)
        assert await write() != ()
        assert len(losing.lost) == losses
        base._pool = pool
    others = Lease("s", "another", 1)
    base._pool = _LosingAnswers(pool, losses)
    with pytest.raises(LeaseLost):
        await store.append(others, [TurnStarted(turn="2")], after=0)
    base._pool = pool
    assert [event.seq for event in await store.read("s")] == [1, 2]
    assert await store.read_draft("s") == [piece]
    assert len(await store.read("fork")) == 3
    assert len(await store.pending("s")) == 1
    await store.close()


KILLED = """
import asyncio, sys
from ullage.events import TurnStarted
from ullage.store.places import store_at
async def main():
    store = store_at(sys.argv[1])
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=600)
    for number in range(100_000):
        written = await store.append(lease, [TurnStarted(turn=str(number))], after=number)
        print(written[-1].seq, flush=True)
asyncio.run(main())
"""


async def test_a_program_that_is_killed_keeps_acknowledged(database_url: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", KILLED, database_url], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    for _ in range(50):
        program.stdout.readline()
    program.kill()
    rest = program.stdout.read().split()
    program.stdout.close()
    program.wait()
    last = int(rest[-1]) if rest else 50
    store = PostgresStore(database_url)
    events = await store.read("s")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    # one more may be stored that was not acknowledged
    assert last <= len(events) <= last + 1
    lease = await store.acquire("s", "o", ttl_s=600)
    await store.append(lease, [TurnStarted(turn="after it")], after=len(events))
    await store.close()


async def test_a_follower_finds_what_no_notification_told_of(database_url: str) -> None:
    store, other = PostgresStore(database_url), PostgresStore(database_url)
    await store.create("s")
    stream = store.follow("s")
    lease = await other.acquire("s", "o", ttl_s=600)
    await other.append(lease, [TurnStarted(turn="1")], after=0)
    seen = [await anext(stream)]
    news = other._base._news
    assert news is not None
    news.tell = lambda change: None  # type: ignore[method-assign]
    following = asyncio.create_task(until_the_end(stream))
    await other.draft(lease, [DraftPiece("c", 0, "text", "p", "x")])
    await other.append(lease, [TurnStarted(turn=ENDS)], after=1, ends_draft="c")
    async with asyncio.timeout(60):
        seen += await following
    examine(seen)
    await other.close()
    await store.close()


async def test_a_lost_lease_and_a_bad_row_fail_alone(database_url: str) -> None:
    store = PostgresStore(database_url)
    await store.create("s")
    await store.create("t")
    lease = await store.acquire("s", "o", ttl_s=600)
    other = await store.acquire("t", "o", ttl_s=600)
    bad = DraftPiece("nul \0 in a name", 0, "text", "p", "x")
    writes = [
        store.draft(lease, [DraftPiece("c", 0, "text", "p", "x")]),
        store.draft(other, [bad]),
        store.draft(Lease("s", "another", 1), [DraftPiece("d", 0, "text", "p", "x")]),
        store.draft(lease, [DraftPiece("c", 1, "text", "p", "x")]),
    ]
    given = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(each).__name__ for each in given] == [
        "int",
        "InputError",
        "LeaseLost",
        "int",
    ]
    assert json.dumps([each.offset for each in await store.read_draft("s")]) == "[0, 1]"
    await store.close()


async def test_drafts_and_other_writes_of_a_session_happen_in_the_order_they_were_asked_for(
    database_url: str,
) -> None:
    store = PostgresStore(database_url)
    leases = []
    for number in range(SESSIONS):
        await store.create(f"s{number}")
        leases.append(await store.acquire(f"s{number}", "o", ttl_s=600))
    writes: list[object] = []
    for number in range(20):
        for lease in leases:
            turn = TurnStarted(turn=str(number))
            piece = DraftPiece("c", 0, "text", "p", str(number))
            writes.append(store.draft(lease, [piece]))
            writes.append(
                store.append(
                    lease, [turn], after=number, durable=number % 3 == 0, ends_draft="c"
                )
            )
    await asyncio.gather(*writes)  # type: ignore[call-overload]
    for lease in leases:
        assert await store.read_draft(lease.session) == []
        assert len(await store.read(lease.session)) == 20
    assert not store._base._locks, "a session at rest has none"
    await store.close()
