"""A session that never ends, on a small window: the bound on compactions, what stays, and how true the readings are.

HYPOTHESIS_PROFILE=thorough uv run pytest tests/compaction --log-cli-level=INFO      1,000 turns, and the figures
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    DEEPSEEK,
    FIVE,
    IS_THOROUGH,
    SESSION,
    SYSTEM,
    Dialect,
    agent_on,
    generated,
    heard,
    is_summary_call,
    of_kind,
    refused,
    script,
)
from tests.context.sessions import words
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    MessageAdded,
    Pruned,
    ReadingTaken,
)
from ullage_simulators import running

WINDOW = 16_000
MOST_AFTER = 0.45
WITHIN = 0.02

RULES = (
    "Never open cask 12 without asking me.",
    "Always give volumes in litres.",
    "You must not touch the blue tap!",
    "Don't write to the ledger on Sundays.",
    "Use the name Ullage & Sons in every letter.",
)
PINNED = (
    "Pinned: the key of the cellar hangs behind the third stave, left of the lantern."
)


def look(at: int) -> str:
    """Look at a cask.

    Args:
        at: Its number.
    """
    return f"cask {at}: {words(150 + 40 * (at % 7), at)}"


def lines() -> list[dict[str, Any]]:
    """Most turns look at two casks, some at none; a number in the request makes arguments differ."""
    two = [{"name": "look", "arguments": {"at": n}} for n in (3, 11)]
    return [
        {
            "when": {"contains": "look closely", "after": "user"},
            "reasoning": "Both, then.",
            "calls": two,
        },
        {"when": {"after": "tool"}, "text": f"Both are whole. {words(60, 4)}"},
        {"text": f"I have written that down. {words(120, 5)}"},
    ]


class Kept(NamedTuple):
    """What the session and the simulator had of it, at the end."""

    events: list[Event]
    bodies: list[str]
    asked: list[str]
    actuals: list[int]


async def kept(path: Path, dialect: Dialect, count: int) -> Kept:
    """A session of so many turns, in which nothing may go wrong."""
    asked: list[str] = []
    with running(script(dialect, *lines(), window=WINDOW)) as server:
        async with agent_on(
            server, path / "s.db", dialect, window=WINDOW, tools=[look]
        ).session(SESSION) as session:
            for number in range(count):
                said = f"Turn {number}: {'look closely' if number % 3 else 'note'} {words(40, number)}."
                if number < len(RULES):
                    said += f" {RULES[number]}"
                if number == 2:
                    await session.ask(PINNED)
                    await session.pin((await session.messages())[-2].id)
                    asked.append(PINNED)
                asked.append(said)
                await session.send(said)
                result = await session.wait()
                assert result.reason == "finished", (number, result.reason, result.note)
            events = await session.history()
            found = [
                await session.explain(one.message.id)
                for one in of_kind(events, MessageAdded)[::37]
            ]
        assert not refused(server), refused(server)
        arrived = generated(server)
        assert all(
            each.status not in ("unknown", "rewound", "dropped") for each in found
        ), found
        bodies = [heard(one) for one in arrived if not is_summary_call(one)]
        actuals = [
            one.bill.input
            for one in arrived
            if not is_summary_call(one) and one.bill is not None
        ]
    return Kept(events, bodies, asked, actuals)


def compactions(events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """Before and after of each change of the view."""
    for event in events:
        if isinstance(event, CompactionCommitted | Pruned):
            assert event.before is not None and event.after is not None
            yield event.before, event.after


def assert_bounded(session: Kept) -> str:
    """At most 1.2 times what the tokens that came in make necessary; the median right after at most 45 %."""
    changes = list(compactions(session.events))
    after = median(after for _, after in changes)
    readings = [event.used.tokens for event in of_kind(session.events, ReadingTaken)]
    point = next(
        each.compaction_point for each in reversed(of_kind(session.events, ReadingTaken))
    )
    assert point is not None
    added = readings[-1] + sum(before - after for before, after in changes)
    most = 1.2 * math.ceil(added / (point - after))
    assert after <= MOST_AFTER * WINDOW, after
    assert len(changes) <= most, (len(changes), most)
    return f"{len(changes)} of at most {most:.0f} compactions for {added:,} tokens, median after {after / WINDOW:.1%}"


def first_actuals(events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """Of each change of the view: the reading after it as the next call's estimate, and that call's actual input."""
    calls = {
        event.call: event
        for event in of_kind(events, CallStarted)
        if event.purpose == "main"
    }
    changed = False
    started = ""
    for event in events:
        if isinstance(event, CompactionCommitted | Pruned):
            changed = True
        elif isinstance(event, CallStarted) and event.purpose == "main" and changed:
            started, changed = event.call, False
        elif isinstance(event, CallEnded) and event.call == started:
            estimate, usage = calls[started].estimate, event.usage
            assert estimate is not None and usage is not None and usage.input is not None
            yield estimate.tokens, usage.input
            started = ""


def assert_true_after(session: Kept) -> str:
    """The reading right after each change is the next actual but for 2 % (median); never 0, never the old value."""
    off = [abs(read - actual) / actual for read, actual in first_actuals(session.events)]
    assert len(off) >= 3
    assert all(0 < after < before for before, after in compactions(session.events))
    assert median(off) <= WITHIN, sorted(off)
    return f"reading after a compaction off by {median(off):.2%} (median of {len(off)}), at worst {max(off):.1%}"


def assert_accounted(events: Sequence[Event]) -> None:
    """Each message is in view, or left it exactly once: summarised, or dropped with a reason."""
    added = [event.message.id for event in of_kind(events, MessageAdded)]
    assert len(set(added)) == len(added)
    view, left = dict.fromkeys(added), []
    for event in of_kind(events, CompactionCommitted):
        gone = [*event.summarised, *(each.id for each in event.dropped)]
        assert all(each.reason for each in event.dropped)
        left += gone
        for name in gone:
            del view[name]
        if event.summary is not None:
            view[event.summary.id] = None
    assert len(set(left)) == len(left)


def assert_stays(session: Kept, dialect: Dialect) -> None:
    """System, pinned text, the newest request and the rules stand in every request as the simulator got it."""
    for body in session.bodies:
        assert SYSTEM in body
        newest = max(
            (
                number
                for number, said in enumerate(session.asked)
                if json.dumps(said)[1:-1] in body
            ),
            default=-1,
        )
        assert newest >= 0, "no request of the user is in it"
    late = [
        body
        for body in session.bodies
        if f"Turn {len(RULES) + 1}:" in body or "Previous context" in body
    ]
    for body in late:
        assert body.count(PINNED) == 1
        for rule in RULES:
            assert rule in body, f"{rule} is not in a request"


def assert_newest(session: Kept) -> None:
    """Every request of the user was in a call, in the order in which they were said."""
    place = 0
    for said in session.asked:
        while said not in session.bodies[place]:
            place += 1
            assert place < len(session.bodies), said


@pytest.mark.parametrize(
    "dialect",
    FIVE if IS_THOROUGH else (ANTHROPIC, DEEPSEEK),
    ids=lambda dialect: dialect.name,
)
async def test_a_session_of_many_turns_stays_inside_with_few_compactions(
    dialect: Dialect, tmp_path: Path
) -> None:
    count = 1_000 if IS_THOROUGH and dialect is ANTHROPIC else 150
    session = await kept(tmp_path, dialect, count)
    began, rolled = (
        of_kind(session.events, CompactionStarted),
        of_kind(session.events, CompactionRolledBack),
    )
    assert not [
        each for each in rolled if not each.rung and each.reason != "nothing_to_do"
    ]
    assert_accounted(session.events)
    assert_stays(session, dialect)
    assert_newest(session)
    assert len(session.actuals) == len(
        [each for each in of_kind(session.events, CallStarted) if each.purpose == "main"]
    )
    figures = "; ".join([assert_bounded(session), assert_true_after(session)])
    logging.getLogger(__name__).info(
        "%s, %d turns, %d begun: %s", dialect.name, count, len(began), figures
    )
