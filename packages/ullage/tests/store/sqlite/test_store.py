import random
from pathlib import Path

from ullage.directories import data_directory
from ullage.store.sqlite.store import FILE, SqliteStore
from ullage.store.store import SessionStore


def test_it_is_a_store_in_the_users_data_directory_and_making_it_opens_nothing() -> None:
    store: SessionStore = SqliteStore()
    assert isinstance(store, SqliteStore)
    assert store.path == data_directory() / FILE


async def test_only_the_file_is_left_by_the_last_store(tmp_path: Path) -> None:
    """Copying the file is then enough (docs/store.md)."""
    path = tmp_path / "s.db"
    store, other = SqliteStore(path), SqliteStore(path)
    await store.create("s")
    assert await other.read("s") == []
    assert await store.read("s") == []
    await other.close()
    await store.close()
    assert [each.name for each in tmp_path.iterdir()] == ["s.db"]


async def test_the_same_bytes_are_stored_once(sqlite_store: SqliteStore) -> None:
    data = random.Random(1).randbytes(500_000)
    for number in range(20):
        await sqlite_store.create(f"s{number}")
        assert await sqlite_store.keep(f"s{number}", data) == await sqlite_store.keep(
            f"s{number}", data
        )
        assert len(await sqlite_store.handles(f"s{number}")) == 1
    await sqlite_store.close()
    assert sqlite_store.path.stat().st_size < 700_000
