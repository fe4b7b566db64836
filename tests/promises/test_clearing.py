"""A server that clears tool results and thinking: the reading is what the model read, and nothing false is learnt."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.promises.stage import (
    CLAUDE,
    OLD_CLAUDE,
    agent_for,
    assert_accepted,
    of_kind,
    script,
)
from ullage.events import Amount, CallStarted, Event
from ullage.meter.reading import Reading
from ullage.meter.track import Step
from ullage.tokens.calibration import Calibration
from ullage_simulators import running
from ullage_simulators.wire import Bill

CALLS = 8
LEARNT = 1
"""Calls after which the intervals are held to their promise."""
RESULTS = {"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 2}}
EARLY = {**RESULTS, "trigger": {"type": "input_tokens", "value": 6_000}}
ONE_TURN = {"type": "thinking_turns", "value": 1}
THINKING = {"type": "clear_thinking_20251015", "keep": ONE_TURN}
PAGE = (
    "The lamp in room four was lit at dusk, and the keeper wrote the hour into the book. "
    * 60
)


def read(page: int) -> str:
    """Read a page of the book.

    Args:
        page: Its number.
    """
    return f"Page {page}. {PAGE}"


class Run(NamedTuple):
    steps: tuple[Step, ...]
    bills: tuple[Bill, ...]
    shown: tuple[Amount, ...]
    """What was shown before each call."""
    reading: Reading
    calibration: Calibration


def shown_in(events: list[Event]) -> Iterator[Amount]:
    for event in of_kind(events, CallStarted):
        assert event.estimate is not None
        yield event.estimate


async def run(store: Path, *edits: dict[str, Any], stream: bool = True) -> Run:
    """A turn of many tool calls and two turns of words, with these edits."""
    lines: list[dict[str, Any]] = []
    for page in range(CALLS):
        call = {"name": "read", "arguments": {"page": page}}
        thought = "The next page may hold it. " * 8
        lines.append({"reasoning": thought, "calls": [call], "times": 1})
    lines.append({"reasoning": "It is there. " * 9, "text": "At dusk.", "times": 1})
    lines.append({"reasoning": "They ask again. " * 9, "text": "Yes.", "times": 1})
    lines.append({"text": "In ink."})
    params: dict[str, object] = dict(CLAUDE.params)
    if edits:
        params["context_management"] = {"edits": list(edits)}
    settings: dict[str, Any] = {"model": CLAUDE.model, "params": params, "stream": stream}
    counts_reasoning = {"loop": True, "turns": True}
    with running(script(*lines, drawn=counts_reasoning), seed=5) as server:
        agent = agent_for(store, server=server, tools=[read], count="never", **settings)
        async with agent.session("s") as session:
            for question in ("When was it lit?", "Are you sure?", "How is it written?"):
                result = await session.ask(question)
                assert result.reason == "finished", result
            meter = await session._meter()
            done = Run(
                tuple(meter.steps),
                server.truth().bills,
                tuple(shown_in(list(await session.history()))),
                await session.context(),
                meter.calibration,
            )
        assert_accepted(server)
    assert len(done.steps) == len(done.bills) == CALLS + 3
    return done


@pytest.mark.parametrize(
    ("edits", "stream"),
    list(product([(EARLY,), (THINKING, EARLY)], (True, False))),
    ids=["results", "results-whole", "thinking", "thinking-whole"],
)
async def test_the_reading_is_what_the_model_read_and_clearing_teaches_nothing(
    edits: tuple[dict[str, Any], ...], stream: bool, tmp_path: Path
) -> None:
    plain = await run(tmp_path / "plain.db", stream=stream)
    cleared = await run(tmp_path / "cleared.db", *edits, stream=stream)
    assert cleared.bills[-1].input < plain.bills[-1].input / 2
    for step, as_plain, bill in zip(
        cleared.steps, plain.steps, cleared.bills, strict=True
    ):
        assert step.actual == bill.input
        assert step.error == as_plain.error
    assert cleared.calibration == plain.calibration
    is_clearing = False
    for shown, bill, other in zip(cleared.shown, cleared.bills, plain.bills, strict=True):
        if bill.number > LEARNT:
            assert shown.low <= bill.input <= shown.high
        if is_clearing and THINKING not in edits:
            assert abs(shown.tokens - bill.input) <= 0.02 * bill.input
            assert shown.high <= 1.2 * bill.input
        is_clearing = bill.input < other.input
    reading = cleared.reading
    assert reading.basis.last_input == cleared.bills[-1].input
    assert reading.used.tokens < plain.reading.used.tokens / 2
    assert sum(row.tokens for row in reading.rows if row.summed) == reading.used.tokens
    (note,) = reading.notes
    assert "tokens of tool results (6 tool calls)" in note
    assert ("tokens of earlier reasoning (1 turn)" in note) == (THINKING in edits)
    assert not plain.reading.notes


async def test_an_edit_whose_threshold_is_not_reached_changes_nothing(
    tmp_path: Path,
) -> None:
    plain = await run(tmp_path / "plain.db")
    untouched = await run(tmp_path / "untouched.db", RESULTS)
    assert [bill.input for bill in untouched.bills] == [
        bill.input for bill in plain.bills
    ]
    assert untouched.reading.used == plain.reading.used
    assert not untouched.reading.notes


@pytest.mark.parametrize("keeps", [True, False])
async def test_thinking_that_the_request_keeps_is_read_on_a_model_that_would_drop_it(
    keeps: bool, tmp_path: Path
) -> None:
    params: dict[str, object] = dict(OLD_CLAUDE.params)
    if keeps:
        edit = {"type": "clear_thinking_20251015", "keep": "all"}
        params["context_management"] = {"edits": [edit]}
    thought = {"reasoning": "This must be thought through. " * 40, "text": "Yes."}
    with running(script(thought), seed=5) as server:
        agent = agent_for(
            tmp_path / "store.db",
            server=server,
            count="never",
            model=OLD_CLAUDE.model,
            params=params,
        )
        async with agent.session("s") as session:
            for number in range(5):
                result = await session.ask(f"Is this question {number}?")
                assert result.reason == "finished", result
            shown = list(shown_in(list(await session.history())))
        bills = server.truth().bills
        assert_accepted(server)
    assert (bills[-1].kept > 1_000) == keeps
    for estimate, bill in list(zip(shown, bills, strict=True))[LEARNT:]:
        assert estimate.low <= bill.input <= estimate.high
        assert abs(estimate.tokens - bill.input) <= max(20, 0.1 * bill.input)
