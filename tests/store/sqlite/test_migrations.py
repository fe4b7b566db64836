"""What stores of earlier versions hold is in today's schema what it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.sessions import said
from ullage.events import (
    DraftPiece,
    Event,
    Queued,
    SettingsChanged,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.messages import Message, TextPart
from ullage.store.rows import EventRow, json_of, number, to_event, to_row
from ullage.store.sqlite.opening import APPLICATION, bring_up_to_date
from ullage.store.sqlite.store import SqliteStore
from ullage.store.sqlite.transaction import migrations


def waiting(name: str) -> Queued:
    message = Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text="x"),))
    return Queued(message=message, kind="steer", position=1)


def fill_version_2(
    database: sqlite3.Connection, events: list[Event], generation: int
) -> None:
    """A store as Ullage left it when its schema had version 2, with one session."""
    for step in migrations()[:2]:
        database.executescript(step.script)
    database.execute(
        "INSERT INTO sessions (id, title, model, created, changed, seq, origin, generation) "
        "VALUES ('s', '', '', 1, 1, ?, '', ?)",
        (len(events), generation),
    )
    for event in number(events, "s", 0, 1.0):
        row = to_row(event)._replace(body=json_of(event))
        database.execute(
            "INSERT INTO events (session, seq, name, at, body) VALUES (1, ?, ?, ?, ?)",
            row,
        )
        if isinstance(event, Queued):
            database.execute(
                "INSERT INTO queue (session, message, kind, state, queued, seq, at) "
                "VALUES (1, ?, 'steer', 'pending', ?, ?, 1)",
                (event.message.id, row.seq, row.seq),
            )
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute("PRAGMA user_version = 2")


RESTING: list[Event] = [
    TurnStarted(turn="t"),
    TurnEnded(turn="t"),
    SettingsChanged(settings={"trigger": 0.5}),
]


@pytest.mark.parametrize(
    ("events", "generation", "is_due"),
    [
        ([], 1, False),
        ([waiting("m")], 0, True),
        ([waiting("m"), TurnStarted(turn="t")], 0, False),
        ([waiting("m"), TurnStarted(turn="t")], 1, True),
        (
            [waiting("m"), TurnStarted(turn="t"), *[SettingsChanged(settings={})] * 60],
            1,
            True,
        ),
        ([*RESTING, waiting("m")], 0, True),
        ([TurnStarted(turn="t")], 1, False),
        (
            [
                waiting("m"),
                TurnStarted(turn="t"),
                TurnPaused(turn="t", reason="approval"),
            ],
            1,
            True,
        ),
    ],
    ids=["empty", "told", "imported", "open", "long", "rests", "metered", "paused"],
)
async def test_what_an_older_store_left_is_due_in_it(
    events: list[Event], generation: int, is_due: bool, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        fill_version_2(database, events, generation)
        bring_up_to_date(database, path, b"")
    store = SqliteStore(path)
    found = await store.unattended(10)
    await store.close()
    assert [each.id for each in found] == (["s"] if is_due else [])


VERSION_5 = Path(__file__).parent / "version_5.sql"
"""The sessions ``rests``, whose message waits, and ``driven``, in which an answer streams, as Ullage wrote them."""

SESSIONS_OF_5 = """
SELECT id, title, model, created, changed, seq, owner, origin, generation, key, since, tenant, place
FROM sessions LEFT JOIN due ON session = key ORDER BY changed DESC
"""

EVENTS_OF_5 = """
SELECT seq, name, at, body FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?) ORDER BY seq
"""


def written_by_5(path: Path) -> sqlite3.Connection:
    """A database as a program of version 5 wrote it, open."""
    database = sqlite3.connect(path)
    database.executescript(VERSION_5.read_text())
    return database


async def test_a_store_of_version_5_holds_after_its_migration_what_it_held(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.db"
    with closing(written_by_5(path)) as database:
        rows = database.execute(SESSIONS_OF_5).fetchall()
        events = {
            session: [
                to_event(session, EventRow(*row))
                for row in database.execute(EVENTS_OF_5, (session,))
            ]
            for session in ("rests", "driven")
        }
    store = SqliteStore(path)
    assert [tuple(row) for row in await store.sessions()] == rows
    for session, stored in events.items():
        assert await store.read(session) == stored
        assert [event.seq for event in stored] == [1, 2, 3, 4]
    assert [message.id for _, message, _ in await store.pending("rests")] == ["u2"]
    assert [piece.text for piece in await store.read_draft("driven")] == ["An ans", "wer"]
    (handle,) = await store.handles("rests")
    assert await store.kept("rests", handle) == b"kept bytes"
    await store.close()


async def test_a_store_of_version_5_is_written_after_its_migration(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.db"
    written_by_5(path).close()
    store = SqliteStore(path)
    assert (await store.send("rests", said("u3"), "steer")).position == 2
    lease = await store.acquire("driven", "o", ttl_s=60, steal=True)
    await store.draft(lease, [DraftPiece("call-9", 2, "text", "p", "!")])
    assert [piece.offset for piece in await store.read_draft("driven")] == [0, 1, 2]
    (ended,) = await store.append(
        lease, [TurnEnded(turn="t")], after=4, ends_draft="call-9"
    )
    assert ended.seq == 5
    assert await store.read_draft("driven") == []
    await store.delete("rests")
    await store.release(lease)
    (row,) = await store.sessions()
    assert (row.id, row.seq, row.changed) == ("driven", 5, ended.at)
    await store.close()


async def test_a_program_of_version_5_that_still_runs_can_write_nothing_after_the_migration(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.db"
    with closing(written_by_5(path)) as older:
        store = SqliteStore(path)
        before = await store.read("rests")
        for statement in (
            "INSERT INTO events (session, seq, name, at, body) VALUES (1, 5, NULL, 1, x'')",
            "INSERT INTO drafts (session, call, first, last, seq, body) VALUES (1, 'c', 0, 0, 4, x'')",
            "UPDATE sessions SET seq = 5, changed = 2, title = '', model = '' WHERE key = 1",
        ):
            with pytest.raises(sqlite3.OperationalError):
                older.execute(statement)
        assert await store.read("rests") == before
        await store.close()
