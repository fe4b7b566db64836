"""Responses' streams: terminal items, numbers that tell what came twice, items we don't know."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.codec.streams import RESPONSES, play, read_answer, request
from ullage.codec.stream import CallDelta, ReasoningDelta, StreamFailed, TextDelta
from ullage.errors import Overflow, ServerError
from ullage.messages import ProviderItem, ReasoningPart, TextPart, ToolCallPart


def fields(part: object) -> object:
    data = getattr(part, "provider", None)
    return None if data is None else json.loads(bytes(data.data))


def done(item: Mapping[str, object], index: int = 0) -> dict[str, object]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def message(*content: Mapping[str, object], **more: object) -> dict[str, object]:
    return {
        "type": "message",
        "id": "msg",
        "role": "assistant",
        "content": list(content),
        **more,
    }


def text(said: str, **more: object) -> dict[str, object]:
    return {"type": "output_text", "text": said, **more}


def end(status: str = "completed", **more: object) -> dict[str, object]:
    return {
        "type": f"response.{status}",
        "response": {"id": "r", "status": status, **more},
    }


def test_a_whole_stream_gives_its_items() -> None:
    played = play("responses", RESPONSES)
    reasoning, said, call = played.parts
    assert isinstance(reasoning, ReasoningPart)
    assert reasoning.text == "First.\n\nThen."
    assert fields(reasoning) == {
        "id": "rs_1",
        "summary": [
            {"type": "summary_text", "text": "First."},
            {"type": "summary_text", "text": "Then."},
        ],
        "encrypted_content": "gAAA-whole/+==",
    }
    assert isinstance(said, TextPart)
    assert said.text == "Zürich, dann 🦉."
    assert fields(said) == {
        "annotations": [],
        "logprobs": [],
        "id": "msg_1",
        "status": "completed",
        "phase": "commentary",
    }
    assert isinstance(call, ToolCallPart)
    assert (call.call_id, call.name, call.arguments) == (
        "call_1",
        "weather",
        '{"city": "ZRH"}',
    )
    assert fields(call) == {"id": "fc_1", "status": "completed"}
    answer = played.answer
    assert (answer.stop, answer.said, answer.model, answer.response_id) == (
        "tool_calls",
        "completed",
        "gpt-5-0807",
        "resp_1",
    )
    assert (
        answer.usage.input,
        answer.usage.output,
        answer.usage.reasoning,
        answer.usage.final,
    ) == (75, 40, 12, True)


def test_items_without_a_place_are_told_apart_by_their_ids() -> None:
    """As llama.cpp streams them: no event has an ``output_index``, and a call has no ``id``."""

    def of(name: str, kind: str, delta: str) -> dict[str, object]:
        return {"type": f"response.{kind}.delta", "item_id": name, "delta": delta}

    def added(item: Mapping[str, object]) -> dict[str, object]:
        return {"type": "response.output_item.added", "item": item}

    call = {"type": "function_call", "call_id": "fc_1", "name": "look", "arguments": ""}
    ended = [message(text("Three.")), {**call, "arguments": '{"path":"a"}'}]
    played = play(
        "responses",
        [
            added({**message(), "content": []}),
            of("msg", "output_text", "Thr"),
            added(call),
            of("fc_1", "function_call_arguments", '{"path":'),
            of("msg", "output_text", "ee."),
            of("fc_1", "function_call_arguments", '"a"}'),
            *({"type": "response.output_item.done", "item": item} for item in ended),
            end(output=ended),
        ],
    )
    said, called = played.parts
    assert isinstance(said, TextPart) and said.text == "Three."
    assert isinstance(called, ToolCallPart)
    assert (called.call_id, called.arguments) == ("fc_1", '{"path":"a"}')


def test_the_encrypted_content_of_the_added_item_is_never_stored() -> None:
    for at in range(len(RESPONSES)):
        parts = play("responses", RESPONSES[:at], complete=False).parts
        assert b"early" not in b"".join(
            bytes(part.provider.data)  # type: ignore[union-attr]
            for part in parts
            if getattr(part, "provider", None)
        )


def test_a_part_cut_before_its_item_was_done_has_no_data() -> None:
    reasoning, said = play("responses", RESPONSES[:9], complete=False).parts
    assert fields(reasoning) is not None
    assert (getattr(said, "text", ""), fields(said)) == ("Zürich, ", None)


def test_events_that_come_twice_are_taken_once() -> None:
    twice = [event for event in RESPONSES for _ in range(2)]
    played = play("responses", twice)
    assert played.answer == play("responses", RESPONSES).answer
    assert played.shown() == play("responses", RESPONSES).shown()


def test_a_summary_that_the_text_gives_back_is_not_stored_twice() -> None:
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "one"}],
        "encrypted_content": "E",
    }
    (part,) = play("responses", [done(item), end()]).parts
    assert (getattr(part, "text", ""), fields(part)) == (
        "one",
        {"id": "rs", "encrypted_content": "E"},
    )


def test_open_reasoning_is_read_from_the_content() -> None:
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "raw"}],
    }
    events = [
        {
            "type": "response.reasoning_text.delta",
            "output_index": 0,
            "content_index": 0,
            "delta": "ra",
        },
        done(item),
        end(),
    ]
    played = play("responses", events)
    assert [
        event.text for event in played.events if isinstance(event, ReasoningDelta)
    ] == [
        "ra",
        "w",
    ]
    assert fields(played.parts[0]) == {
        "id": "rs",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "raw"}],
    }


def test_reasoning_without_readable_text_is_kept_for_its_data() -> None:
    item = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "E"}
    (part,) = play("responses", [done(item), end()]).parts
    assert (getattr(part, "text", "x"), fields(part)) == (
        "",
        {"id": "rs", "encrypted_content": "E"},
    )


def test_text_that_no_delta_brought_is_shown_with_its_item() -> None:
    played = play("responses", [done(message(text("whole"))), end()])
    assert [event.text for event in played.events if isinstance(event, TextDelta)] == [
        "whole"
    ]


def test_the_terminal_item_wins_over_the_deltas() -> None:
    delta = {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": "wrong",
    }
    (part,) = play("responses", [delta, done(message(text("right"))), end()]).parts
    assert getattr(part, "text", "") == "right"


def test_items_that_only_the_end_names_are_taken() -> None:
    call = {
        "type": "function_call",
        "id": "fc",
        "call_id": "c",
        "name": "f",
        "arguments": "{}",
    }
    played = play("responses", [end(output=[message(text("hi")), call])])
    assert [type(part) for part in played.parts] == [TextPart, ToolCallPart]
    assert any(
        isinstance(event, CallDelta) and event.text == "{}" for event in played.events
    )


def test_the_end_does_not_repeat_items_that_were_done() -> None:
    item = message(text("hi"))
    assert len(play("responses", [done(item), end(output=[item])]).parts) == 1


def test_blocks_of_one_message_are_parts_with_the_same_name() -> None:
    parts = play(
        "responses", [done(message(text("a"), text("b", annotations=[{"u": 1}]))), end()]
    ).parts
    assert [fields(part) for part in parts] == [
        {"id": "msg"},
        {"annotations": [{"u": 1}], "id": "msg"},
    ]


def test_a_refusal_is_a_text_that_says_so() -> None:
    delta = {
        "type": "response.refusal.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": "No",
    }
    answer = play(
        "responses", [delta, done(message({"type": "refusal", "refusal": "No."})), end()]
    ).answer
    assert fields(answer.message.parts[0]) == {"refusal": True, "id": "msg"}
    assert answer.stop == "refused"


@pytest.mark.parametrize(
    "kind",
    [
        "web_search_call",
        "mcp_call",
        "compaction",
        "image_generation_call",
        "something_new",
    ],
)
def test_items_without_a_word_are_kept_whole(kind: str) -> None:
    raw = f'{{"type":"{kind}",  "id":"x","n":1.50,"action":{{"query":"q"}}}}'
    event = '{"type":"response.output_item.done","output_index":0,"item":' + raw + "}"
    (part,) = play("responses", [event, end()]).parts
    assert isinstance(part, ProviderItem)
    assert part.kind == kind
    assert fields(part) == json.loads(raw)
    assert b"1.50" in bytes(part.provider.data)  # type: ignore[union-attr]


def test_content_without_a_word_is_a_message_of_its_own() -> None:
    (first, second) = play(
        "responses",
        [done(message(text("a"), {"type": "output_new", "x": 1}, phase="p")), end()],
    ).parts
    assert getattr(first, "text", "") == "a"
    assert fields(second) == message({"type": "output_new", "x": 1}, phase="p")


def test_a_custom_tools_input_is_text() -> None:
    item = {
        "type": "custom_tool_call",
        "id": "ct",
        "call_id": "c",
        "name": "sh",
        "input": "ls -l",
    }
    events = [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "input": ""},
        },
        {
            "type": "response.custom_tool_call_input.delta",
            "output_index": 0,
            "delta": "ls -l",
        },
        done(item),
        end(),
    ]
    (part,) = play("responses", events).parts
    assert isinstance(part, ToolCallPart)
    assert (part.arguments, fields(part)) == (
        "ls -l",
        {"type": "custom_tool_call", "id": "ct"},
    )


@pytest.mark.parametrize(
    ("event", "stop", "outcome"),
    [
        (end(), "stop", "finished"),
        (
            end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "length",
            "finished",
        ),
        (
            end("incomplete", incomplete_details={"reason": "content_filter"}),
            "refused",
            "finished",
        ),
        (end("incomplete", incomplete_details={"reason": "new"}), "other", "finished"),
        (end("cancelled"), "", "dropped"),
    ],
)
def test_why_it_ended_is_said_in_one_vocabulary(
    event: dict[str, object], stop: str, outcome: str
) -> None:
    answer = play("responses", [done(message(text("hi"))), event]).answer
    assert (answer.stop, answer.outcome) == (stop, outcome)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}, (5, 2)),
        ({"input_tokens": 5}, (5, None)),
        ({"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}, (None, None)),
        ({}, (None, None)),
        (None, (None, None)),
    ],
)
def test_usage_comes_with_the_end_or_not_at_all(
    usage: object, expected: tuple[int | None, int | None]
) -> None:
    found = play("responses", [done(message(text("hi"))), end(usage=usage)]).answer.usage
    assert (found.input, found.output) == expected


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (end("failed", error={"code": "server_error", "message": "x"}), ServerError),
        (
            {"type": "error", "code": "server_error", "message": "x", "param": None},
            ServerError,
        ),
        (
            {
                "type": "error",
                "error": {
                    "code": "context_length_exceeded",
                    "message": "exceeds the context window of this model",
                },
            },
            Overflow,
        ),
    ],
)
def test_an_error_inside_the_stream_is_typed(
    event: dict[str, object], kind: type
) -> None:
    played = play("responses", [done(message(text("hi"))), event])
    assert any(isinstance(one, StreamFailed) for one in played.events)
    assert isinstance(played.answer.error, kind)
    assert played.answer.outcome == "failed"
    assert len(played.parts) == 1


def test_a_whole_body_gives_the_same_items_as_a_stream() -> None:
    items = [
        json.loads(str(event))["item"]
        for event in RESPONSES
        if "output_item.done" in str(event)
    ]
    body = {
        "id": "resp_1",
        "status": "completed",
        "model": "gpt-5-0807",
        "output": items,
        "usage": {"input_tokens": 75},
    }
    answer = read_answer(
        request("responses"), json.dumps(body).encode(), message_id="m1", call="c1"
    )
    streamed = play("responses", RESPONSES).answer
    assert [fields(part) for part in answer.message.parts] == [
        fields(part) for part in streamed.message.parts
    ]
    assert [getattr(part, "text", "") for part in answer.message.parts] == [
        getattr(part, "text", "") for part in streamed.message.parts
    ]
    assert (answer.stop, answer.usage.input) == ("tool_calls", 75)
