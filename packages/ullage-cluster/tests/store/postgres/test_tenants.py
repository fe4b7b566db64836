"""PostgreSQL's own policies keep tenants apart, whatever the statement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.postgres import PostgresServer, plain_database, shared_server
from ullage.messages import Message, TextPart
from ullage.store.tenants import TenantStore
from ullage_cluster.postgres.store import PostgresStore

WITHOUT = {"writers", "schema_versions", "texts"}
"""Tables that hold nothing of a session, and ``texts``: a policy would keep the index of words from being used. Each
word there has its tenant's name, and what is found is joined to the tenant's sessions."""


@pytest.fixture
def server() -> PostgresServer:
    return shared_server()


@pytest.fixture
def url() -> Iterator[str]:
    with plain_database() as made:
        yield made


@pytest.fixture
def name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(url)
    await opened.open()
    yield opened
    await opened.close()


async def filled(store: PostgresStore, tenant: str) -> None:
    """A session of a tenant with a row in every table."""
    view = TenantStore(store, tenant)
    session = f"{tenant}:s"
    await view.create(session)
    text = TextPart(id="m.0", text=f"a word of {tenant}")
    await view.send(session, Message(id="m", role="user", parts=(text,)), "steer")
    await view.keep(session, f"bytes of {tenant}".encode())
    await view.keep(session, b"bytes of both")
    await view.acquire(session, "driver", ttl_s=60)


async def read(url: str, tenant: str, statement: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute(
                "SELECT set_config('ullage.tenant', $1, true)", tenant
            )
            return [row[0] for row in await connection.fetch(statement)]
    finally:
        await connection.close()


async def test_every_table_with_content_has_a_policy_that_binds_its_owner(
    store: PostgresStore, server: PostgresServer, name: str
) -> None:
    await store.open()
    tables = server.sql(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
        "AND NOT (relrowsecurity AND relforcerowsecurity)",
        name,
    )
    assert set(tables.split()) == WITHOUT


async def test_statements_without_any_condition_give_one_tenant_s_rows(
    store: PostgresStore, url: str
) -> None:
    await filled(store, "acme")
    await filled(store, "other")
    assert await read(url, "other", "SELECT id FROM sessions") == ["other:s"]
    assert await read(url, "nobody", "SELECT id FROM sessions") == []
    counts = {"events": 1, "queue": 1, "kept": 2, "blobs": 2, "due": 1}
    for table, count in counts.items():
        statement = f"SELECT count(*) FROM {table}"
        assert await read(url, "other", statement) == [count], table
        assert await read(url, "nobody", statement) == [0], table
        all_of_them = 3 if table == "blobs" else 2 * count
        assert await read(url, "", statement) == [all_of_them], table


async def test_a_tenant_can_t_write_others_rows(store: PostgresStore, url: str) -> None:
    await filled(store, "acme")
    assert await read(url, "other", "UPDATE sessions SET title = 'x' RETURNING 1") == []
    assert await read(url, "other", "DELETE FROM events RETURNING 1") == []
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await read(
            url,
            "other",
            "INSERT INTO sessions (id, title, model, created, changed, origin, tenant) "
            "VALUES ('x', '', '', 0, 0, '', 'acme')",
        )
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await read(url, "other", "INSERT INTO due (session, since) VALUES (1, 0)")


async def test_the_setting_ends_with_its_transaction(
    store: PostgresStore, url: str
) -> None:
    """A pooler in transaction mode gives the connection to somebody else next."""
    await filled(store, "acme")
    await filled(store, "other")
    for tenant in ("acme", "other", "acme"):
        view = TenantStore(store, tenant)
        assert [row.id for row in await view.sessions()] == [f"{tenant}:s"]
        assert await view.keep(f"{tenant}:s", b"more") is not None
        assert len(await store.sessions()) == 2
