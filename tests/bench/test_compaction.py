"""The compaction bench's own parts: its session, its script, and what it makes of a list of requests."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.compaction import COMPARED, ENDS, MODEL, Outcome, judged, played
from bench.long_sessions import TOOL, invented, recorded
from bench.plugins.scenarios import TRIGGER, markers_of, script
from ullage_simulators.drawn import draw
from ullage_simulators.prompt import ScriptContext
from ullage_simulators.server import Exchange
from ullage_simulators.wire import Bill

WINDOW = 10_000
SAID = played(invented(5), WINDOW)
PLAYED = script(SAID, COMPARED)
DRAWN = draw(0, next(each for each in PLAYED.models if each.name == MODEL), {})


def exchange(last: str, bill: Bill | None, role: str = "user") -> Exchange:
    body: dict[str, Any] = {"messages": [{"role": role, "content": last}]}
    return Exchange(1, "openai", "POST", "/", 200 if bill else 400, body, bill=bill)


def bill(size: int, read: int = 0, output: int = 10) -> Bill:
    return Bill(1, "openai", MODEL, size, read, 0, output, 0, 0, 0)


def outcome(*exchanges: Exchange) -> Outcome:
    return judged(exchanges, SAID, DRAWN)


def test_the_session_is_the_same_at_every_run_and_another_with_another_seed() -> None:
    assert invented(5) == invented(5) != invented(5, seed=8)
    assert len(invented(5).turns) == 5


def test_each_call_of_a_session_has_a_number_and_its_own_result() -> None:
    session = invented(20)
    numbers = [
        call["arguments"]["number"]
        for answer in session.answers
        for call in answer.get("calls", ())
    ]
    assert numbers == list(range(len(session.results)))


def test_a_recorded_session_has_the_words_of_its_log_and_an_end_to_each_turn(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log.json"
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "pump"}'},
    }
    log.write_text(
        json.dumps(
            [
                {"role": "user", "content": "Look at the pump."},
                {"role": "assistant", "content": "I will look.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "It leaks."},
                {"role": "user", "content": "Stop, look at the valve."},
                {"role": "assistant", "content": "It is closed."},
            ]
        )
    )
    session = recorded(log)
    assert session.turns == ["Look at the pump.", "Stop, look at the valve."]
    assert session.results == ["It leaks."]
    assert [answer["text"] for answer in session.answers] == [
        "I will look.",
        "I stop here.",
        "It is closed.",
    ]
    assert session.answers[0]["calls"] == [
        {"name": TOOL, "arguments": {"number": 0, "call": 'read {"path": "pump"}'}}
    ]


@pytest.mark.parametrize("marker", markers_of(COMPARED))
def test_each_clients_request_for_a_summary_is_answered_by_the_same_text(
    marker: str,
) -> None:
    answers = {
        PLAYED.answer(ScriptContext(1, text=f"{marker} …"), MODEL, {}).text
        for marker in markers_of(COMPARED)
    }
    assert len(answers) == 1
    assert outcome(exchange(marker, bill(500))).summaries == 1


def test_a_session_that_only_grows_has_neither_compactions_nor_losses() -> None:
    found = outcome(
        exchange("Turn 1", bill(2_000)), exchange("Turn 2", bill(2_100, read=1_920))
    )
    assert (found.compactions, found.lost, found.early, found.above) == (0, 0, 0, 0)
    assert (found.sent, found.uncached, found.billed) == (4_100, 2_180, 4_120)


def test_a_request_that_begins_otherwise_is_a_compaction_and_what_the_cache_held_of_it_is_lost() -> (
    None
):
    found = outcome(
        exchange("Turn 1", bill(7_990)), exchange("Turn 2 " * 20, bill(3_000, read=1_024))
    )
    assert (found.compactions, found.lost, found.early) == (1, 1_976, 0)


def test_a_compaction_well_below_the_threshold_fired_early() -> None:
    assert (
        outcome(exchange("Turn 1", bill(5_000)), exchange("Turn 2", bill(3_000))).early
        == 1
    )


def test_a_request_above_the_threshold_was_sent_late() -> None:
    assert outcome(exchange("Turn 1", bill(round(TRIGGER * WINDOW) + 1))).above == 1


def test_a_request_too_small_for_the_cache_loses_nothing() -> None:
    assert (
        outcome(exchange("Turn 1", bill(900)), exchange("Turn 2", bill(950))).compactions
        == 0
    )


def test_results_that_were_cut_are_counted_once() -> None:
    said = exchange("Turn 1", bill(90))
    for name, text in (("a", f"head [{ENDS}: …] tail"), ("b", "whole")):
        said.body["messages"].append(
            {"role": "tool", "tool_call_id": name, "content": text}
        )
    assert outcome(said, said).shortened == 1
