"""Providers whose reported inputs can't be true: no turn fails for it, and the reading knows better or says so."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import CLAUDE, SIX, Speaker, agent_for, assert_accepted, script
from tests.tiers import first_of
from ullage.meter.limits import lookup
from ullage.meter.reading import Reading
from ullage_simulators import running

TURNS = 7
KINDS = (
    "huge-usage",
    "cumulative-usage",
    "uncached-only",
    "tiny-usage",
    "nan-usage",
)
WINDOW = 60_000
WORDS = "The keeper of the museum counts lamps, maps and letters once more. " * 12


def always(kind: str) -> Any:
    return script({"text": "It is noted in the book."}, faults=[{"kind": kind}])


def once(kind: str) -> Any:
    faults = [{"kind": kind, "request": 3}]
    return script({"text": "It is noted in the book."}, faults=faults)


def id_of(case: Any) -> str:
    return case.name if isinstance(case, Speaker) else str(case)


CASES = [
    (speaker, kind, is_streamed)
    for kind, speaker, is_streamed in product(KINDS, SIX, (True, False))
]


@pytest.mark.parametrize(
    ("speaker", "kind", "is_streamed"), first_of(CASES[::7] + CASES, 8), ids=id_of
)
async def test_every_turn_completes_and_the_reading_holds_the_truth_or_says_that_it_guesses(
    speaker: Speaker, kind: str, is_streamed: bool, tmp_path: Path
) -> None:
    readings: list[Reading] = []
    with running(always(kind), seed=11) as server:
        agent = agent_for(tmp_path / "s.db", server=server)
        settings = {**speaker.settings(), "window": WINDOW, "stream": is_streamed}
        async with agent.session("s", **settings) as session:
            for turn in range(TURNS):
                result = await session.ask(f"{turn}. {WORDS}")
                assert result.reason == "finished", (turn, result)
                readings.append(await session.context())
            steps = (await session._meter()).steps
            assert readings[-1].compactions == 0
        bills = [bill.input for bill in server.truth().bills]
        assert_accepted(server)
    assert len(steps) == len(bills) == TURNS
    # The second estimate knows one report, and not yet how this tokenizer differs.
    for step, reading, true in zip(steps[2:], readings[1:], bills[2:], strict=False):
        holds = step.low <= true <= step.high
        assert holds or "estimated" in reading.basis.label, (step, true, reading.basis)
        assert true / 3 <= step.estimated <= true * 3
    assert readings[-1].notes
    if kind == "cumulative-usage":
        assert [step.actual for step in steps[-3:]] == bills[-3:]
        assert "sum of all calls" in " ".join(readings[-1].notes)


@pytest.mark.parametrize(
    ("speaker", "kind"), first_of(list(product(SIX, KINDS)), 5), ids=id_of
)
async def test_one_false_report_is_forgotten_with_the_next_true_one(
    speaker: Speaker, kind: str, tmp_path: Path
) -> None:
    with running(once(kind), seed=12) as server:
        agent = agent_for(tmp_path / "s.db", server=server)
        async with agent.session("s", **speaker.settings(), window=WINDOW) as session:
            for turn in range(4):
                assert (await session.ask(f"{turn}. {WORDS}")).reason == "finished"
                if turn == 2:
                    doubted = await session.context()
                    assert doubted.notes
            last = await session.context()
            steps = (await session._meter()).steps
        bills = [bill.input for bill in server.truth().bills]
    assert [step.actual for step in steps[:2]] == bills[:2]
    is_refused = steps[2].actual is None
    says_so = "can't be true" in doubted.basis.label or "in doubt" in doubted.basis.label
    assert is_refused == says_so
    assert is_refused or (kind == "cumulative-usage" and steps[3].low <= bills[3])
    assert steps[3].actual == bills[3]
    assert not last.notes
    assert last.basis.last_input == bills[3]


@pytest.mark.parametrize(
    ("kind", "limit"),
    [(kind, {"tokens": 6_000}) for kind in KINDS]
    + [(kind, {"usd": 0.01}) for kind in KINDS],
)
async def test_a_budget_is_neither_stopped_by_false_reports_nor_without_a_limit(
    kind: str, limit: dict[str, Any], tmp_path: Path
) -> None:
    def look(room: str) -> str:
        """Look into a room.

        Args:
            room: Which.
        """
        return f"The {room} is large."

    calls = [{"name": "look", "arguments": {"room": "hall"}}]
    looking = script({"calls": calls}, faults=[{"kind": kind}])
    with running(looking, seed=13) as server:
        agent = agent_for(tmp_path / "s.db", server=server, tools=[look])
        settings = {**CLAUDE.settings(), "window": WINDOW, "budget": limit}
        async with agent.session("s", **settings) as session:
            result = await session.ask(WORDS)
        bills = server.truth().bills
    assert result.reason == "budget"
    (most,) = limit.values()
    sent = sum(bill.input for bill in bills)
    answered = sum(bill.output for bill in bills)
    used: float = sent + answered
    if "usd" in limit:
        known = lookup("anthropic", CLAUDE.model.partition(":")[2])
        assert known is not None
        assert known.prices is not None
        price = known.prices.at(0)
        used = (price.input * sent + price.output * answered) / 1e6
    assert len(bills) > 3
    assert most * 0.6 <= used <= most * 1.7
