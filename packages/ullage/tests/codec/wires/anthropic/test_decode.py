"""Anthropic's streams: reasoning with its data, usage in every order, blocks of tools we don't know."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.cases import case
from tests.codec.streams import MESSAGES, play, read_answer, request
from ullage.codec.stream import CallDelta, StreamFailed, UsageSeen
from ullage.errors import Overloaded
from ullage.messages import ProviderItem, ReasoningPart, TextPart, ToolCallPart
from ullage.usage import Cleared


def fields(part: object) -> object:
    data = getattr(part, "provider", None)
    return None if data is None else json.loads(bytes(data.data))


BEGUN: dict[str, object] = {"type": "message_start", "message": {}}


def block(
    index: int,
    start: Mapping[str, object],
    *deltas: Mapping[str, object],
    stop: bool = True,
) -> list[object]:
    return [
        *([BEGUN] if index == 0 else []),
        {"type": "content_block_start", "index": index, "content_block": start},
        *(
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in deltas
        ),
        *([{"type": "content_block_stop", "index": index}] if stop else []),
    ]


def start(**usage: object) -> dict[str, object]:
    return {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "claude", "usage": usage},
    }


def end(reason: str = "end_turn", **usage: object) -> list[object]:
    delta: dict[str, object] = {"type": "message_delta", "delta": {"stop_reason": reason}}
    return [{**delta, "usage": usage} if usage else delta, {"type": "message_stop"}]


TEXT = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"})


def test_a_whole_stream_gives_its_parts_with_their_data() -> None:
    thinking, redacted, empty, text, call = play("messages", MESSAGES).parts
    assert isinstance(thinking, ReasoningPart)
    assert (thinking.text, fields(thinking)) == (
        "Let me look.",
        {"signature": "EqQBCkYIBRgC+/=="},
    )
    assert isinstance(redacted, ReasoningPart)
    assert (redacted.redacted, redacted.text, fields(redacted)) == (
        True,
        "",
        {"data": "EmwKAhgBEgy3va3=="},
    )
    assert isinstance(empty, ReasoningPart)
    assert (empty.text, fields(empty)) == ("", {"signature": "omitted+text=="})
    assert isinstance(text, TextPart)
    assert (text.text, text.provider) == ("Zürich, dann 🦉.", None)
    assert isinstance(call, ToolCallPart)
    assert (call.call_id, call.name, call.arguments) == (
        "toolu_1",
        "weather",
        '{"city": "ZRH", "n": 1.0}',
    )


def test_provider_data_is_tagged_with_where_it_came_from() -> None:
    part = play("messages", MESSAGES).parts[0]
    assert isinstance(part, ReasoningPart)
    assert part.provider is not None
    assert (part.provider.wire, part.provider.provider, part.provider.model) == (
        "messages",
        "anthropic",
        "claude-opus-4-6",
    )
    assert part.opaque_size == len("EqQBCkYIBRgC+/==")


def test_the_answer_says_who_why_and_how_much() -> None:
    answer = play("messages", MESSAGES).answer
    assert (answer.stop, answer.said, answer.outcome) == (
        "tool_calls",
        "tool_use",
        "finished",
    )
    assert (answer.model, answer.response_id) == ("claude-opus-4-6", "msg_1")
    assert (answer.usage.input, answer.usage.output) == (1125, 89)
    assert (answer.usage.cache_read, answer.usage.cache_write) == (1000, 100)
    assert answer.usage.final
    assert answer.message.call == "c1"


def test_usage_is_read_in_every_order_and_with_every_omission() -> None:
    begun = {"input_tokens": 25, "output_tokens": 1}
    zero = {"input_tokens": 0, "output_tokens": 0}
    whole = {"input_tokens": 30, "output_tokens": 15}
    out = {"output_tokens": 15}
    for first, last, expected in (
        (begun, out, (25, 15)),
        (begun, whole, (30, 15)),
        (begun, {**out, "input_tokens": 0}, (25, 15)),
        (begun, {**out, "input_tokens": None}, (25, 15)),
        (zero, whole, (30, 15)),
        ({}, whole, (30, 15)),
        (None, out, (None, 15)),
        ({}, {}, (None, None)),
        (zero, {"output_tokens": 0}, (None, None)),
    ):
        with case(first, last):
            head = [] if first is None else [start(**first)]
            usage = play("messages", [*head, *TEXT, *end(**last)]).answer.usage
            assert (usage.input, usage.output) == expected


def test_the_output_of_message_start_is_a_placeholder_until_more_is_said() -> None:
    answer = play(
        "messages", [start(input_tokens=25, output_tokens=1), *TEXT], complete=False
    ).answer
    assert (answer.usage.input, answer.usage.output) == (25, None)
    assert answer.usage.placeholder
    assert not answer.usage.final


def test_usage_is_reported_as_it_comes() -> None:
    seen = [
        event.usage
        for event in play("messages", MESSAGES).events
        if isinstance(event, UsageSeen)
    ]
    assert [(usage.input, usage.output, usage.final) for usage in seen] == [
        (1125, None, False),
        (1125, 89, False),
    ]


@pytest.mark.parametrize(
    ("said", "stop"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("refusal", "refused"),
        ("pause_turn", "paused"),
        ("model_context_window_exceeded", "context_full"),
        ("something_new", "other"),
    ],
)
def test_why_it_ended_is_said_in_one_vocabulary(said: str, stop: str) -> None:
    answer = play("messages", [*TEXT, *end(said)]).answer
    assert (answer.stop, answer.said) == (stop, said)


def test_a_stop_reason_without_message_stop_is_dropped() -> None:
    answer = play("messages", [*TEXT, *end()[:1]]).answer
    assert (answer.outcome, answer.stop, answer.said) == ("dropped", "", "end_turn")


def test_half_a_thought_has_no_data_that_could_be_sent() -> None:
    cut = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
    )
    part = play("messages", cut[:-1], complete=False).parts[0]
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.provider) == ("hm", None)


def test_no_text_and_no_data_makes_no_part() -> None:
    events = [
        *block(0, {"type": "text", "text": ""}),
        *block(1, {"type": "thinking", "thinking": "", "signature": ""}),
    ]
    assert play("messages", [*events, *end()]).parts == ()


def test_a_whole_thought_without_a_signature_keeps_that_it_was_whole() -> None:
    events = block(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "hm"},
    )
    (part,) = play("messages", [*events, *end()], provider="moonshot", model="kimi").parts
    assert fields(part) == {"signature": ""}


def test_a_call_is_shown_with_its_name_before_its_arguments() -> None:
    first = next(
        event
        for event in play("messages", MESSAGES).events
        if isinstance(event, CallDelta)
    )
    assert first == CallDelta("m1.5", "toolu_1", "weather", "")


def test_a_call_without_arguments_has_none() -> None:
    events = block(0, {"type": "tool_use", "id": "t", "name": "now", "input": {}})
    (part,) = play("messages", [*events, *end("tool_use")]).parts
    assert isinstance(part, ToolCallPart)
    assert part.arguments == ""


def test_a_servers_own_tool_is_kept_whole() -> None:
    call = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": "srv",
        "content": [{"encrypted_content": "E", "n": 1.0}],
    }
    events = [
        *block(
            0,
            call,
            {"type": "input_json_delta", "partial_json": '{"query": '},
            {"type": "input_json_delta", "partial_json": '"x"}'},
        ),
        *block(1, result),
        *end(),
    ]
    first, second = play("messages", events).parts
    assert isinstance(first, ProviderItem)
    assert b'"input":{"query": "x"}' in bytes(first.provider.data)  # type: ignore[union-attr]
    assert fields(second) == result


def test_a_compaction_block_grows_by_its_own_deltas() -> None:
    events = block(
        0,
        {"type": "compaction", "content": None},
        {"type": "compaction_delta", "content": "Summary "},
        {"type": "compaction_delta", "content": "goes on"},
    )
    (part,) = play("messages", [*events, *end()]).parts
    assert fields(part) == {"type": "compaction", "content": "Summary goes on"}


def test_citations_come_back_with_their_text() -> None:
    events = block(
        0,
        {"type": "text", "text": "", "citations": []},
        {"type": "citations_delta", "citation": {"cited_text": "a"}},
        {"type": "text_delta", "text": "so"},
        {"type": "citations_delta", "citation": {"cited_text": "b"}},
    )
    (part,) = play("messages", [*events, *end()]).parts
    assert fields(part) == {"citations": [{"cited_text": "a"}, {"cited_text": "b"}]}


def test_events_that_come_twice_are_taken_once() -> None:
    twice = [
        event
        for event in MESSAGES
        for _ in range(1 if '"content_block_delta"' in str(event) else 2)
    ]
    assert (
        play("messages", twice).answer.message
        == play("messages", MESSAGES).answer.message
    )


def test_an_error_inside_the_stream_is_typed() -> None:
    error = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    }
    played = play("messages", [start(input_tokens=5), *TEXT, error])
    assert isinstance(played.events[-1], StreamFailed)
    assert isinstance(played.answer.error, Overloaded)
    assert played.answer.outcome == "failed"
    assert [part.id for part in played.parts] == ["m1.1"]


def test_a_whole_body_gives_the_same_parts_as_a_stream() -> None:
    body = (
        b'{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[{"type":"thinking","thinking":'
        b'"hm","signature":"S"},{"type":"text","text":"hi"},{"type":"tool_use","id":"t","name":"f",'
        b'"input":{"a": 1.0}}],"stop_reason":"tool_use","usage":{"input_tokens": 5, "output_tokens": 7}}'
    )
    answer = read_answer(request("messages"), body, message_id="m1", call="c1")
    thinking, text, call = answer.message.parts
    assert (fields(thinking), getattr(text, "text", "")) == ({"signature": "S"}, "hi")
    assert isinstance(call, ToolCallPart)
    assert call.arguments == '{"a": 1.0}'
    assert (answer.stop, answer.outcome, answer.usage.input, answer.usage.output) == (
        "tool_calls",
        "finished",
        5,
        7,
    )
    assert bytes(answer.usage.raw or b"") == b'{"input_tokens": 5, "output_tokens": 7}'


def test_a_body_that_is_no_answer_is_dropped() -> None:
    assert (
        read_answer(request("messages"), b"<html>", message_id="m1").outcome == "dropped"
    )


CLEARED = {
    "applied_edits": [
        {
            "type": "clear_tool_uses_20250919",
            "cleared_tool_uses": 8,
            "cleared_input_tokens": 12_300,
        }
    ]
}


def test_what_the_server_cleared_of_the_request_is_part_of_the_usage() -> None:
    delta, stop = end(input_tokens=900, output_tokens=3)
    assert isinstance(delta, dict)
    closing = {**delta, "context_management": CLEARED}
    streamed = play("messages", [start(input_tokens=900), *TEXT, closing, stop]).answer
    body = {
        "type": "message",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 900, "output_tokens": 3},
        "context_management": CLEARED,
    }
    asked = request("messages")
    whole = read_answer(asked, json.dumps(body).encode(), message_id="m")
    for answer in (streamed, whole):
        assert answer.usage.context == 900
        assert answer.usage.cleared == (
            Cleared(tokens=12_300, content="tool_results", count=8),
        )


def test_what_was_dropped_for_good_is_counted_and_not_what_another_model_reads() -> None:
    dropped = {"type": "thinking_dropped", "path": "messages.1.content.0"}
    transformations = [
        {**dropped, "reason": "prefix_binding_mismatch"},
        {**dropped, "reason": "organization_binding_mismatch"},
        {**dropped, "reason": "model_binding_mismatch"},
        {"type": "thinking_mismatch_allowed", "reason": "prefix_binding_mismatch"},
        {"type": "something_newer"},
    ]
    begun = {
        "type": "message_start",
        "message": {"id": "m", "input_transformations": transformations},
    }
    assert play("messages", [begun, *TEXT[1:], *end()]).answer.unbound == 2
    whole = {
        "type": "message",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "input_transformations": transformations,
    }
    assert (
        read_answer(
            request("messages"), json.dumps(whole).encode(), message_id="m"
        ).unbound
        == 2
    )


def test_a_model_that_takes_over_tells_anew_what_it_dropped() -> None:
    dropped = {"type": "thinking_dropped", "reason": "prefix_binding_mismatch"}
    message = {"id": "m", "input_transformations": [dropped, dropped]}
    delta, stop = end()
    assert isinstance(delta, dict)
    replaced = {**delta, "input_transformations": [dropped]}
    for last, unbound in ((delta, 2), (replaced, 1)):
        begun = {"type": "message_start", "message": message}
        answer = play("messages", [begun, *TEXT[1:], last, stop]).answer
        assert answer.unbound == unbound
