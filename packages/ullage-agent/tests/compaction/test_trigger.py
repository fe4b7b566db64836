"""When a compaction begins: at the first boundary where it has to, on the number that every display was given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    generated,
    is_summary_call,
    refused,
    scene,
    script,
)
from tests.context.sessions import words
from ullage.errors import Overflow
from ullage.events import CallStarted, CompactionStarted, Event, Pruned, ReadingTaken

WINDOW = 16_000


def look(at: int) -> str:
    """Look at a cask.

    Args:
        at: Its number.
    """
    return words(500, at)


LINES: tuple[dict[str, Any], ...] = (
    {
        "when": {"after": "user", "contains": "look"},
        "calls": [{"name": "look", "arguments": {"at": 5}}],
    },
    {"text": f"It is whole. {words(80, 9)}"},
)


def assert_fired_in_time(events: Sequence[Event], point: int) -> int:
    """Before each main call the reading was below the point, or it fired, and only then; gives how often."""
    taken: ReadingTaken | None = None
    fired = 0
    is_done = False
    for event in events:
        match event:
            case ReadingTaken():
                taken = event
            case CompactionStarted(trigger="point") | Pruned():
                assert taken is not None
                assert taken.used.high >= point == taken.compaction_point, (
                    "it fired below the point"
                )
                if isinstance(event, CompactionStarted):
                    assert event.snapshot == taken.snapshot
                    assert event.high == taken.used.high
                fired, is_done = fired + 1, True
            case CallStarted(purpose="main"):
                assert event.estimate is not None
                assert event.estimate.high < point or is_done, "it was skipped"
                assert taken is not None and event.snapshot == taken.snapshot
                is_done = False
            case _:
                pass
    return fired


@pytest.mark.parametrize(
    ("settings", "point"),
    [
        ({}, 12_800),
        ({"trigger": 0.5}, 8_000),
        ({"trigger": 9_000}, 9_000),
        ({"models": {"small": {"trigger": 0.6}}}, 9_600),
        ({"trigger": 1.0}, 14_000),
    ],
    ids=["default", "share", "tokens", "model", "input limit"],
)
async def test_it_fires_at_the_first_boundary_at_or_above_the_point_on_the_reading_that_was_shown(
    settings: dict[str, Any], point: int, tmp_path: Path
) -> None:
    async with scene(
        tmp_path,
        ANTHROPIC,
        scenario=script(ANTHROPIC, *LINES, window=WINDOW),
        window=WINDOW,
        tools=[look],
        **settings,
    ) as (server, session):
        for number in range(50):
            await session.send(
                f"No. {number:03}: {'look' if number % 2 else ''} {words(100, number)}"
            )
            assert (await session.wait()).reason == "finished"
        events = await session.history()
    assert not refused(server)
    assert assert_fired_in_time(events, point) >= 2


async def test_without_auto_nothing_is_ever_compacted_and_an_overflow_is_a_typed_error(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ANTHROPIC, window=WINDOW, auto=False) as (server, session):
        reason = ""
        for number in range(60):
            await session.send(f"No. {number:03}: {words(350, number)}")
            result = await session.wait(check=False)
            if (reason := result.reason) != "finished":
                break
        assert reason == "too_large"
        assert isinstance(result.error, Overflow)
        assert not [
            each
            for each in await session.history()
            if isinstance(each, CompactionStarted | Pruned)
        ]
    assert not any(is_summary_call(one) for one in generated(server))
