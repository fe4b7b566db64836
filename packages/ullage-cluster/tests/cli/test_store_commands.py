import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import shared_server
from ullage.cli import main
from ullage.events import SessionStarted
from ullage.store.places import store_at
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import handle_of
from ullage.store.tenants import TenantStore


@pytest.fixture
def url() -> Iterator[str]:
    """Of an empty database, with a password that nothing may show."""
    server = shared_server()
    name = server.new_database()
    yield server.url(name).replace("postgres@", "postgres:secret@")
    server.drop_database(name)


def test_a_files_sessions_are_copied_and_driven_ones_named(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.db"

    async def fill() -> None:
        store = SqliteStore(path)
        await store.create("a", [SessionStarted(model="m", title="A")])
        await store.keep("a", b"kept")
        await TenantStore(store, "acme").create("acme:c", place="site")
        await store.create("b")
        await store.acquire("b", "somebody", ttl_s=600)
        await store.close()

    asyncio.run(fill())
    assert main(["admin", "store", "copy", str(path), url]) == 2
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err
    assert said.out.startswith("2 sessions copied to postgresql://postgres@/")
    assert "b: not copied: a program drives it" in said.err
    asyncio.run(check_copies(url))
    assert main(["admin", "store", "copy", str(path), url]) == 2
    assert "0 sessions copied" in (out := capsys.readouterr().out)
    assert "2 there before" in out


async def check_copies(url: str) -> None:
    store = store_at(url)
    rows = {row.id: row for row in await store.sessions()}
    assert rows.keys() == {"a", "acme:c"}
    assert (rows["a"].title, rows["acme:c"].tenant) == ("A", "acme")
    assert rows["acme:c"].place == "site"
    assert await store.kept("a", handle_of(b"kept")) == b"kept"
    await store.close()


def test_a_file_is_no_database_of_postgresql(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "s.db")
    assert main(["admin", "store", "copy", path, path]) != 0
    assert "postgresql://USER@HOST" in capsys.readouterr().err
