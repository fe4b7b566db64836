import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes import run_python
from ullage.errors import StoreUnavailable
from ullage.events import TurnStarted
from ullage.store.sqlite import opening
from ullage.store.sqlite.opening import APPLICATION, VERSION, open_for_writing
from ullage.store.sqlite.store import SqliteStore


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    open_for_writing(path).close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION,)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_new_file_and_its_directory_are_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "s.db"
    open_for_writing(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("version", [VERSION + 1, 6])
async def test_another_version_is_refused(version: int, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    open_for_writing(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    store = SqliteStore(path)
    for asked in (store.create("s"), store.sessions()):
        with pytest.raises(
            StoreUnavailable,
            match=f"another Ullage: its tables are of version {version}, .*JSON lines",
        ):
            await asked
    await store.close()
    assert path.read_bytes() == before


async def test_a_store_that_was_remade_meanwhile_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    await store.create("s")
    assert len(await store.sessions()) == 1
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP VIEW current_sessions")
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    for asked in (store.create("t"), store.read("s"), store.sessions()):
        with pytest.raises(StoreUnavailable, match=r"another Ullage.*JSON lines"):
            await asked
    await store.close()


async def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE precious (thing)")
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailable, match="another program"):
        await store.create("s")
    await store.close()
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["other.db"]


def test_two_processes_may_make_the_database_at_once(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from ullage.store.sqlite.opening import open_for_writing as o; "
        "o(pathlib.Path(sys.argv[1]))"
    )
    for number in range(5):
        path = tmp_path / f"{number}.db"
        both = [
            subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(3)
        ]
        assert [each.wait() for each in both] == [0, 0, 0]


def test_one_that_another_turned_away_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, refusals = opening._prepare, iter([True, True, False])

    def busy_at_first(database: sqlite3.Connection, path: Path) -> None:
        if next(refusals):
            problem = sqlite3.OperationalError("database is locked")
            problem.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise problem
        prepare(database, path)

    monkeypatch.setattr(opening, "_prepare", busy_at_first)
    with closing(open_for_writing(tmp_path / "s.db")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert next(refusals, None) is None


AS_NOBODY = """
import asyncio, os, pathlib, sys
from ullage.errors import StoreUnavailable
from ullage.store.sqlite.store import SqliteStore
from ullage.store.sqlite.transaction import schema, statements
async def main():
    statements(), schema()
    if os.getuid() == 0:
        os.setuid(65534)  # whom modes mean something to
    store = SqliteStore(pathlib.Path(sys.argv[1]))
    try:
        await store.sessions()
    except StoreUnavailable as problem:
        print(problem)
    await store.close()
asyncio.run(main())
"""


@pytest.fixture
def place_for_all() -> Iterator[Path]:
    """A directory that every user may look into; pytest closes those above its own."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(
    ("directory_mode", "file_mode"), [(0o555, 0o444), (0o777, 0o444), (0o555, 0o666)]
)
async def test_what_may_not_be_written_is_not_opened_and_says_so(
    place_for_all: Path, directory_mode: int, file_mode: int
) -> None:
    place = place_for_all
    path = place / "s.db"
    store = SqliteStore(path)
    await store.create("s", [TurnStarted(turn="1")])
    await store.close()
    path.chmod(file_mode)
    place.chmod(directory_mode)
    try:
        done = run_python("-c", AS_NOBODY, str(path))
    finally:
        place.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert "ULLAGE_DATA" in done.stdout


async def test_a_place_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    store = SqliteStore(tmp_path / "file" / "s.db")
    with pytest.raises(StoreUnavailable, match=r"file/s\.db can't be used"):
        await store.create("s")
    await store.close()
    directory = SqliteStore(tmp_path)
    with pytest.raises(StoreUnavailable, match="can't be opened"):
        await directory.create("s")
    await directory.close()
