"""The chunks of the UI message stream. Real packages read them in test_real_pages.py."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.ui.turns import ENDS, MESSAGES, QUESTION, WAITS
from ullage.events import SessionEvent
from ullage.messages import FilePart, ImagePart, Message
from ullage.usage import UsageSum
from ullage_agent.runtime.approvals import Question
from ullage_server.ui.ai_sdk import UiStream, arguments, ui_messages
from ullage_server.ui.steps import Rested, TurnSteps


def chunks_of(
    items: tuple[SessionEvent, ...],
    message: str = "u1",
    waiting: tuple[Question, ...] = (),
) -> list[dict[str, Any]]:
    """All chunks of these events and pieces."""
    turn, stream = TurnSteps(message), UiStream(message)
    found = list(stream.begin(()))
    for item in items:
        for step in turn.read(item):
            found += stream.step(step)
    assert turn.rested is not None
    return [*found, *stream.rest(turn.rested, waiting, ())]


def test_a_turn_until_it_waits() -> None:
    chunks = chunks_of(WAITS, waiting=(QUESTION,))
    assert chunks[0] == {"type": "start", "messageId": "u1-answer"}
    assert chunks[1]["data"].tokens == 50
    assert chunks[2:] == [
        {"type": "start-step"},
        {"type": "reasoning-start", "id": "c1.1"},
        {"type": "reasoning-delta", "id": "c1.1", "delta": "I cou"},
        {"type": "reasoning-delta", "id": "c1.1", "delta": "nt."},
        {"type": "reasoning-end", "id": "c1.1"},
        {"type": "text-start", "id": "c1.2"},
        {"type": "text-delta", "id": "c1.2", "delta": "I look."},
        {"type": "tool-input-start", "toolCallId": "t1", "toolName": "stock"},
        {"type": "tool-input-delta", "toolCallId": "t1", "inputTextDelta": '{"item"'},
        {"type": "text-end", "id": "c1.2"},
        {"type": "tool-input-delta", "toolCallId": "t1", "inputTextDelta": ': "corks"}'},
        {
            "type": "tool-input-available",
            "toolCallId": "t1",
            "toolName": "stock",
            "input": {"item": "corks"},
        },
        {"type": "tool-output-available", "toolCallId": "t1", "output": "400"},
        {"type": "finish-step"},
        {"type": "start-step"},
        {"type": "tool-input-start", "toolCallId": "t2", "toolName": "order"},
        {"type": "tool-input-delta", "toolCallId": "t2", "inputTextDelta": "{}"},
        {
            "type": "tool-input-available",
            "toolCallId": "t2",
            "toolName": "order",
            "input": {},
        },
        {"type": "finish-step"},
        {"type": "tool-approval-request", "toolCallId": "t2", "approvalId": "ab12.t2"},
        {
            "type": "finish",
            "finishReason": "tool-calls",
            "messageMetadata": {
                "usage": {
                    "inputTokens": 110,
                    "outputTokens": 10,
                    "totalTokens": 120,
                    "reasoningTokens": 0,
                    "cachedInputTokens": 0,
                }
            },
        },
    ]


def test_the_answer_goes_on_in_the_same_message_of_the_page() -> None:
    chunks = chunks_of(ENDS, message="")
    assert chunks[:3] == [
        {"type": "start"},
        {"type": "tool-output-denied", "toolCallId": "t2"},
        {"type": "start-step"},
    ]
    assert chunks[-1]["finishReason"] == "stop"


@pytest.mark.parametrize(
    ("reason", "last"),
    [
        ("cancelled", {"type": "abort"}),
        ("max_steps", {"type": "error", "errorText": "Ten steps."}),
    ],
)
def test_another_end_is_no_finish(reason: str, last: dict[str, Any]) -> None:
    rested = Rested(reason, "Ten steps.", UsageSum())
    assert list(UiStream("u1").rest(rested, (), ())) == [last]


def test_the_history_has_the_ids_and_states_of_the_stream() -> None:
    asked, answer = ui_messages(MESSAGES[:4], (QUESTION,), "/kept/")
    assert asked == {
        "id": "u1",
        "role": "user",
        "parts": [{"type": "text", "text": "How many corks?"}],
    }
    assert (answer["id"], answer["role"]) == ("u1-answer", "assistant")
    assert answer["parts"] == [
        {"type": "step-start"},
        {"type": "reasoning", "text": "I count."},
        {"type": "text", "text": "I look."},
        {
            "type": "tool-stock",
            "toolCallId": "t1",
            "input": {"item": "corks"},
            "state": "output-available",
            "output": "400",
        },
        {"type": "step-start"},
        {
            "type": "tool-order",
            "toolCallId": "t2",
            "input": {},
            "state": "approval-requested",
            "approval": {"id": "ab12.t2"},
        },
    ]


def test_a_failed_call_in_the_history_says_why() -> None:
    _, answer = ui_messages(MESSAGES, (), "")
    assert answer["parts"][5]["state"] == "output-error"
    assert answer["parts"][5]["errorText"] == "A person did not allow it."


def test_an_image_is_an_address_of_the_server() -> None:
    image = ImagePart(id="p", mime="image/png", source="kept:h1")
    (shown,) = ui_messages([Message(id="u", role="user", parts=(image,))], (), "/kept/")
    assert shown["parts"] == [
        {"type": "file", "mediaType": "image/png", "url": "/kept/h1"}
    ]


def test_a_text_file_is_shown_with_its_text() -> None:
    file = FilePart(id="p", mime="text/plain", text="corks")
    (shown,) = ui_messages([Message(id="u", role="user", parts=(file,))], (), "/kept/")
    assert shown["parts"][0]["url"] == "data:text/plain;base64,Y29ya3M="


def test_arguments_that_are_no_json_are_shown_as_written() -> None:
    assert arguments('{"pieces": 500') == '{"pieces": 500'
    deep = "[" * 5_000 + "]" * 5_000
    assert arguments(deep) == deep
