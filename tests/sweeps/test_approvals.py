import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.promises.stage import of_kind
from tests.sweeps.forks import fork_server
from tests.sweeps.judging import IDEMPOTENT, judge_ledger, judge_turns
from tests.sweeps.orders import Kill, effects_in
from tests.sweeps.points import IS_THOROUGH, spread
from tests.sweeps.sweep import Runs, error_of, ledger_of
from tests.sweeps.wires import WIRES, exchanges_by_run, script
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    Event,
    MessageAdded,
    ToolEnded,
    ToolStarted,
)
from ullage.messages import ToolCallPart, ToolResultPart
from ullage_simulators import running

ANTHROPIC = WIRES[0]
ASKED = ["count", "press"]
WHY = "not in this weather"


def calls_of(ledger: list[Event]) -> dict[str, ToolCallPart]:
    return {
        part.call_id: part
        for event in of_kind(ledger, MessageAdded)
        for part in event.message.of_type(ToolCallPart)
    }


def results_of(ledger: list[Event]) -> dict[str, ToolResultPart]:
    parts = [
        part
        for event in of_kind(ledger, MessageAdded)
        for part in event.message.of_type(ToolResultPart)
    ]
    assert len({part.call_id for part in parts}) == len(parts), "a call has two results"
    return {part.call_id: part for part in parts}


@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_that_waits_for_a_person_outlives_the_process_that_asked(
    tmp_path: Path, approved: bool
) -> None:
    with running(script()) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            first = runs.order("one", "first", kill=Kill("paused", 1), approve=ASKED)
            assert await forks.run(first) == -9, error_of(first)
            asked = await ledger_of(first.database)
            assert of_kind(asked, ApprovalAsked)
            assert not [
                line
                for line in effects_in(tmp_path / "one")
                if line.startswith(tuple(ASKED))
            ]
            looks = runs.order("one", "looks", approve=ASKED)
            assert (await runs.whole(looks)).reason == "approval", (
                "opening it again answers for nobody"
            )
            more: dict[str, object] = {"approved": approved, "note": WHY}
            second = runs.order("one", "second", more=more, approve=ASKED)
            assert (await runs.whole(second)).reason == "finished"
        ledger = await ledger_of(second.database)
        exchanges = exchanges_by_run(server)["one"]
    assert all(exchange.status == 200 for exchange in exchanges)
    judge_ledger(asked, ledger)
    judge_turns(ledger)
    calls, results = calls_of(ledger), results_of(ledger)
    lines = [
        line for line in effects_in(tmp_path / "one") if line.startswith(tuple(ASKED))
    ]
    if approved:
        wanted = [
            f"{part.name} {call_id} bungs"
            for call_id, part in calls.items()
            if part.name in ASKED
        ]
        assert sorted(lines) == sorted(wanted), (
            "each ran once with the arguments that were shown"
        )
        assert not any(result.is_error for result in results.values())
    else:
        assert not lines
        denied = [
            result for call_id, result in results.items() if calls[call_id].name in ASKED
        ]
        assert len(denied) == 2
        assert all(result.is_error and WHY in result.text for result in denied)


@pytest.mark.parametrize("approved", [True, False])
async def test_an_answer_to_an_approval_counts_once_wherever_those_who_ask_and_answer_die(
    tmp_path: Path, approved: bool
) -> None:
    """Asks, is killed; answers, is killed; and a third one goes on."""
    problems: list[str] = []
    seen: Counter[str] = Counter()
    more: dict[str, object] = {"approved": approved, "note": WHY}
    with running(script()) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            await runs.warm()
            asks = await runs.whole(runs.order("whole", "first", approve=ASKED))
            answers = await runs.whole(
                runs.order("whole", "second", more=more, approve=ASKED)
            )
            at_once = asyncio.Semaphore(3)

            async def chain(number: int, asking: int, answering: int) -> None:
                run = f"chain-{number}"
                async with at_once:
                    orders = [
                        runs.order(
                            run, "first", kill=Kill("store", asking), approve=ASKED
                        ),
                        runs.order(
                            run,
                            "second",
                            kill=Kill("store", answering),
                            more=more,
                            approve=ASKED,
                        ),
                        runs.order(run, "third", more=more, approve=ASKED),
                    ]
                    statuses = [await forks.run(order) for order in orders]
                try:
                    assert statuses[-1] == 0, error_of(orders[-1])
                    ledger = await ledger_of(orders[-1].database)
                    judge_approvals(ledger, effects_in(tmp_path / run), approved)
                    refused = [
                        one.said
                        for one in exchanges_by_run(server)[run]
                        if one.status != 200
                    ]
                    assert not refused, refused
                    seen.update(event.outcome for event in of_kind(ledger, ToolEnded))
                except AssertionError as problem:
                    problems.append(f"{run} {asking} {answering} {statuses}: {problem}")

            share = 60 if IS_THOROUGH else 12
            first = spread(asks.counts["store"], share, place=0.3)[:share]
            second = spread(answers.counts["store"], share, place=0.7)[:share]
            # Both orders of pairing: an early death of one with a late death of the other.
            pairs = [
                *zip(first, second, strict=False),
                *zip(first, reversed(second), strict=False),
            ]
            await asyncio.gather(
                *(chain(number, *pair) for number, pair in enumerate(pairs))
            )
    assert not problems, "\n".join(problems[:6])
    assert seen["finished" if approved else "denied"] > len(pairs)


def judge_approvals(ledger: list[Event], effects: list[str], approved: bool) -> None:
    judge_ledger([], ledger)
    judge_turns(ledger)
    calls, results = calls_of(ledger), results_of(ledger)
    assert set(calls) == set(results)
    ran = Counter(line.split()[1] for line in effects)
    asked = {event.call_id for event in of_kind(ledger, ApprovalAsked)}
    allowed = {
        event.call_id for event in of_kind(ledger, ApprovalGiven) if event.approved
    }
    started = Counter(event.call_id for event in of_kind(ledger, ToolStarted))
    outcomes = {event.call_id: event.outcome for event in of_kind(ledger, ToolEnded)}
    for line in effects:
        name, call_id, what = line.split()
        assert json_has(calls[call_id].arguments, what), (
            "it ran with other arguments than those that were shown"
        )
        assert name == calls[call_id].name
    for call_id, part in calls.items():
        if part.name in IDEMPOTENT:
            continue
        assert ran[call_id] <= 1 and started[call_id] <= 1, (
            f"{call_id} ran {ran[call_id]} times"
        )
        if started[call_id]:
            assert call_id in asked & allowed, f"{call_id} ran and nobody had allowed it"
        if outcomes[call_id] == "finished":
            assert ran[call_id] == 1
        if outcomes[call_id] == "denied":
            assert not approved and WHY in results[call_id].text


def json_has(arguments: str, what: str) -> bool:
    return f'"{what}"' in arguments
