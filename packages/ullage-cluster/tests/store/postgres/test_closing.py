"""Nothing waits for ever: a store that is closed, a server that is gone or stands still, a caller that ended."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import PostgresServer, new_server
from ullage.errors import StoreUnavailable, UllageError
from ullage.events import Event, TurnStarted
from ullage_cluster.postgres import base, connecting, news
from ullage_cluster.postgres.store import PostgresStore

pytestmark = pytest.mark.slow


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    server = new_server()
    yield server
    server.remove()


@pytest.fixture
def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes every limit of the store a tenth of what it is, so that a test sees it pass.

    A test calls it when its stores are open, which a busy machine takes long to do. Only the limit of statements is
    shortened before: a connection keeps the one with which it was made.
    """
    monkeypatch.setattr(connecting, "COMMAND_S", 10.0)

    def shorten() -> None:
        for module in (base, connecting, news):
            for name in ("WAIT_S", "CONNECT_S", "READ_S", "CLOSE_S", "HEARD_S"):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, getattr(module, name) / 10)

    return shorten


async def sleeping(connection: Any) -> None:
    await connection.execute("SELECT pg_sleep(3600)")


def processes(server: PostgresServer) -> list[int]:
    """The server's processes, the first one first."""
    first = int((server.data / "postmaster.pid").read_text().split()[0])
    found = [first]
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = path.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == first:
            found.append(int(path.parent.name))
    return found


async def test_reads_under_way_are_refused_when_the_store_ends(database_url: str) -> None:
    store = PostgresStore(database_url)
    await store.open()
    # one more than there are connections
    reading = [
        asyncio.create_task(store._base.read(sleeping)) for _ in range(base.READERS + 1)
    ]
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await store.close()
        given = await asyncio.gather(*reading, return_exceptions=True)
    assert [type(each) for each in given] == [StoreUnavailable] * len(given)
    assert "was closed" in str(given[0])


async def test_a_write_that_meets_a_close_is_stored_or_refused(database_url: str) -> None:
    kept = PostgresStore(database_url)
    await kept.create("s")
    stored = 0
    for _ in range(10):
        store = PostgresStore(database_url)
        await store.open()
        closing = asyncio.create_task(store.close())
        given: list[tuple[Event, ...] | BaseException] = []
        async with asyncio.timeout(60):
            while not closing.done():
                turn = TurnStarted(turn="t")
                writes = [store.command("s", [turn]) for _ in range(5)]
                given += await asyncio.gather(*writes, return_exceptions=True)
            await closing
        refused = [each for each in given if isinstance(each, BaseException)]
        assert {type(each) for each in refused} <= {StoreUnavailable}
        stored += len(given) - len(refused)
    assert len(await kept.read("s")) == stored
    await kept.close()


async def test_a_server_that_ended_before_the_close_holds_it_up_for_a_limited_time(
    own_server: PostgresServer, shorten_waits: Callable[[], None]
) -> None:
    store = PostgresStore(own_server.url(own_server.new_database()))
    await store.create("s")
    shorten_waits()
    await asyncio.to_thread(own_server.stop, "immediate")
    writes = [
        asyncio.ensure_future(store.command("s", [TurnStarted(turn=str(number))]))
        for number in range(200)
    ]
    async with asyncio.timeout(60):
        await store.close()
        given = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(each) for each in given} == {StoreUnavailable}
    own_server.start()


async def test_a_server_that_starts_is_waited_for(own_server: PostgresServer) -> None:
    url = own_server.url(own_server.new_database())
    own_server.stop()
    with pytest.raises(StoreUnavailable, match="can't be reached"):
        await PostgresStore(url).open()
    store = PostgresStore(url, awaits_server=True)
    opening = asyncio.create_task(store.create("s"))
    await asyncio.sleep(0.2)
    await asyncio.to_thread(own_server.start)
    async with asyncio.timeout(60):
        await opening
    await store.close()


async def test_a_server_that_stands_still_is_not_waited_for_for_ever(
    own_server: PostgresServer, shorten_waits: Callable[[], None]
) -> None:
    store = PostgresStore(own_server.url(own_server.new_database()))
    await store.create("s")
    lease = await store.acquire("s", "o", ttl_s=600)
    shorten_waits()
    stopped = processes(own_server)
    for each in stopped:
        os.kill(each, signal.SIGSTOP)
    reading = asyncio.create_task(store.read("s"))
    writing = asyncio.create_task(store.append(lease, [TurnStarted(turn="1")], after=0))
    async with asyncio.timeout(60):
        await asyncio.wait([reading, writing])
        late = asyncio.create_task(store.read("s"))
        await store.close()
        given = await asyncio.gather(reading, writing, late, return_exceptions=True)
    assert [type(each) for each in given] == [StoreUnavailable] * 3
    for each in stopped:
        os.kill(each, signal.SIGCONT)


async def test_news_come_again_after_the_server_stood_still(
    own_server: PostgresServer, shorten_waits: Callable[[], None]
) -> None:
    url = own_server.url(own_server.new_database())
    store, other = PostgresStore(url), PostgresStore(url)
    await store.create("s")
    stream = store.follow("s")
    seen: list[int] = []

    async def follow() -> None:
        async for event in stream:
            assert not isinstance(event, tuple)
            seen.append(event.seq)
            if event.seq == 2:
                return

    following = asyncio.create_task(follow())
    await other.command("s", [TurnStarted(turn="1")])
    async with asyncio.timeout(60):
        while not seen:
            await asyncio.sleep(0.01)
    shorten_waits()
    stopped = processes(own_server)
    for each in stopped:
        os.kill(each, signal.SIGSTOP)
    store._base._news._has_changes.set()  # type: ignore[union-attr]
    await asyncio.sleep(2 * news.HEARD_S)  # longer than a statement of the news may take
    for each in stopped:
        os.kill(each, signal.SIGCONT)
    async with asyncio.timeout(60):
        while True:
            try:
                await other.command("s", [TurnStarted(turn="2")])
                break
            except UllageError:
                await asyncio.sleep(0.1)
        await following
    assert seen[:2] == [1, 2]
    await other.close()
    await store.close()


def test_a_caller_whose_event_loop_closed_makes_nobody_wait(database_url: str) -> None:
    store = PostgresStore(database_url)
    asyncio.run(store.create("s"))
    loop = asyncio.new_event_loop()
    asking: list[asyncio.Task[object]] = []

    async def ask() -> None:
        turn = TurnStarted(turn="1")
        asking.append(asyncio.create_task(store.command("s", [turn])))
        asking.append(asyncio.create_task(store.read("s")))
        await asyncio.sleep(0)

    loop.run_until_complete(ask())
    loop.stop()
    loop.close()
    ending = threading.Thread(target=lambda: asyncio.run(store.close()))
    ending.start()
    ending.join(60)
    assert not ending.is_alive()


ENDS_WITHOUT_CLOSE = """
import asyncio, sys
from ullage.events import TurnStarted
from ullage.store.places import store_at
async def main():
    store = store_at(sys.argv[1])
    await store.create("s")
    for number in range(100):
        asyncio.ensure_future(store.command("s", [TurnStarted(turn=str(number))]))
    await asyncio.sleep(0)
asyncio.run(main())
"""


def test_what_waits_is_written_when_a_process_ends_unclosed(database_url: str) -> None:
    subprocess.run(
        [sys.executable, "-c", ENDS_WITHOUT_CLOSE, database_url], check=True, timeout=60
    )
    assert len(asyncio.run(_read(database_url))) == 100


async def _read(url: str) -> list[Event]:
    store = PostgresStore(url)
    events = await store.read("s")
    await store.close()
    return events
