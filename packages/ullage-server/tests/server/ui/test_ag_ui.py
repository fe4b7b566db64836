"""The events of AG-UI. The real client reads them in test_real_pages.py."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.ui.turns import ENDS, MESSAGES, QUESTION, WAITS
from ullage.events import SessionEvent
from ullage.usage import UsageSum
from ullage_agent.runtime.approvals import Question
from ullage_server.ui.ag_ui import AgUiRun, ag_ui_messages
from ullage_server.ui.steps import PartStep, Rested, StreamedPart, TurnSteps

IDS = {"threadId": "s1", "runId": "r1"}


def events(
    items: tuple[SessionEvent, ...],
    message: str = "u1",
    waiting: tuple[Question, ...] = (),
) -> list[dict[str, Any]]:
    """All events of a run."""
    turn, run = TurnSteps(message), AgUiRun("s1", "r1")
    found = list(run.begin(()))
    for item in items:
        for step in turn.read(item):
            found += run.step(step)
    assert turn.rested is not None
    return [*found, *run.rest(turn.rested, waiting, MESSAGES[:4])]


def test_a_run_until_it_waits() -> None:
    found = events(WAITS, waiting=(QUESTION,))
    assert found[0] == {"type": "RUN_STARTED", **IDS, "protocolVersion": "1.0"}
    assert (found[1]["name"], found[1]["value"].tokens) == ("ullage.reading", 50)
    assert found[2:-2] == [
        {"type": "STEP_STARTED", "stepName": "c1"},
        {"type": "REASONING_START", "messageId": "c1.1"},
        {"type": "REASONING_MESSAGE_START", "messageId": "c1.1", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "c1.1", "delta": "I cou"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "c1.1", "delta": "nt."},
        {"type": "REASONING_MESSAGE_END", "messageId": "c1.1"},
        {"type": "REASONING_END", "messageId": "c1.1"},
        {"type": "TEXT_MESSAGE_START", "messageId": "c1", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "c1", "delta": "I look."},
        {
            "type": "TOOL_CALL_START",
            "toolCallId": "t1",
            "toolCallName": "stock",
            "parentMessageId": "c1",
        },
        {"type": "TOOL_CALL_ARGS", "toolCallId": "t1", "delta": '{"item"'},
        {"type": "TEXT_MESSAGE_END", "messageId": "c1"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "t1", "delta": ': "corks"}'},
        {"type": "TOOL_CALL_END", "toolCallId": "t1"},
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": "r1",
            "toolCallId": "t1",
            "content": "400",
        },
        {"type": "STEP_FINISHED", "stepName": "c1"},
        {"type": "STEP_STARTED", "stepName": "c2"},
        {
            "type": "TOOL_CALL_START",
            "toolCallId": "t2",
            "toolCallName": "order",
            "parentMessageId": "c2",
        },
        {"type": "TOOL_CALL_ARGS", "toolCallId": "t2", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": "t2"},
        {"type": "STEP_FINISHED", "stepName": "c2"},
    ]
    snapshot, finished = found[-2:]
    assert snapshot["messages"] == list(ag_ui_messages(MESSAGES[:4]))
    (interrupt,) = finished["outcome"]["interrupts"]
    assert (interrupt["id"], interrupt["reason"]) == ("ab12.t2", "tool_call")
    assert (interrupt["toolCallId"], interrupt["message"]) == ("t2", "order")
    assert finished["usage"][0]["inputTokens"] == 110


def test_a_run_that_goes_on_brings_the_result_of_the_call() -> None:
    found = events(ENDS, message="")
    assert found[1]["type"] == "TOOL_CALL_RESULT"
    assert found[-1]["outcome"] == {"type": "success"}


def test_the_snapshot_has_the_ids_of_the_events() -> None:
    assert [each["id"] for each in ag_ui_messages(MESSAGES)] == [
        *("u1", "c1.1", "c1", "r1", "c2", "r2", "c3")
    ]
    roles = [each["role"] for each in ag_ui_messages(MESSAGES[:3])]
    assert roles == ["user", "reasoning", "assistant", "tool"]


def test_texts_of_an_answer_that_overlap_are_one_open_message() -> None:
    run = AgUiRun("s1", "r1")
    first, second = StreamedPart("text", "a", "c1"), StreamedPart("text", "b", "c1")
    found = [
        event["type"]
        for step in (
            PartStep(first, "start"),
            PartStep(second, "start"),
            PartStep(first, "end"),
            PartStep(second, "delta", "x"),
            PartStep(second, "end"),
        )
        for event in run.step(step)
    ]
    assert [kind.rpartition("_")[2] for kind in found] == ["START", "CONTENT", "END"]


@pytest.mark.parametrize(
    ("reason", "last"),
    [
        ("cancelled", {"type": "cancelled"}),
        ("message", {"type": "success"}),
    ],
)
def test_the_outcome_says_how_a_run_ended(reason: str, last: dict[str, Any]) -> None:
    (finished,) = AgUiRun("s1", "r1").rest(Rested(reason, "", UsageSum()), (), ())
    assert finished["outcome"] == last


def test_another_end_is_an_error() -> None:
    rested = Rested("max_steps", "Ten steps.", UsageSum())
    (error,) = AgUiRun("s1", "r1").rest(rested, (), ())
    assert error == {"type": "RUN_ERROR", "message": "Ten steps.", "code": "max_steps"}
