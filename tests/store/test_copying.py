from tests.store.sessions import said
from tests.store.test_retention import full
from ullage.events import MessageAdded
from ullage.store.copying import copy_store
from ullage.store.places import store_at
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Store


async def outcomes(source: Store, target: Store) -> dict[str, str]:
    return {each.session: each.outcome async for each in copy_store(source, target)}


async def test_all_sessions_are_copied_once_and_a_second_copy_only_checks(
    sqlite_store: SqliteStore, other_place: str
) -> None:
    handle = await full(sqlite_store, "a")
    await sqlite_store.fork("a", "b", through=2)
    await sqlite_store.create("empty")
    target = store_at(other_place)
    assert set((await outcomes(sqlite_store, target)).values()) == {"copied"}
    assert set((await outcomes(sqlite_store, target)).values()) == {"there before"}
    assert await target.read("a") == await sqlite_store.read("a")
    assert await target.kept("b", handle) == b"kept by all"
    assert [each[1] for each in await target.pending("a")] == [said("m")]
    here, there = await sqlite_store.about("b"), await target.about("b")
    assert (here.title, here.origin, here.seq) == (there.title, there.origin, there.seq)
    await target.close()


async def test_driven_and_changed_sessions_are_left_and_named(
    sqlite_store: SqliteStore, other_place: str
) -> None:
    for name in ("driven", "changed", "quiet"):
        await sqlite_store.create(name, [MessageAdded(message=said("1"))])
    await sqlite_store.acquire("driven", "somebody", ttl_s=60)
    target = store_at(other_place)
    await target.create("changed", [MessageAdded(message=said("2"))])
    assert await outcomes(sqlite_store, target) == {
        "driven": "driven",
        "changed": "differs",
        "quiet": "copied",
    }
    await target.close()
