"""Anthropic's streams: reasoning with its data, usage in every order, blocks of tools we don't know."""

import json
from collections.abc import Mapping
from typing import Any

from tests.cases import case
from tests.codec.streams import BEGUN, MESSAGES, fields, play, read_answer, request
from ullage.codec.stream import CallDelta
from ullage.usage import Cleared


def block(
    index: int, start: Mapping[str, object], *deltas: Mapping[str, object]
) -> list[object]:
    place = {"type": "content_block_delta", "index": index}
    return [
        *([BEGUN] if index == 0 else []),
        {"type": "content_block_start", "index": index, "content_block": start},
        *({**place, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def start(**usage: object) -> dict[str, object]:
    message = {"id": "msg_1", "model": "claude", "usage": usage}
    return {"type": "message_start", "message": message}


def end(reason: str = "end_turn", **usage: object) -> list[Any]:
    delta: dict[str, object] = {"type": "message_delta", "delta": {"stop_reason": reason}}
    return [{**delta, "usage": usage} if usage else delta, {"type": "message_stop"}]


TEXT = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"})
THINKING = {"type": "thinking", "thinking": "", "signature": ""}
THOUGHT = {"type": "thinking_delta", "thinking": "hm"}


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


def test_half_a_thought_has_no_data_that_could_be_sent() -> None:
    cut = block(0, THINKING, THOUGHT)[:-1]
    assert play("messages", cut, complete=False).briefs == [("reasoning", "hm")]


def test_no_text_and_no_data_makes_no_part() -> None:
    events = [*block(0, {"type": "text", "text": ""}), *block(1, THINKING)]
    assert play("messages", [*events, *end()]).parts == ()


def test_a_whole_thought_without_a_signature_keeps_that_it_was_whole() -> None:
    events = [*block(0, {"type": "thinking", "thinking": ""}, THOUGHT), *end()]
    played = play("messages", events, provider="moonshot", model="kimi")
    assert played.briefs == [("reasoning", "hm", {"signature": ""})]


def test_a_call_is_shown_with_its_name_before_its_arguments_and_may_have_none() -> None:
    events = play("messages", MESSAGES).events
    first = next(event for event in events if isinstance(event, CallDelta))
    assert first == CallDelta("m1.5", "toolu_1", "weather", "")
    bare = block(0, {"type": "tool_use", "id": "t", "name": "now", "input": {}})
    assert play("messages", [*bare, *end("tool_use")]).briefs == [
        ("call", "t", "now", "")
    ]


def test_a_servers_own_tool_is_kept_whole() -> None:
    call = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    found = [{"encrypted_content": "E", "n": 1.0}]
    result = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": found}
    halves = ('{"query": ', '"x"}')
    pieces = [{"type": "input_json_delta", "partial_json": half} for half in halves]
    events = [*block(0, call, *pieces), *block(1, result), *end()]
    first, second = play("messages", events).parts
    assert fields(first) == {**call, "input": {"query": "x"}}
    assert b'"input":{"query": "x"}' in bytes(first.provider.data)  # type: ignore[union-attr]
    assert fields(second) == result


def test_a_compaction_block_grows_by_its_own_deltas() -> None:
    pieces = [
        {"type": "compaction_delta", "content": text} for text in ("Summary ", "goes on")
    ]
    events = block(0, {"type": "compaction", "content": None}, *pieces)
    (part,) = play("messages", [*events, *end()]).parts
    assert fields(part) == {"type": "compaction", "content": "Summary goes on"}


def test_citations_come_back_with_their_text() -> None:
    first, second = ({"cited_text": text} for text in "ab")
    events = block(
        0,
        {"type": "text", "text": "", "citations": []},
        {"type": "citations_delta", "citation": first},
        {"type": "text_delta", "text": "so"},
        {"type": "citations_delta", "citation": second},
    )
    expected = [("text", "so", {"citations": [first, second]})]
    assert play("messages", [*events, *end()]).briefs == expected


def answers(more: dict[str, object], first: object, last: object) -> list[Any]:
    """An answer with these fields, in a stream and in a body."""
    played = play("messages", [first, *TEXT[1:], last, end()[1]])
    body = {
        "type": "message",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 900, "output_tokens": 3},
        **more,
    }
    whole = read_answer(request("messages"), json.dumps(body).encode(), message_id="m")
    return [played.answer, whole]


def test_what_the_server_cleared_of_the_request_is_part_of_the_usage() -> None:
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8}
    edits = [{**edit, "cleared_input_tokens": 12_300}]
    more: dict[str, object] = {"context_management": {"applied_edits": edits}}
    closing = {**end(input_tokens=900, output_tokens=3)[0], **more}
    for answer in answers(more, start(input_tokens=900), closing):
        assert answer.usage.context == 900
        cleared = Cleared(tokens=12_300, content="tool_results", count=8)
        assert answer.usage.cleared == (cleared,)


DROPPED = {"type": "thinking_dropped", "reason": "prefix_binding_mismatch"}


def test_what_was_dropped_for_good_is_counted_and_not_what_another_model_reads() -> None:
    more: dict[str, object] = {
        "input_transformations": [
            DROPPED,
            {**DROPPED, "reason": "organization_binding_mismatch"},
            {**DROPPED, "reason": "model_binding_mismatch"},
            {**DROPPED, "type": "thinking_mismatch_allowed"},
            {"type": "something_newer"},
        ]
    }
    begun = {"type": "message_start", "message": {"id": "m", **more}}
    assert [one.unbound for one in answers(more, begun, end()[0])] == [2, 2]


def test_a_model_that_takes_over_tells_anew_what_it_dropped() -> None:
    message = {"id": "m", "input_transformations": [DROPPED, DROPPED]}
    delta, stop = end()
    replaced = {**delta, "input_transformations": [DROPPED]}
    for last, unbound in ((delta, 2), (replaced, 1)):
        begun = {"type": "message_start", "message": message}
        answer = play("messages", [begun, *TEXT[1:], last, stop]).answer
        assert answer.unbound == unbound
