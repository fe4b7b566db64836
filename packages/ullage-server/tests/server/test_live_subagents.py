"""The list of a session's subagents: how many are read, how often, and what can't be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.running_logs import live_in, metered
from ullage.watching.running import RunningSession
from ullage_server import live_subagents
from ullage_server.live_subagents import Subagents


class Clock:
    """Stands still, or goes by ``step`` with each look at it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def of_main(home: Path, clock: Clock) -> Subagents:
    """The subagents of the session ``main``."""
    sessions = live_in(home)
    (line,) = sessions.list().sessions
    main: RunningSession = sessions._known[line.id]
    return Subagents("live", main, clock)


def test_those_called_last_are_listed_and_no_more_than_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_subagents, "MOST_SUBAGENTS", 2)
    metered(tmp_path, "main")
    for number in (1, 2, 3):
        metered(tmp_path, f"main.child-{number}", origin="main")
    lines = of_main(tmp_path, Clock()).look()
    assert [line.id for line in lines] == ["live.child-3", "live.child-2"]


def test_a_look_that_takes_long_leaves_some_to_the_next(tmp_path: Path) -> None:
    metered(tmp_path, "main")
    for number in (1, 2, 3):
        metered(tmp_path, f"main.child-{number}", origin="main")
    clock = Clock()
    clock.step = 0.4
    subagents = of_main(tmp_path, clock)
    unread: list[int] = []
    while True:
        lines = subagents.look()
        assert len(lines) == 3
        unread.append([line.tokens for line in lines].count(None))
        if not subagents.is_behind:
            break
    assert unread == [1, 0]


def test_one_that_was_not_written_to_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metered(tmp_path, "main")
    metered(tmp_path, "main.child-1", origin="main")
    subagents = of_main(tmp_path, Clock())
    first = subagents.look()
    read: list[str] = []
    monkeypatch.setattr(subagents, "_read", read.append)
    assert subagents.look() == first
    assert read == []
