import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.hostile.stores import SESSION, forge
from tests.store.sessions import said
from ullage.agent.copies import keep_nothing
from ullage.agent.loop import Loop, apply
from ullage.errors import StoreUnavailable
from ullage.events import Imported
from ullage.store.sqlite.ownership import ForeignStore, adopt, require_own
from ullage.store.sqlite.store import SqliteStore


async def loop_of(store: SqliteStore) -> Loop:
    loop = Loop()
    for event in await store.read(SESSION):
        loop = apply(loop, event)
    return loop


async def test_a_store_that_is_taken_over_is_at_rest(tmp_path: Path) -> None:
    path, mine, theirs = tmp_path / "s.db", tmp_path / "mine", tmp_path / "theirs"
    await forge(path, theirs, "true")
    store = SqliteStore(path, data=theirs)
    await store.send(SESSION, said("waits"), "follow_up")
    await store.close()
    (adopted,) = adopt(path, mine, keep=keep_nothing)
    assert adopted.dropped == (
        "an open call of shell", "an unfinished turn", "the queued message waits", "the grant for shell touch"
    )  # fmt: skip
    store = SqliteStore(path, data=mine)
    loop = await loop_of(store)
    assert (loop.turn, loop.open, loop.queue, loop.grants) == ("", (), (), ())
    assert (await store.about(SESSION)).drivers == 0
    assert await store.pending(SESSION) == []
    assert isinstance((await store.read(SESSION))[-1], Imported)
    await store.close()


async def test_a_moved_store_of_ones_own_keeps_its_unfinished_work(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.db"
    await forge(path, tmp_path / "before", "true")
    assert [one.session for one in adopt(path, tmp_path / "mine", keep=None)] == [SESSION]
    store = SqliteStore(path, data=tmp_path / "mine")
    loop = await loop_of(store)
    assert [call.state for call in loop.open] == ["approved"]
    assert (await store.about(SESSION)).drivers == 7
    await store.close()


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM queue; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (x)",
        "DROP INDEX queue_pending",
    ],
)
async def test_a_store_with_anything_of_its_own_is_not_taken_over(
    tmp_path: Path, script: str
) -> None:
    path = tmp_path / "s.db"
    await forge(path, tmp_path / "theirs", "true")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(script)
    for keep in (None, keep_nothing):
        with pytest.raises(StoreUnavailable, match="no store as Ullage makes them"):
            adopt(path, tmp_path / "mine", keep=keep)
    with pytest.raises(ForeignStore):
        require_own(path, tmp_path / "mine")


def test_what_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database " * 100)
    for name in ("text", "missing"):
        with pytest.raises(StoreUnavailable, match=name):
            adopt(tmp_path / name, tmp_path / "mine", keep=None)
