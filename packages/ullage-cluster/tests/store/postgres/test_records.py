"""Records of a database: what other machines changed, and a database that can't be asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.postgres import shared_server
from ullage.errors import CommandRefused, StoreUnavailable
from ullage.store.records import LARGEST_RECORD, Records
from ullage.store.tenants import TenantStore
from ullage_cluster.postgres import records as module
from ullage_cluster.postgres.connecting import PgConnection
from ullage_cluster.postgres.records import TableRecords
from ullage_cluster.postgres.store import PostgresStore

WAIT_S = 60


@pytest.fixture
async def machines(database_url: str) -> AsyncIterator[tuple[Records, Records]]:
    """The records as two machines have them."""
    one, other = PostgresStore(database_url), PostgresStore(database_url)
    yield one.records(), other.records()
    await one.close()
    await other.close()


async def until_different(records: Records, kind: str, version: object) -> None:
    async with asyncio.timeout(WAIT_S):
        while records.recent(kind).version == version:
            await asyncio.sleep(0.02)


async def test_a_change_of_another_machine_is_seen_without_asking_the_database(
    machines: tuple[Records, Records],
) -> None:
    one, other = machines
    seen_first = other.recent("tokens")
    one.change("tokens", "ci", lambda _: b"a token")
    await until_different(other, "tokens", seen_first.version)
    assert other.recent("tokens").bodies == {"ci": b"a token"}
    seen_then = other.recent("tokens")
    one.change("tokens", "ci", lambda _: None)
    await until_different(other, "tokens", seen_then.version)
    assert other.recent("tokens").bodies == {}


async def test_records_not_looked_at_for_long_are_not_used(database_url: str) -> None:
    store = PostgresStore(database_url)
    records = store._base.records
    records.recent("tokens")
    await store.close()  # nothing looks any more
    assert records.recent("tokens").bodies == {}
    records._looked["tokens"] -= module.STALE_S + 1
    with pytest.raises(StoreUnavailable, match="could not be asked"):
        records.recent("tokens")


async def test_only_the_first_look_is_waited_for_also_where_it_fails() -> None:
    waits: list[object] = []
    begun: list[object] = []

    def read(work: Callable[[PgConnection], Awaitable[Any]]) -> Any:
        waits.append(work)
        raise StoreUnavailable("The database is away.")

    records = TableRecords(read, begun.append, "there")
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            records.recent("tokens")
    assert (len(waits), len(begun)) == (1, 2)


async def test_records_are_read_once_a_database_is_there_that_was_not() -> None:
    server = shared_server()
    store = PostgresStore(server.url("comes_later"))
    records = store.records()
    with pytest.raises(StoreUnavailable, match="does not exist"):
        records.recent("tokens")
    server.sql("CREATE DATABASE comes_later")
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                with suppress(StoreUnavailable):
                    assert records.recent("tokens").bodies == {}
                    break
                await asyncio.sleep(0.02)
    finally:
        await store.close()
        server.drop_database("comes_later")


async def test_a_too_large_record_is_refused(machines: tuple[Records, Records]) -> None:
    with pytest.raises(CommandRefused, match="at most"):
        machines[0].change("k", "k", lambda _: bytes(LARGEST_RECORD + 1))


async def test_one_record_too_many_is_refused(
    machines: tuple[Records, Records], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_RECORDS", 2)
    one, other = machines
    one.change("k", "1", lambda _: b"1")
    other.change("k", "2", lambda _: b"2")
    with pytest.raises(CommandRefused, match="takes no more"):
        one.change("k", "3", lambda _: b"3")
    one.change("k", "2", lambda _: b"another content")


async def test_a_tenant_s_store_has_the_same_records(database_url: str) -> None:
    store = PostgresStore(database_url)
    view = TenantStore(store, "acme")
    records = view.records()
    assert records is store.records()
    await store.close()
