import asyncio
from collections.abc import Iterator

import pytest

from tests.postgres import shared_server
from ullage.errors import StoreUnavailable
from ullage_cluster.postgres.connecting import connect, database_of, drop
from ullage_cluster.postgres.store import PostgresStore
from ullage_cluster.postgres.tables import VERSION, make_tables


@pytest.fixture
def name() -> Iterator[str]:
    """An empty database."""
    server = shared_server()
    made = server.new_database()
    yield made
    server.drop_database(made)


async def made_at(url: str) -> bool:
    connection = await connect(database_of(url))
    try:
        return await make_tables(connection, "a database")
    finally:
        drop(connection)


async def test_of_many_that_need_tables_at_once_one_makes_them(name: str) -> None:
    url = shared_server().url(name)
    makers = await asyncio.gather(*(made_at(url) for _ in range(8)))
    assert sorted(makers) == [False] * 7 + [True]


@pytest.mark.parametrize("version", [VERSION + 1, 9])
async def test_tables_of_another_version_are_refused(version: int, name: str) -> None:
    server = shared_server()
    await made_at(server.url(name))
    running = PostgresStore(server.url(name))
    await running.check()
    server.sql(f"UPDATE schema_versions SET version = {version}", name)
    refusal = f"another Ullage: its tables are of version {version}, .*JSON lines"
    opened = PostgresStore(server.url(name))
    with pytest.raises(StoreUnavailable, match=refusal):
        await opened.create("s")
    with pytest.raises(StoreUnavailable, match=refusal):
        await running.check()
    await opened.close()
    await running.close()
    assert server.sql("SELECT count(*) FROM sessions", name).strip() == "0"
