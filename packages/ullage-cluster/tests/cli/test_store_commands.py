import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import shared_server
from ullage.cli import main
from ullage.store.places import store_at
from ullage.store.sqlite.store import SqliteStore


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
        await store.create("a")
        await store.create("b")
        await store.acquire("b", "somebody", ttl_s=600)
        await store.close()

    asyncio.run(fill())
    assert main(["admin", "store", "copy", str(path), url]) == 2
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err
    assert said.out.startswith("1 session copied to postgresql://postgres@/")
    assert "b: not copied: a program drives it" in said.err
    store = store_at(url)
    assert [row.id for row in asyncio.run(store.sessions())] == ["a"]
    asyncio.run(store.close())


def test_a_file_is_no_database_of_postgresql(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "s.db")
    assert main(["admin", "store", "copy", path, path]) != 0
    assert "postgresql://USER@HOST" in capsys.readouterr().err
