"""How often a store waits for PostgreSQL's answer: counted between them, on the wire."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.postgres import shared_server
from tests.store.sessions import said
from ullage.events import QueueLeft, TurnStarted
from ullage.store.following import Follower
from ullage_cluster.postgres.store import PostgresStore


class CountingRelay:
    """Passes connections on to a server, and counts the requests that follow an answer; not those for news."""

    def __init__(self, target: Path) -> None:
        self.trips = 0
        self._target = target

    async def relay(
        self, client: asyncio.StreamReader, answers: asyncio.StreamWriter
    ) -> None:
        """One connection, until either side ends it."""
        server, requests = await asyncio.open_unix_connection(self._target)
        is_asking = is_for_news = False

        async def ask() -> None:
            nonlocal is_asking, is_for_news
            while data := await client.read(65_536):
                is_for_news |= b"LISTEN" in data
                self.trips += not is_asking and not is_for_news
                is_asking = True
                requests.write(data)

        async def answer() -> None:
            nonlocal is_asking
            while data := await server.read(65_536):
                is_asking = False
                answers.write(data)

        passing = [asyncio.ensure_future(ask()), asyncio.ensure_future(answer())]
        with suppress(ConnectionError, asyncio.CancelledError):
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        for task in passing:
            task.cancel()
        for writer in (requests, answers):
            writer.close()


@pytest.fixture
async def relayed(database_url: str) -> AsyncIterator[tuple[CountingRelay, str]]:
    """A relay, and the URL of a database through it."""
    relay = CountingRelay(shared_server().folder / ".s.PGSQL.5432")
    with tempfile.TemporaryDirectory(prefix="ullage-relay-") as folder:
        place = Path(folder) / ".s.PGSQL.5432"
        listening = await asyncio.start_unix_server(relay.relay, place)
        yield relay, f"{database_url.partition('?')[0]}?host={folder}"
        listening.close()


async def test_an_append_a_message_and_a_look_wait_for_the_database_once_each(
    relayed: tuple[CountingRelay, str],
) -> None:
    relay, url = relayed
    store = PostgresStore(url)
    await store.create("s")
    lease = await store.acquire("s", "one", ttl_s=600)
    found, after = [], 0
    for number in range(3):
        left = [QueueLeft(message_id=f"m{number - 1}", how="delivered")] if number else []
        before = relay.trips
        written = await store.append(lease, [TurnStarted(turn="t"), *left], after=after)
        appended = relay.trips
        await store.send("s", said(f"m{number}"), "steer")
        sent = relay.trips
        await store._look("s", Follower("s", 0, -1, 0.0))
        after = written[-1].seq + 1
        found.append((appended - before, sent - appended, relay.trips - sent))
    before = relay.trips
    await store.send("s", said("behind"), "steer")
    assert relay.trips - before == 2, "its event names its place, which was another one"
    await store.close()
    assert found[1:] == [(1, 1, 1), (1, 1, 1)], "the first ones prepare statements"
