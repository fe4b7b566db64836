"""The reading right after each compaction, on each wire: what the next request turns out to be, but for 2 %."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    CHAT,
    DIALECTS,
    GEMINI,
    IS_THOROUGH,
    RESPONSES,
    SESSION,
    Dialect,
    agent_on,
    generated,
    is_summary_call,
    refused,
    script,
)
from tests.context.sessions import words
from ullage.events import CallStarted, CompactionCommitted, Event, Pruned, ReadingTaken
from ullage_simulators import running

WINDOW = 16_000
TURNS = 90
WITHIN = 0.02
SEEDS = range(3)
WIRES = (ANTHROPIC, RESPONSES, CHAT, GEMINI)


def look(at: int) -> str:
    """Look at a cask.

    Args:
        at: Its number.
    """
    return f"cask {at}: {words(150 + 50 * (at % 5), at)}"


def lines() -> list[dict[str, Any]]:
    """Two of three turns look at two casks; what is said differs in length from turn to turn."""
    made: list[dict[str, Any]] = []
    for number in reversed(range(TURNS)):
        calls = (
            [{"name": "look", "arguments": {"at": number + each}} for each in (0, 3)]
            if number % 3
            else []
        )
        said = (
            {"reasoning": "Both, then.", "calls": calls}
            if calls
            else {"text": f"Noted. {words(90, number)}"}
        )
        made.append({"when": {"contains": f"Turn {number:03}:", "after": "user"}, **said})
    return [*made, {"when": {"after": "tool"}, "text": f"Both are whole. {words(60, 4)}"}]


class Change(NamedTuple):
    """A change of the view: the reading before, the one every display shows after it, and what the call on it was.

    ``next`` is the reading that call was made on, ``actual`` what the simulator counted.
    """

    before: int
    shown: int
    next: int
    actual: int


def changes(events: Sequence[Event], actuals: Sequence[int]) -> Iterator[Change]:
    """All changes that a call followed. Of two without a call in between, each had its reading, the second its call."""
    taken: ReadingTaken | None = None
    waiting: list[tuple[int, int]] = []
    old: int | None = None
    calls = 0
    for event in events:
        match event:
            case ReadingTaken():
                if old is not None:
                    waiting.append((old, event.used.tokens))
                    old = None
                taken = event
            case CompactionCommitted() | Pruned():
                assert taken is not None
                old = taken.used.tokens
            case CallStarted(purpose="main"):
                assert old is None, (
                    "no reading was shown between the change and the next call"
                )
                assert event.estimate is not None
                for before, shown in waiting:
                    yield Change(before, shown, event.estimate.tokens, actuals[calls])
                waiting.clear()
                calls += 1
            case _:
                pass


async def lived(path: Path, dialect: Dialect, seed: int) -> list[Change]:
    """The changes of a session of so many turns, at a simulator with numbers of its own for what everything costs."""
    with running(script(dialect, *lines(), window=WINDOW), seed=seed) as server:
        async with agent_on(server, path, dialect, window=WINDOW, tools=[look]).session(
            SESSION
        ) as session:
            for number in range(TURNS):
                await session.send(f"Turn {number:03}: {words(40, number)}")
                result = await session.wait()
                assert result.reason == "finished", result.note
            events = await session.history()
        assert not refused(server)
        mains = [one for one in generated(server) if not is_summary_call(one)]
        return list(
            changes(events, [one.bill.input for one in mains if one.bill is not None])
        )


@pytest.mark.parametrize(
    "dialect", DIALECTS if IS_THOROUGH else WIRES, ids=lambda dialect: dialect.name
)
async def test_the_reading_after_a_compaction_is_the_next_actual_and_never_none_nor_the_old_one(
    dialect: Dialect, tmp_path: Path
) -> None:
    """What is shown right after a compaction is what the next call is made on, as compactions come just before one."""
    found = [
        change
        for seed in SEEDS
        for change in await lived(tmp_path / f"{seed}.db", dialect, seed)
    ]
    assert len(found) >= 3 * len(SEEDS)
    for change in found:
        assert 0 < change.shown < change.before
        assert change.next == change.shown
    off = [abs(change.next - change.actual) / change.actual for change in found]
    assert median(off) <= WITHIN, sorted(off)
