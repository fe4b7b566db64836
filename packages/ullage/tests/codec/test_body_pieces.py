"""A body as pieces that are the same on every wire."""

from typing import Any

import pytest

from tests.meter.wire_clients import (
    Said,
    chat_body,
    gemini_body,
    messages_body,
    responses_body,
)
from ullage.codec.body_pieces import answer_pieces, pieces_of
from ullage.messages import Message, ReasoningPart, TextPart, ToolCallPart

HISTORY = [
    Said("user", "List the files."),
    Said("call", "ls", "call_1"),
    Said("result", "a.txt"),
    Said("answer", "There is one."),
    Said("user", "Thank you."),
]

MAKERS = {
    "messages": messages_body,
    "chat": chat_body,
    "responses": responses_body,
    "generateContent": gemini_body,
}


@pytest.mark.parametrize("wire", MAKERS)
def test_a_history_has_the_same_pieces_on_every_wire(wire: str) -> None:
    found = pieces_of(wire, MAKERS[wire]("You are an agent.", ("task", "read"), HISTORY))
    texts = [
        (piece.speaker, piece.text) for piece in found.pieces if piece.text[0] != "{"
    ]
    assert texts[:2] == [("user", "List the files."), ("call", 'task {"prompt":"ls"}')]
    assert texts[-2:] == [("assistant", "There is one."), ("user", "Thank you.")]
    assert len(found.pieces) == 5
    assert found.system == "You are an agent."
    assert found.tools == ("task", "read")
    assert found.last_said == "Thank you."


def test_an_answer_has_the_pieces_that_the_next_request_has_of_it() -> None:
    parts = (
        ReasoningPart(id="0", text="Let me see."),
        TextPart(id="1", text="I look.\n"),
        ToolCallPart(id="2", call_id="call_1", name="task", arguments='{"prompt": "ls"}'),
    )
    answer = answer_pieces(Message(id="m", role="assistant", parts=parts))
    sent = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me see.", "signature": "x"},
            {"type": "text", "text": "I look."},
            {
                "type": "tool_use",
                "id": "call_1",
                "name": "task",
                "input": {"prompt": "ls"},
            },
        ],
    }
    assert pieces_of("messages", {"messages": [sent]}).pieces == answer
    assert [piece.id for piece in answer] == ["", "call_1"]


def said(*items: Any, **fields: Any) -> list[str]:
    body = {"messages": list(items), **fields}
    return [piece.text for piece in pieces_of("messages", body).pieces]


def test_reminders_and_messages_of_the_system_are_left_out_but_kept_as_context() -> None:
    reminded = "<system-reminder>It is Monday.</system-reminder>\nHello."
    items = [
        {"role": "user", "content": [{"type": "text", "text": reminded}]},
        {"role": "system", "content": "Working directory: /shelf"},
    ]
    found = pieces_of("messages", {"messages": items})
    assert [piece.text for piece in found.pieces] == ["Hello."]
    assert found.context == [reminded, "Working directory: /shelf"]


def test_a_system_prompt_is_a_field_or_the_first_messages() -> None:
    items = [
        {"role": "developer", "content": "You are"},
        {"role": "user", "content": "Hi"},
    ]
    assert pieces_of("responses", {"input": items}).system == "You are"
    blocks = [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=1;"},
        {"type": "text", "text": "You are"},
    ]
    assert pieces_of("messages", {"system": blocks}).system == "You are"


def test_two_images_are_two_pieces_and_one_image_with_a_cache_mark_is_the_same() -> None:
    def image(data: str, **marks: Any) -> dict[str, Any]:
        source = {"type": "base64", "data": data}
        block = {"type": "image", "source": source, **marks}
        return {"role": "user", "content": [block]}

    one, two = said(image("AAAA")), said(image("BBBB"))
    assert one != two
    assert said(image("AAAA", cache_control={"type": "ephemeral"})) == one


@pytest.mark.parametrize("body", [None, [], 5, {"messages": 5}, {"messages": [[[]]]}])
def test_what_is_no_request_has_no_pieces(body: object) -> None:
    assert pieces_of("messages", body).pieces == []


def test_contents_inside_each_other_without_end_are_cut() -> None:
    inner: Any = "deep"
    for _ in range(2_000):
        inner = [{"content": inner}]
    result = {"type": "tool_result", "content": inner}
    assert len("".join(said({"role": "user", "content": [result]}))) < 100
