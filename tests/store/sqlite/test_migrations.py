"""What stores of earlier versions hold is in today's schema what it was."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from ullage.events import (
    Event,
    Queued,
    SettingsChanged,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.messages import Message, TextPart
from ullage.store.sqlite.opening import bring_up_to_date, connect
from ullage.store.sqlite.store import SqliteStore


def waiting(name: str) -> Queued:
    message = Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text="x"),))
    return Queued(message=message, kind="steer", position=1)


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
    store = SqliteStore(path)
    await store.create("s", events)
    await store.close()
    with closing(connect(path, "mode=rw")) as database:
        database.execute("DROP TABLE due")
        database.execute("DROP TABLE shared")
        for name in ("tenant", "place"):
            database.execute(f"ALTER TABLE sessions DROP COLUMN {name}")
        database.execute("UPDATE sessions SET generation = ?", (generation,))
        database.execute("PRAGMA user_version = 2")
        bring_up_to_date(database, path, b"")
    store = SqliteStore(path)
    found = await store.unattended(10)
    await store.close()
    assert [each.id for each in found] == (["s"] if is_due else [])
