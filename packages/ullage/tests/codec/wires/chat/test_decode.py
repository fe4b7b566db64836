"""Chat's streams: usage wherever it stands, calls however they are numbered, reasoning under each of its names."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.cases import case
from tests.codec.streams import Played, play
from ullage.codec.wires.chat.decode import merge_details

DONE = b"[DONE]"


def chunk(
    delta: Mapping[str, object] | None = None, finish: str | None = None, **more: object
) -> dict[str, object]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "model": "m", "choices": [choice], **more}


def said(
    *deltas: Mapping[str, object], finish: str | None = None, host: str = ""
) -> Played:
    """An answer of these deltas, and its end."""
    end = [chunk({}, finish)] if finish else []
    return play("chat", [*map(chunk, deltas), *end, DONE], provider=host)


def call(
    index: int | None,
    arguments: str = "",
    *,
    id: str | None = None,
    name: str | None = None,
) -> dict[str, object]:
    function = {"arguments": arguments, **({} if name is None else {"name": name})}
    made: dict[str, object] = {"function": function, "type": "function"}
    for key, value in (("index", index), ("id", id)):
        if value is not None:
            made[key] = value
    return made


USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
ZERO = {"prompt_tokens": 0, "completion_tokens": 0}
LATE = {"choices": [], "usage": USAGE}
TEXT, STOP = chunk({"content": "hi"}), chunk({}, "stop")


def test_the_usage_object_is_kept_byte_for_byte() -> None:
    raw = b'{"prompt_tokens": 5,  "completion_tokens": 2, "new_kind": {"x": 1.50}}'
    late = b'{"choices":[],"usage":' + raw + b"}"
    assert bytes(play("chat", [TEXT, STOP, late, DONE]).answer.usage.raw or b"") == raw


def test_usage_is_found_wherever_it_stands() -> None:
    whole, nothing = (5, 2), (None, None)
    running = chunk({"content": "hi"}, usage={**USAGE, "completion_tokens": 1})
    inside = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}
    cases: list[tuple[list[object], tuple[int | None, int | None]]] = [
        ([TEXT, STOP, LATE, DONE], whole),
        ([TEXT, chunk({}, "stop", usage=USAGE), DONE], whole),
        ([TEXT, chunk({}, "stop", usage=None), LATE, DONE], whole),
        ([TEXT, STOP, LATE], whole),
        ([LATE, TEXT, STOP, DONE], whole),
        ([running, chunk({}, "stop", usage=USAGE), DONE], whole),
        ([TEXT, {"choices": [inside]}, DONE], whole),
        ([TEXT, chunk({}, "stop", x_groq={"id": "r", "usage": USAGE}), DONE], whole),
        ([TEXT, STOP, LATE, {"choices": [], "usage": ZERO}, DONE], whole),
        ([TEXT, STOP, {"choices": None, "usage": USAGE}, DONE], whole),
        ([TEXT, STOP, DONE], nothing),
        ([TEXT, STOP, {"choices": [], "usage": {}}, DONE], nothing),
        ([TEXT, STOP, {"choices": [], "usage": ZERO}, DONE], nothing),
    ]
    for events, expected in cases:
        with case(events):
            answer = play("chat", events).answer
            assert (answer.usage.input, answer.usage.output) == expected
            assert answer.outcome == "finished"


@pytest.mark.parametrize(
    ("events", "complete", "outcome"),
    [
        ([TEXT, STOP, DONE], False, "finished"),
        ([TEXT, STOP], True, "finished"),
        ([TEXT, STOP], False, "dropped"),
        ([TEXT, DONE], False, "finished"),
        ([DONE], True, "dropped"),
        ([TEXT], True, "dropped"),
        ([], True, "dropped"),
    ],
)
def test_a_stream_is_finished_only_when_the_server_said_so(
    events: list[object], complete: bool, outcome: str
) -> None:
    answer = play("chat", events, complete=complete).answer
    assert answer.outcome == outcome
    assert answer.stop == ("stop" if outcome == "finished" and STOP in events else "")


def test_stop_with_calls_is_a_wait_for_results_and_length_stays_length() -> None:
    for finish, stop in (("stop", "tool_calls"), ("length", "length")):
        called = {"tool_calls": [call(0, '{"a', id="a", name="f")]}
        answer = said(called, finish=finish).answer
        assert (answer.stop, answer.said) == (stop, finish)


FIRST, SECOND = call(0, '{"x"', id="a", name="f"), call(1, "{}", id="b", name="g")


@pytest.mark.parametrize(
    "deltas",
    [
        [call(0, "", id="a", name="f"), call(0, '{"x"'), call(0, ":1}"), SECOND],
        [call(0, '{"x":1}', id="a", name="f"), call(0, "{}", id="b", name="g")],
        [call(None, '{"x":1}', id="a", name="f"), call(None, "{}", id="b", name="g")],
        [
            call(None, id="a", name="f"),
            call(None, '{"x":1}'),
            call(None, "{}", id="b", name="g"),
        ],
        [FIRST, call(0, ":1}", id="a"), SECOND],
        [
            call(0, id="a", name="f"),
            call(1, id="b", name="g"),
            call(1, "{}"),
            call(0, '{"x":1}'),
        ],
        [FIRST, call(0, ":1}", id="", name=""), SECOND],
        [call(3, '{"x":1}', id="a", name="f"), call(7, "{}", id="b", name="g")],
    ],
)
def test_pieces_of_calls_find_each_other(deltas: list[dict[str, object]]) -> None:
    played = said(*({"tool_calls": [one]} for one in deltas), finish="tool_calls")
    assert played.briefs == [("call", "a", "f", '{"x":1}'), ("call", "b", "g", "{}")]


def test_calls_without_ids_get_ids_of_their_own() -> None:
    calls = [{"tool_calls": [call(at, "{}", name=name)]} for at, name in enumerate("fg")]
    assert [brief[1] for brief in said(*calls).briefs] == ["~m1.1", "~m1.2"]


def test_arguments_that_come_as_an_object_are_written_down() -> None:
    one = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}
    assert said({"tool_calls": [one]}).briefs == [("call", "a", "f", '{"x":1}')]


def thought(words: str) -> dict[str, object]:
    """Reasoning as Mistral sends it."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": words}]}


@pytest.mark.parametrize(
    ("deltas", "reasoning", "text"),
    [
        ([{"reasoning": "a"}, {"reasoning": "b"}, {"content": "x"}], "reasoning", "x"),
        (
            [
                {"reasoning_content": "a", "reasoning": "a"},
                {"reasoning": "b", "reasoning_content": "b"},
                {"content": "x"},
            ],
            "reasoning_content",
            "x",
        ),
        (
            [
                {"reasoning_content": "a"},
                {"content": "x"},
                {"reasoning_content": "b"},
                {"content": "y"},
            ],
            "reasoning_content",
            "xy",
        ),
        (
            [{"content": [thought("a")]}, {"content": [thought("b")]}, {"content": "x"}],
            "thinking",
            "x",
        ),
    ],
    ids=["its name", "twice", "between", "mistral"],
)
def test_reasoning_is_one_part_that_remembers_the_name_it_came_under(
    deltas: list[dict[str, object]], reasoning: str, text: str
) -> None:
    expected = [("reasoning", "ab", {reasoning: None}), ("text", text)]
    assert said(*deltas, host="mistral").briefs == expected


def test_a_refusal_is_a_text_that_says_so() -> None:
    played = said({"refusal": "No"}, {"refusal": "."}, finish="stop")
    assert played.briefs == [("text", "No.", {"refusal": True})]
    assert played.answer.stop == "refused"


def test_fields_without_a_word_are_kept_as_an_item() -> None:
    played = said({"content": "x", "images": [{"n": 1}]}, {"images": [{"n": 2}]})
    fields = {"type": "message_fields", "images": [{"n": 1}, {"n": 2}]}
    assert played.briefs[1] == ("item", "message_fields", fields)


def test_text_after_the_finish_reason_is_not_lost() -> None:
    events = [chunk({"content": "a"}, "stop"), chunk({"content": "b"}, "stop"), DONE]
    assert play("chat", events).briefs == [("text", "ab")]


def text(**more: object) -> dict[str, Any]:
    return {"type": "reasoning.text", **more}


def secret(**more: object) -> dict[str, Any]:
    return {"type": "reasoning.encrypted", **more}


A, B = text(index=0, text="a"), text(index=0, text="b")
APART: list[list[dict[str, Any]]] = [
    [A, text(index=1, text="b")],
    [A, secret(index=0, data="E")],
    [secret(data="E"), secret(data="F")],
    [secret(index=0, id="a", data="E"), secret(index=0, id="b", data="F")],
]


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([A, B], [text(index=0, text="ab")]),
        ([text(text="a"), text(text="b")], [text(text="ab")]),
        ([A, text(index=0, signature="S")], [{**A, "signature": "S"}]),
        ([{**A, "signature": None}, B], [text(index=0, text="ab", signature=None)]),
        (
            [secret(index=1, data="E"), secret(index=1, data="F")],
            [secret(index=1, data="EF")],
        ),
        *((pieces, pieces) for pieces in APART),
    ],
)
def test_pieces_of_one_detail_are_joined_and_others_kept_apart(
    pieces: list[dict[str, Any]], whole: list[dict[str, Any]]
) -> None:
    given, held = [dict(piece) for piece in pieces], list[dict[str, Any]]()
    for piece in pieces:
        merge_details(held, [piece])
    assert held == whole
    assert pieces == given
