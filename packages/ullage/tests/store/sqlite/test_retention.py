import random

from tests.store.test_retention import full
from ullage.store.sqlite.store import SqliteStore


async def rows(store: SqliteStore) -> dict[str, int]:
    tables = ("sessions", "events", "queue", "drafts", "checkpoints", "blobs", "kept")

    async def count(table: str) -> int:
        return await store._read(
            lambda database: int(
                database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            )
        )

    return {table: await count(table) for table in tables}


async def test_a_deleted_session_leaves_nothing(sqlite_store: SqliteStore) -> None:
    await full(sqlite_store, "a")
    before = await rows(sqlite_store)
    await full(sqlite_store, "b")
    await sqlite_store.delete("b")
    assert await rows(sqlite_store) == before
    await sqlite_store.delete("a")
    assert set((await rows(sqlite_store)).values()) == {0}


async def test_deleted_sessions_give_back_their_room(sqlite_store: SqliteStore) -> None:
    await sqlite_store.create("s")
    await sqlite_store.keep("s", random.Random(1).randbytes(5_000_000))
    await sqlite_store.delete("s")
    await sqlite_store.close()
    assert sqlite_store.path.stat().st_size < 200_000
