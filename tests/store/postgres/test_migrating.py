import asyncio
from collections.abc import Iterator

import pytest

from tests.postgres import shared_server
from ullage.errors import StoreUnavailable
from ullage.store.postgres.migrating import migrate_at, newest, steps
from ullage.store.postgres.store import PostgresStore


@pytest.fixture
def name() -> Iterator[str]:
    """An empty database."""
    server = shared_server()
    made = server.new_database()
    yield made
    server.drop_database(made)


async def test_of_many_that_migrate_at_once_one_does(name: str) -> None:
    url = shared_server().url(name)
    taken = await asyncio.gather(*(migrate_at(url) for _ in range(8)))
    assert sorted(len(each) for each in taken) == [0] * 7 + [len(steps())]


async def test_older_tables_are_not_written_and_the_command_is_said(name: str) -> None:
    server = shared_server()
    await migrate_at(server.url(name))
    server.sql(f"DELETE FROM schema_versions WHERE version = {newest()}", name)
    store = PostgresStore(server.url(name))
    with pytest.raises(StoreUnavailable, match="ullage store migrate"):
        await store.create("s")
    await store.close()


async def test_newer_tables_are_used_unless_they_say_that_this_version_can_not(
    name: str,
) -> None:
    server = shared_server()
    await migrate_at(server.url(name))
    add = "INSERT INTO schema_versions (version, name, oldest) VALUES"
    server.sql(f"{add} ({newest() + 1}, 'expand', {newest()})", name)
    store = PostgresStore(server.url(name))
    await store.create("s")
    await store.close()
    server.sql(f"{add} ({newest() + 2}, 'contract', {newest() + 1})", name)
    later = PostgresStore(server.url(name))
    with pytest.raises(StoreUnavailable, match="newer Ullage"):
        await later.read("s")
    with pytest.raises(StoreUnavailable, match="newer Ullage"):
        await migrate_at(server.url(name))
    await later.close()


def test_each_migration_has_a_number_of_its_own() -> None:
    versions = [step.version for step in steps()]
    assert versions == list(range(1, len(versions) + 1))
