import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.importers.folding import FIXTURES, Folded, fold
from ullage.errors import NotASession, UnreadableInput
from ullage.events import Event, Renamed
from ullage.importers import find_sessions, read
from ullage.importers.growing import GrowingLog
from ullage.importers.ullage import FILE, VERSION
from ullage.store.sqlite import opening
from ullage.store.sqlite import store as sqlite_store
from ullage.store.sqlite.store import SqliteStore

LOG = FIXTURES / "ullage" / "session.jsonl"


async def filled(path: Path) -> SqliteStore:
    """A store with an older session and that of the fixture, still open."""
    store = SqliteStore(path)
    await store.create("older")
    await store.create("3f0c1a52-shop", read(LOG).events)
    return store


async def test_a_session_is_read_while_its_program_has_it_open(tmp_path: Path) -> None:
    store = await filled(tmp_path / "x.db")
    for wanted in ("", "3f0c1a52-shop"):
        session = read(tmp_path / "x.db", session=wanted)
        assert session.events == tuple(await store.read("3f0c1a52-shop"))
        assert (session.format, session.title, session.cwd) == (
            "ullage",
            "Fix the price test.",
            "/home/ann/shop",
        )
        assert (session.other_sessions, session.skipped) == (1, ())
        Folded(session.events)
    assert read(tmp_path / "x.db", session="older").events == ()
    with pytest.raises(NotASession, match="no session unheard-of"):
        read(tmp_path / "x.db", session="unheard-of")
    await store.close()


async def test_our_own_sessions_are_found_in_their_place(tmp_path: Path) -> None:
    store = await filled(tmp_path / "data" / FILE)
    found = find_sessions({"ULLAGE_DATA": str(tmp_path / "data")}, tmp_path)
    assert [(place.format, place.session, place.cwd) for place in found.places] == [
        ("ullage", "3f0c1a52-shop", "/home/ann/shop"),
        ("ullage", "older", ""),
    ]
    await store.close()


def test_the_store_and_its_importer_agree_what_it_is() -> None:
    assert FILE == sqlite_store.FILE
    assert VERSION == opening.VERSION


async def test_another_version_and_a_lack_of_sessions_are_said(tmp_path: Path) -> None:
    path = tmp_path / FILE
    opening.open_for_writing(path).close()
    with pytest.raises(NotASession, match="no session at all"):
        read(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(UnreadableInput, match=r"another Ullage.*JSON lines"):
        read(path)
    found = find_sessions({"ULLAGE_DATA": str(tmp_path)}, tmp_path)
    assert [
        "another Ullage" in looked.problem for looked in found.looked if looked.problem
    ] == [True]


async def test_a_damaged_database_never_raises_anything_untyped(tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    await (await filled(whole)).close()
    data = whole.read_bytes()
    chance = random.Random(1)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 40, 400))):
            damaged[chance.randrange(100, len(damaged))] = chance.randrange(256)
        path = tmp_path / "damaged.db"
        path.write_bytes(damaged)
        try:
            fold(read(path).events, "ullage")
        except (UnreadableInput, NotASession):
            continue


async def test_the_new_events_of_a_growing_session_are_given(tmp_path: Path) -> None:
    events = read(LOG).events
    path = tmp_path / "x.db"
    store = SqliteStore(path)
    await store.create("s", events[:1])
    lease = await store.acquire("s", "test", ttl_s=60)
    log = GrowingLog(path, "s")
    certain: list[Event] = []
    for number in range(len(events)):
        if number:
            await store.append(lease, [events[number]], after=number)
        growth = log.look()
        assert growth is not None
        assert growth.is_whole == (number == 0)
        assert len(growth.certain) == 1
        certain += growth.certain
        wanted = read(path, session="s").events
        assert (*certain, *growth.held) == wanted
    assert log.look() is None
    await store.close()


async def test_a_session_that_was_made_anew_is_read_from_its_begin(
    tmp_path: Path,
) -> None:
    events = read(LOG).events
    path = tmp_path / "x.db"
    store = SqliteStore(path)
    await store.create("s", events[:9])
    log = GrowingLog(path, "s")
    assert log.look() is not None
    await store.delete("s")
    with pytest.raises(NotASession, match="no session s"):
        log.look()
    await store.create("s", (events[0], *events[9:20]))
    growth = log.look()
    assert growth is not None
    assert growth.is_whole
    assert (*growth.certain, *growth.held) == read(path, session="s").events
    await store.close()


async def test_a_renamed_session_is_listed_by_its_last_title(tmp_path: Path) -> None:
    store = await filled(tmp_path / "x.db")
    await store.command("3f0c1a52-shop", [Renamed(title="The price test")])
    assert read(tmp_path / "x.db", session="3f0c1a52-shop").title == "The price test"
    await store.close()
