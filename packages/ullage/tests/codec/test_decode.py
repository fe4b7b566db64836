"""What every wire's decoder makes of an answer: its parts, its end, its usage and its errors."""

import json
from itertools import product

import pytest

from tests.cases import case, filled
from tests.codec.streams import (
    CHAT,
    GEMINI,
    GOLDEN,
    RESPONSES,
    brief,
    deltas,
    ending,
    play,
    read_answer,
    request,
)
from ullage.codec.decode import decoder_for
from ullage.codec.stream import ServerEvent, StreamFailed, UsageSeen
from ullage.errors import InvalidRequest, Overflow, Overloaded, RateLimited, ServerError
from ullage.messages import Request

ITEMS = [
    json.loads(str(one))["item"] for one in RESPONSES if "output_item.done" in str(one)
]
THOUGHT, SAID, CALL = (
    {name: value for name, value in item.items() if name not in own}
    for item, own in zip(
        ITEMS,
        (
            ("type",),
            ("type", "role", "content"),
            ("type", "call_id", "name", "arguments"),
        ),
        strict=True,
    )
)
BLOCK: dict[str, object] = {"annotations": [], "logprobs": []}
PARTS = {
    "messages": [
        ("reasoning", "Let me look.", {"signature": "EqQBCkYIBRgC+/=="}),
        ("redacted", "", {"data": "EmwKAhgBEgy3va3=="}),
        ("reasoning", "", {"signature": "omitted+text=="}),
        ("text", "Zürich, dann 🦉."),
        ("call", "toolu_1", "weather", '{"city": "ZRH", "n": 1.0}'),
    ],
    "chat": [
        ("reasoning", "Let me look.", {"reasoning_content": None}),
        ("text", "Zürich, dann 🦉."),
        ("call", "call_1", "weather", '{"city": "ZRH"}'),
        ("call", "call_2", "clock", "{}"),
    ],
    "responses": [
        ("reasoning", "First.\n\nThen.", THOUGHT),
        ("text", "Zürich, dann 🦉.", {**BLOCK, **SAID}),
        ("call", "call_1", "weather", '{"city": "ZRH"}', CALL),
    ],
    "generateContent": [
        ("reasoning", "Let me look.", {"thought": True}),
        ("text", "Zürich, dann 🦉."),
        ("text", " Ende.", {"thoughtSignature": "text/sig+=="}),
        ("call", "~m1.4", "weather", '{"city": "ZRH", "n": 1.0}', {"thoughtSignature": "CiQBcsjafd=="}),
        ("call", "fx-2", "clock", "{}"),
        ("text", "", {"thoughtSignature": "last=="}),
    ],
}  # fmt: skip
FACTS = {
    "messages": ("tool_use", "claude-opus-4-6", "msg_1", 1125, 89, 1000, 100, None),
    "chat": ("tool_calls", "gpt-5-0807", "c-1", 40, 30, 8, None, 12),
    "responses": ("completed", "gpt-5-0807", "resp_1", 75, 40, 8, None, 12),
    "generateContent": ("STOP", "gemini-3-pro-001", "r1", 17, 47, 4, None, 17),
}
"""Why it ended in the provider's words, model and id; input, output, cache read and written, reasoning."""


@pytest.mark.parametrize("wire", GOLDEN)
def test_a_whole_stream_gives_its_parts_and_says_who_why_and_how_much(wire: str) -> None:
    played = play(wire, GOLDEN[wire])
    answer, usage = played.answer, played.answer.usage
    assert played.briefs == PARTS[wire]
    assert answer.stop == "tool_calls"
    assert answer.outcome == "finished"
    assert answer.message.call == "c1"
    counts = (
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
    )
    assert (answer.said, answer.model, answer.response_id, *counts) == FACTS[wire]
    assert usage.final
    seen = [event.usage for event in played.events if isinstance(event, UsageSeen)]
    assert [one.output for one in seen] == [usage.output] or wire == "messages"
    for part in played.parts:
        held = getattr(part, "provider", None)
        asked = request(wire)
        assert held is None or (held.wire, held.provider, held.model) == (
            wire, asked.provider, asked.model
        )  # fmt: skip


STOPS = {
    "messages": {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "refusal": "refused",
        "pause_turn": "paused",
        "model_context_window_exceeded": "context_full",
        "something_new": "other",
    },
    "chat": {
        "stop": "stop",
        "eos": "stop",
        "length": "length",
        "content_filter": "refused",
        "sensitive": "refused",
        "model_length": "context_full",
        "model_context_window_exceeded": "context_full",
        "novelty": "other",
    },
    "responses": {
        "completed": "stop",
        "incomplete: max_output_tokens": "length",
        "incomplete: content_filter": "refused",
        "incomplete: new": "other",
    },
    "generateContent": {
        "STOP": "stop",
        "MAX_TOKENS": "length",
        "SAFETY": "refused",
        "RECITATION": "refused",
        "MALFORMED_FUNCTION_CALL": "other",
    },
}


def test_why_it_ended_is_said_in_one_vocabulary() -> None:
    for wire, reasons in STOPS.items():
        for said, stop in reasons.items():
            with case(wire, said):
                answer = play(wire, [*deltas(wire, "hi"), *ending(wire, said)]).answer
                assert (answer.stop, answer.outcome) == (stop, "finished")
                assert answer.said == said.removeprefix("incomplete: ")


@pytest.mark.parametrize(
    ("wire", "end", "said"),
    [
        ("messages", ending("messages", "end_turn")[:-1], "end_turn"),
        ("responses", ending("responses", "cancelled"), "cancelled"),
        ("chat", ending("chat", "abort"), "abort"),
        ("generateContent", ending("generateContent", "FINISH_REASON_UNSPECIFIED"), ""),
    ],
)
def test_what_is_no_end_of_an_answer_leaves_it_dropped(
    wire: str, end: list[object], said: str
) -> None:
    answer = play(wire, [*deltas(wire, "hi"), *end]).answer
    assert (answer.outcome, answer.stop, answer.said) == ("dropped", "", said)


@pytest.mark.parametrize(
    ("wire", "events", "counts"),
    [
        ("messages", GOLDEN["messages"][:2], (1125, None)),
        ("chat", [CHAT[-2], CHAT[2]], (40, 30)),
        ("generateContent", GEMINI[:3], (17, 3)),
    ],
)
def test_usage_of_a_cut_stream_is_not_final(
    wire: str, events: list[object], counts: tuple[int | None, int | None]
) -> None:
    answer = play(wire, events, complete=False).answer
    usage = answer.usage
    assert (usage.input, usage.output, usage.final) == (*counts, False)
    assert (answer.outcome, usage.placeholder) == ("dropped", wire == "messages")


def test_what_comes_twice_is_taken_once() -> None:
    pieces = {"messages": '"content_block_delta"', "chat": '"delta":{"'}
    for wire, events in GOLDEN.items():
        twice = [
            event
            for event in events
            for _ in range(1 if pieces.get(wire, "no piece") in str(event) else 2)
        ]
        with case(wire):
            once, again = play(wire, events), play(wire, twice)
            assert (again.answer, again.shown()) == (once.answer, once.shown())


SERVER = {"code": "server_error", "message": "x"}
FULL = {
    "code": "context_length_exceeded",
    "message": "exceeds the context window of this model",
}
BUSY = {"type": "overloaded_error", "message": "Overloaded"}
UNAVAILABLE = {
    "code": 503,
    "message": "The model is overloaded.",
    "status": "UNAVAILABLE",
}
ERRORS: list[tuple[str, object, type[Exception]]] = [
    ("messages", {"type": "error", "error": BUSY}, Overloaded),
    (
        "responses",
        {"type": "response.failed", "response": {"error": SERVER}},
        ServerError,
    ),
    ("responses", {"type": "error", **SERVER, "param": None}, ServerError),
    ("responses", {"type": "error", "error": FULL}, Overflow),
    ("generateContent", {"error": UNAVAILABLE}, Overloaded),
    ("chat", {"error": {"message": "slow", "code": 429}}, RateLimited),
    (
        "chat",
        {"error": {"message": "x"}, **ending("chat", "error")[0]},
        ServerError,
    ),
    ("chat", {"object": "error", "message": "boom", "code": 500}, ServerError),
    ("chat", ending("chat", "error")[0], ServerError),
    ("chat", ending("chat", "network_error")[0], ServerError),
    ("chat", ending("chat", "insufficient_system_resource")[0], ServerError),
]


def test_an_error_inside_the_stream_is_typed_and_keeps_what_was_said() -> None:
    for wire, event, kind in ERRORS:
        with case(wire, event):
            played = play(wire, [*deltas(wire, "hi"), event])
            assert any(isinstance(one, StreamFailed) for one in played.events)
            assert isinstance(played.answer.error, kind)
            assert (played.answer.outcome, played.answer.stop) == ("failed", "")
            assert played.briefs == [("text", "hi")]


USAGE = '{"input_tokens": 5,  "output_tokens": 2, "new_kind": {"x": 1.50}}'
BODIES = {
    "messages": '{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"S"},{"type":"text",'
    '"text":"hi"},{"type":"tool_use","id":"t","name":"f","input":{"a": 1.0}}],"stop_reason":"tool_use",'
    '"usage":' + USAGE + "}",
    "chat": '{"choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"hm",'
    '"tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{\\"a\\": 1.0}"}}]},'
    '"finish_reason":"tool_calls"}],"usage":' + USAGE + "}",
    "responses": '{"status":"completed","output":[{"type":"reasoning","id":"rs","summary":[],"content":'
    '[{"type":"reasoning_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"hi"}]},'
    '{"type":"function_call","call_id":"t","name":"f","arguments":"{\\"a\\": 1.0}"}],"usage":' + USAGE + "}",
    "generateContent": '{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"hi"},'
    '{"functionCall":{"name":"f","args":{"a": 1.0},"id":"t"}}]},"finishReason":"STOP"}],"usageMetadata":'
    + USAGE + "}",
}  # fmt: skip


@pytest.mark.parametrize("wire", BODIES)
def test_a_whole_body_gives_the_parts_and_the_usage_byte_for_byte(wire: str) -> None:
    body = BODIES[wire]
    if wire in ("chat", "generateContent"):
        names = ("prompt_tokens", "completion_tokens")
        if wire == "generateContent":
            names = ("promptTokenCount", "candidatesTokenCount")
        body = body.replace("input_tokens", names[0]).replace("output_tokens", names[1])
    answer = read_answer(request(wire), body.encode(), message_id="m1")
    said = [
        brief(part)[: 4 if at == 2 else 2] for at, part in enumerate(answer.message.parts)
    ]
    assert said == [("reasoning", "hm"), ("text", "hi"), ("call", "t", "f", '{"a": 1.0}')]
    assert (answer.stop, answer.outcome) == ("tool_calls", "finished")
    assert (answer.usage.input, answer.usage.output) == (5, 2)
    assert bytes(answer.usage.raw or b"").decode() in body


@pytest.mark.parametrize("wire", GOLDEN)
def test_each_wire_has_its_decoder(wire: str) -> None:
    decoder = decoder_for(request(wire), message_id="m")
    assert not decoder.is_done
    assert decoder.feed(ServerEvent(b"{}")) == []
    assert decoder.finish(complete=False).outcome == "dropped"


def test_a_wire_without_a_codec_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match="converse"):
        decoder_for(Request(wire="converse", model="m"), message_id="m")


def test_a_body_that_is_no_answer_is_dropped_or_failed() -> None:
    error = b'{"error":{"message":"x"}}'
    bodies: list[bytes] = [b"", b"{}", b"[]", b"null", b"<html>", error, b"\xff"]
    for wire, body in product(filled(GOLDEN), bodies):
        with case(wire, body):
            answer = read_answer(request(wire), body, message_id="m")
            assert answer.outcome in ("dropped", "failed")
            assert answer.message.parts == ()


@pytest.mark.parametrize("wire", GOLDEN)
def test_an_error_in_an_answer_names_the_provider_and_the_model(wire: str) -> None:
    asked = Request(wire=wire, provider="azure", model="m-1")
    error = b'{"type":"error","error":{"type":"overloaded_error","message":"busy, in its own words"}}'
    in_body = read_answer(asked, error, message_id="m").error
    decoder = decoder_for(asked, message_id="m")
    decoder.feed(ServerEvent(error, "error"))
    said = "azure (m-1) has no capacity now. It says: “busy, in its own words”."
    for problem in (in_body, decoder.finish(complete=True).error):
        assert str(problem).startswith(said)
