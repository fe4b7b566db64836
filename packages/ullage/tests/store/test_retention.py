import pytest

from tests.store.sessions import said
from ullage.errors import SessionBusy, SessionNotFound
from ullage.events import DraftPiece, MessageAdded
from ullage.store.store import Checkpoint, SessionStore


async def full(store: SessionStore, session: str) -> str:
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


async def test_a_driven_session_is_not_deleted(store: SessionStore) -> None:
    await store.create("s")
    lease = await store.acquire("s", "driver", ttl_s=60)
    with pytest.raises(SessionBusy, match="driver"):
        await store.delete("s")
    await store.release(lease)
    await store.delete("s")


async def test_a_deleted_session_takes_nothing_of_others(store: SessionStore) -> None:
    handle = await full(store, "a")
    await full(store, "b")
    await store.delete("b")
    assert await store.kept("a", handle) == b"kept by all"
    assert len(await store.handles("a")) == 2
    assert len(await store.pending("a")) == 1
    await store.delete("a")
    with pytest.raises(SessionNotFound):
        await store.read("a")
    await store.create("a")
    assert await store.read("a") == []
    assert await store.handles("a") == []
    assert await store.read_draft("a") == []
    assert await store.checkpoint("a", "f") is None
    assert await store.pending("a") == []
