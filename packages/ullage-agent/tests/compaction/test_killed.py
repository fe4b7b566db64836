"""kill -9 at each step of a compaction: the next process finds the old view or the new one, and goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    RESPONSES,
    Dialect,
    generated,
    imported,
    is_summary_call,
    of_kind,
    refused,
    script,
    turns,
)
from tests.compaction.test_server import history, is_compaction_call, told
from tests.sweeps.forks import fork_server
from tests.sweeps.orders import Kill, Order, Said, report_of
from tests.sweeps.points import IS_THOROUGH, spread
from tests.sweeps.sweep import Runs, error_of, ledger_of
from tests.sweeps.wires import Wire
from ullage.encoding import decode_event
from ullage.events import (
    CompactAsked,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    MessageAdded,
    Pruned,
    TurnEnded,
)
from ullage.messages import Message
from ullage_simulators import Scenario, running

PROCESSES = 3
POINTS = 24
WIRE = Wire("anthropic", "anthropic:small", "anthropic")
NEWEST = (Said("newest", "And what about cask 7 now?"),)


class Life(NamedTuple):
    """What a process that was killed left, and what there was at the end of the one that went on."""

    found: list[Event]
    ledger: list[Event]


def view(events: list[Event]) -> list[str]:
    """The ids in view, from the events alone."""
    names: dict[str, None] = {}
    for event in events:
        if isinstance(event, MessageAdded):
            names[event.message.id] = None
        elif isinstance(event, CompactionCommitted):
            for name in (*event.summarised, *(each.id for each in event.dropped)):
                del names[name]
            if event.summary is not None:
                ids = list(names)
                place = ids.index(event.behind) + 1 if event.behind else 0
                ids.insert(place, event.summary.id)
                names = dict.fromkeys(ids)
    return list(names)


def judge(life: Life, before: list[str], asked: tuple[CompactAsked, ...]) -> str:
    """Asserts that nothing between old and new was found and that all that was begun has ended; gives which it was.

    What was ``asked`` for is not tried again after a crash, unlike a compaction that is due.
    """
    committed = of_kind(life.found, CompactionCommitted)
    old = [name for name in view(life.found) if name in before]
    if not committed:
        assert old == before, "part of the history is missing"
    else:
        assert committed[0].summary is not None and committed[0].summary.id in view(
            life.found
        )
        if asked:
            place = before.index(asked[0].from_)
            now = view(life.found)
            assert now[: place + 1] == [*before[:place], committed[0].summary.id]
    began, ended = (
        of_kind(life.ledger, CompactionStarted),
        of_kind(life.ledger, CompactionCommitted),
    )
    rolled = [
        each for each in of_kind(life.ledger, CompactionRolledBack) if not each.rung
    ]
    assert len(began) == len(ended) + len(rolled), (began, ended, rolled)
    assert {each.reason for each in rolled} <= {"crash"}
    assert len(ended) == 1 or (asked and rolled)
    assert not of_kind(life.ledger, Pruned)
    said = [
        event
        for event in of_kind(life.ledger, MessageAdded)
        if event.message.id == "newest"
    ]
    assert len(said) == 1, "what was said was delivered once"
    assert of_kind(life.ledger, TurnEnded)[-1].reason == "finished"
    if committed:
        return "new"
    return "under way" if of_kind(life.found, CompactionStarted) else "old"


class Kind(NamedTuple):
    """A way to compact: who does it, with which settings and simulator, and of which history."""

    name: str
    wire: Wire
    settings: dict[str, Any]
    scenario: Scenario
    messages: list[Message]
    asked: tuple[CompactAsked, ...] = ()


def served(dialect: Dialect, wire: Wire) -> Kind:
    """Compaction by the provider."""
    settings = {"strategy": ["server"], "window": 64_000, "trigger": 0.25}
    scenario = told(dialect)
    return Kind(f"server, {dialect.name}", wire, settings, scenario, history())


KINDS = (
    Kind("pieces", WIRE, {"window": 16_000}, script(ANTHROPIC), turns(60)),
    Kind(
        "from a message on",
        WIRE,
        {"window": 64_000},
        script(ANTHROPIC, window=64_000, max_output=16_000),
        turns(40, size=300),
        (CompactAsked(from_="u20"),),
    ),
    served(ANTHROPIC, WIRE),
    served(RESPONSES, Wire("openai", "openai:small", "openai")),
)


def order(runs: Runs, kind: Kind, run: str, name: str, kill: Kill) -> Order:
    return runs.order(run, name, kill=kill, said=NEWEST, **kind.settings)


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.name)
async def test_a_process_killed_at_any_step_of_a_compaction_leaves_the_old_view_or_the_new(
    kind: Kind, tmp_path: Path
) -> None:
    messages = kind.messages
    before = [message.id for message in messages]
    happened: list[str] = []
    problems: list[str] = []
    at_once = asyncio.Semaphore(PROCESSES)
    with running(kind.scenario) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, kind.wire, tmp_path)
            await runs.whole(
                runs.order(
                    "warm", "first", life="warm converse", said=NEWEST, **kind.settings
                )
            )
            whole = order(runs, kind, "whole", "first", Kill())
            await imported(whole.database, messages, more=kind.asked)
            counts = (await runs.whole(whole)).counts

            async def point(at: int) -> None:
                first, second = (
                    order(runs, kind, f"r{at}", name, Kill())
                    for name in ("first", "second")
                )
                await imported(first.database, messages, more=kind.asked)
                async with at_once:
                    status = await forks.run(
                        order(runs, kind, f"r{at}", "first", Kill("store", at))
                    )
                    went_on = await forks.run(second)
                try:
                    assert status in (-9, 0), error_of(first)
                    assert went_on == 0, error_of(second)
                    report = report_of(second)
                    assert report is not None and not report.error, report
                    found = [decode_event(line) for line in report.before]
                    happened.append(
                        judge(
                            Life(found, await ledger_of(second.database)),
                            before,
                            kind.asked,
                        )
                    )
                except AssertionError as problem:
                    problems.append(f"killed at {at} of {counts['store']}: {problem}")

            planned = (
                range(1, counts["store"] + 1)
                if IS_THOROUGH
                else spread(counts["store"], POINTS, place=0.5)
            )
            await asyncio.gather(*(point(at) for at in planned))
        assert not problems, f"{len(problems)} of {len(planned)}:\n" + "\n".join(
            problems[:6]
        )
        assert {"old", "under way", "new"} <= set(happened), happened
        assert not refused(server)
        assert any(
            is_summary_call(one) or is_compaction_call(one) for one in generated(server)
        )
