import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ullage.errors import StoreUnavailable
from ullage.events import TurnStarted
from ullage.store.sqlite.ownership import SECRET, ForeignStore, mark_of, require_own
from ullage.store.sqlite.store import SqliteStore


async def made(path: Path, data: Path) -> None:
    mark_of(path, data)  # as --store does: makes the secret
    store = SqliteStore(path, data=data)
    await store.create("s", [TurnStarted(turn="t")])
    await store.close()


def is_own(path: Path, data: Path) -> bool:
    try:
        require_own(path, data)
    except ForeignStore:
        return False
    return True


async def test_a_store_is_ones_own_where_its_user_made_it(tmp_path: Path) -> None:
    await made(tmp_path / "s.db", tmp_path / "data")
    assert is_own(tmp_path / "s.db", tmp_path / "data")


async def test_a_backup_is_ones_own_in_the_place_of_the_store_it_was_made_of(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.db"
    await made(path, tmp_path / "data")
    with (
        closing(sqlite3.connect(path)) as database,
        closing(sqlite3.connect(tmp_path / "backup.db")) as backup,
    ):
        database.backup(backup)
    os.replace(tmp_path / "backup.db", path)
    assert is_own(path, tmp_path / "data")


async def test_a_data_directory_is_moved_with_its_store(tmp_path: Path) -> None:
    await made(tmp_path / "data" / "sessions.db", tmp_path / "data")
    shutil.move(tmp_path / "data", tmp_path / "moved")
    assert is_own(tmp_path / "moved" / "sessions.db", tmp_path / "moved")


async def test_another_persons_store_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await made(path, tmp_path / "theirs")
    before = path.read_bytes()
    with pytest.raises(ForeignStore, match="`ullage adopt "):
        require_own(path, tmp_path / "mine")
    assert path.read_bytes() == before


async def test_a_store_that_was_moved_is_refused(tmp_path: Path) -> None:
    await made(tmp_path / "s.db", tmp_path / "data")
    shutil.move(tmp_path / "s.db", tmp_path / "moved.db")
    assert not is_own(tmp_path / "moved.db", tmp_path / "data")


async def test_a_mark_that_is_no_mark_is_none(tmp_path: Path) -> None:
    await made(tmp_path / "s.db", tmp_path / "data")
    for script in (
        "UPDATE mark SET value = 'text'",
        "DELETE FROM mark",
        "DROP TABLE mark",
    ):
        with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
            database.execute(script)
        assert not is_own(tmp_path / "s.db", tmp_path / "data")


async def test_a_secret_is_the_users_alone_and_another_file_in_its_place_is_named(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    await made(tmp_path / "s.db", data)
    assert (data / SECRET).stat().st_mode & 0o777 == 0o600
    (data / SECRET).write_bytes(b"short")
    with pytest.raises(StoreUnavailable, match="is not the secret that Ullage made"):
        require_own(tmp_path / "s.db", data)


async def test_a_store_that_a_program_names_needs_no_data_directory(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").touch()
    store = SqliteStore(tmp_path / "s.db", data=tmp_path / "data")
    await store.create("s")
    await store.close()
    with pytest.raises(ForeignStore):
        require_own(tmp_path / "s.db", tmp_path / "data")


def test_a_store_that_is_yet_to_be_made_is_ones_own(tmp_path: Path) -> None:
    assert is_own(tmp_path / "s.db", tmp_path / "data")
    (tmp_path / "s.db").touch()
    assert is_own(tmp_path / "s.db", tmp_path / "data")
