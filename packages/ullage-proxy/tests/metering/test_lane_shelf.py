"""Lanes in memory: as many as are allowed, and each from the store again when it is needed."""

from __future__ import annotations

from pathlib import Path

from tests.metering.tapped_calls import NamedLanes
from ullage.events import SessionStarted
from ullage.meter.lanes import Placed
from ullage.metering.lane_shelf import LaneShelf, LearningHooks, Notices
from ullage.metering.policy import HELD_BYTES
from ullage.store.sqlite.store import SqliteStore
from ullage_programs.facts import NO_SETTINGS

STARTED = SessionStarted(model="claude-haiku-4-5", wire="messages", provider="anthropic")


def shelf_of(store: SqliteStore | None, said: list[str]) -> LaneShelf:
    return LaneShelf(
        store,
        NamedLanes(),
        LearningHooks(),
        lambda *_: NO_SETTINGS,
        Notices(said.append),
        lambda *_: None,
        keeps_content=True,
        most_open=2,
    )


async def fill(shelf: LaneShelf) -> None:
    for number in range(5):
        name = f"s-{number}"
        await shelf.lane(Placed(name, name, "main", "new"), STARTED)
        await shelf.write()
        shelf.forget_oldest([])


async def test_without_a_store_the_oldest_lanes_are_forgotten_for_good() -> None:
    shelf = shelf_of(None, [])
    await fill(shelf)
    assert len(shelf) == 2
    assert await shelf.held("s-0") is None


async def test_with_a_store_a_forgotten_lane_comes_back(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "proxy.db")
    shelf = shelf_of(store, [])
    await fill(shelf)
    assert len(shelf) == 2
    assert await shelf.held("s-0") is not None
    await store.close()


async def test_lanes_of_large_requests_are_forgotten_earlier(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "proxy.db")
    shelf = shelf_of(store, [])
    for name in ("large", "small"):
        lane = await shelf.lane(Placed(name, name, "main", "new"), STARTED)
        lane.size = HELD_BYTES if name == "large" else 1
    await shelf.write()
    shelf.forget_oldest([])
    assert len(shelf) == 1
    assert await shelf.held("small") is lane
    await store.close()


async def test_a_lane_that_a_call_needs_stays(tmp_path: Path) -> None:
    shelf = shelf_of(None, [])
    lane = await shelf.lane(Placed("s", "s", "main", "new"), STARTED)
    lane.pending.clear()
    for number in range(3):
        await shelf.lane(Placed(f"s-{number}", f"s-{number}", "main", "new"), STARTED)
        await shelf.write()
        shelf.forget_oldest([lane])
    assert await shelf.held("s") is lane


def test_a_notice_is_said_once_until_it_is_forgotten() -> None:
    said: list[str] = []
    notices = Notices(said.append)
    notices.say_once("full")
    notices.say_once("full")
    notices.forget()
    notices.say_once("full")
    assert said == ["full", "full"]
