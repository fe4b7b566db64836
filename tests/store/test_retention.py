import random

import pytest

from tests.store.sessions import said
from ullage.errors import SessionBusy, SessionNotFound
from ullage.events import MessageAdded
from ullage.store.sqlite import SqliteStore
from ullage.store.store import Checkpoint, DraftPiece


async def full(store: SqliteStore, session: str) -> str:
    """A session with something in every table."""
    await store.create(session, [MessageAdded(message=said("1", "x"))])
    lease = await store.acquire(session, "o", ttl_s=60)
    await store.send(session, said("m"), "steer")
    await store.draft(lease, [DraftPiece("c", 0, "text", "p", "x")])
    await store.save_checkpoint(lease, Checkpoint(1, "f", b"state"))
    handle = await store.keep(session, b"kept by all")
    await store.keep(session, f"kept by {session}".encode())
    await store.release(lease)
    return handle


async def rows(store: SqliteStore) -> dict[str, int]:
    tables = ("sessions", "events", "queue", "drafts", "checkpoints", "blobs", "kept")

    async def count(table: str) -> int:
        return await store._read(lambda database: int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]))

    return {table: await count(table) for table in tables}


async def test_a_deleted_session_leaves_nothing_and_takes_nothing_of_others(store: SqliteStore) -> None:
    handle = await full(store, "a")
    before = await rows(store)
    await full(store, "b")
    await store.delete("b")
    assert await rows(store) == before
    assert await store.kept("a", handle) == b"kept by all"
    await store.delete("a")
    assert set((await rows(store)).values()) == {0}
    with pytest.raises(SessionNotFound):
        await store.read("a")
    await store.create("a")
    assert await store.read("a") == []


async def test_a_driven_session_is_not_deleted(store: SqliteStore) -> None:
    await store.create("s")
    lease = await store.acquire("s", "driver", ttl_s=60)
    with pytest.raises(SessionBusy, match="driver"):
        await store.delete("s")
    await store.release(lease)
    await store.delete("s")


async def test_sessions_are_deleted_by_age_and_forks_of_them_stay_whole(store: SqliteStore) -> None:
    handle = await full(store, "old")
    await store.create("driven")
    await store.acquire("driven", "driver", ttl_s=60)
    for number in range(45):
        await store.create(f"old-{number}")
    await store._writer.perform(lambda inside: inside.database.execute("UPDATE sessions SET changed = changed - 1000"))
    await store.fork("old", "fork", through=2)
    await store.create("new")
    assert await store.delete_unchanged(age_s=2_000) == []
    gone = await store.delete_unchanged(age_s=500)
    assert len(gone) == 46
    assert {row.id for row in await store.sessions()} == {"fork", "new", "driven"}
    assert len(await store.read("fork")) == 4
    assert await store.kept("fork", handle) == b"kept by all"


async def test_the_room_of_deleted_sessions_is_given_back(store: SqliteStore) -> None:
    await store.create("s")
    await store.keep("s", random.Random(1).randbytes(5_000_000))
    assert await store.delete_unchanged(age_s=-1) == ["s"]
    await store.close()
    assert store.path.stat().st_size < 200_000
