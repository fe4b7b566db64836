"""Chat's streams: usage wherever it stands, calls however they are numbered, reasoning under each of its names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.codec.streams import CHAT, play, read_answer, request
from ullage.codec.stream import PartDone, StreamFailed, UsageSeen
from ullage.codec.wires.chat.decode import merge_details
from ullage.errors import RateLimited, ServerError
from ullage.messages import ProviderItem, ReasoningPart, TextPart, ToolCallPart

DONE = b"[DONE]"


def fields(part: object) -> object:
    data = getattr(part, "provider", None)
    return None if data is None else json.loads(bytes(data.data))


def chunk(
    delta: dict[str, object] | None = None, finish: str | None = None, **more: object
) -> dict[str, object]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "model": "m", "choices": [choice], **more}


def call(
    index: int | None,
    arguments: str = "",
    *,
    id: str | None = None,
    name: str | None = None,
) -> dict[str, object]:
    function = {"arguments": arguments, **({"name": name} if name is not None else {})}
    made: dict[str, object] = {"function": function, "type": "function"}
    return (
        made
        | ({} if index is None else {"index": index})
        | ({} if id is None else {"id": id})
    )


USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
LATE = {"choices": [], "usage": USAGE}


def test_a_whole_stream_gives_its_parts() -> None:
    played = play("chat", CHAT)
    reasoning, text, first, second = played.parts
    assert isinstance(reasoning, ReasoningPart)
    assert (reasoning.text, fields(reasoning)) == (
        "Let me look.",
        {"reasoning_content": None},
    )
    assert isinstance(text, TextPart)
    assert text.text == "Zürich, dann 🦉."
    assert isinstance(first, ToolCallPart)
    assert isinstance(second, ToolCallPart)
    assert [(one.call_id, one.name, one.arguments) for one in (first, second)] == [
        ("call_1", "weather", '{"city": "ZRH"}'),
        ("call_2", "clock", "{}"),
    ]
    usage = played.answer.usage
    assert (
        usage.input,
        usage.output,
        usage.reasoning,
        usage.cache_read,
        usage.final,
    ) == (
        40,
        30,
        12,
        8,
        True,
    )
    assert (played.answer.stop, played.answer.model, played.answer.response_id) == (
        "tool_calls",
        "gpt-5-0807",
        "c-1",
    )


def test_the_usage_object_is_kept_byte_for_byte() -> None:
    raw = b'{"prompt_tokens": 5,  "completion_tokens": 2, "new_kind": {"x": 1.50}}'
    events: list[object] = [
        chunk({"content": "hi"}),
        chunk({}, "stop"),
        b'{"choices":[],"usage":' + raw + b"}",
        DONE,
    ]
    assert bytes(play("chat", events).answer.usage.raw or b"") == raw


TEXT = chunk({"content": "hi"})


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([TEXT, chunk({}, "stop"), LATE, DONE], (5, 2)),
        ([TEXT, chunk({}, "stop", usage=USAGE), DONE], (5, 2)),
        ([TEXT, chunk({}, "stop", usage=None), LATE, DONE], (5, 2)),
        ([TEXT, chunk({}, "stop"), LATE], (5, 2)),
        ([LATE, TEXT, chunk({}, "stop"), DONE], (5, 2)),
        (
            [
                chunk({"content": "hi"}, usage={**USAGE, "completion_tokens": 1}),
                chunk({}, "stop", usage=USAGE),
                DONE,
            ],
            (5, 2),
        ),
        (
            [
                TEXT,
                {
                    "choices": [
                        {"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}
                    ]
                },
                DONE,
            ],
            (5, 2),
        ),
        ([TEXT, chunk({}, "stop", x_groq={"id": "r", "usage": USAGE}), DONE], (5, 2)),
        (
            [
                TEXT,
                chunk({}, "stop"),
                LATE,
                {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}},
                DONE,
            ],
            (5, 2),
        ),
        ([TEXT, chunk({}, "stop"), DONE], (None, None)),
        ([TEXT, chunk({}, "stop"), {"choices": [], "usage": {}}, DONE], (None, None)),
        (
            [
                TEXT,
                chunk({}, "stop"),
                {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}},
                DONE,
            ],
            (None, None),
        ),
        ([TEXT, chunk({}, "stop"), {"choices": None, "usage": USAGE}, DONE], (5, 2)),
    ],
)
def test_usage_is_found_wherever_it_stands(
    events: list[object], expected: tuple[int | None, int | None]
) -> None:
    answer = play("chat", events).answer
    assert (answer.usage.input, answer.usage.output) == expected
    assert answer.outcome == "finished"


def test_usage_that_comes_before_the_end_is_not_final_when_the_stream_is_cut() -> None:
    answer = play("chat", [LATE, TEXT], complete=False).answer
    assert (answer.outcome, answer.usage.input, answer.usage.final) == (
        "dropped",
        5,
        False,
    )


def test_usage_is_reported_once_the_answer_ended() -> None:
    seen = [event for event in play("chat", CHAT).events if isinstance(event, UsageSeen)]
    assert [event.usage.input for event in seen] == [40]


@pytest.mark.parametrize(
    ("events", "complete", "outcome"),
    [
        ([TEXT, chunk({}, "stop"), DONE], False, "finished"),
        ([TEXT, chunk({}, "stop")], True, "finished"),
        ([TEXT, chunk({}, "stop")], False, "dropped"),
        ([TEXT, DONE], False, "finished"),
        ([DONE], True, "dropped"),
        ([TEXT], True, "dropped"),
        ([], True, "dropped"),
        ([TEXT, chunk({}, "abort"), DONE], True, "dropped"),
    ],
)
def test_a_stream_is_finished_only_when_the_server_said_so(
    events: list[object], complete: bool, outcome: str
) -> None:
    answer = play("chat", events, complete=complete).answer
    assert answer.outcome == outcome
    assert outcome != "dropped" or answer.stop == ""


def test_an_answer_that_ends_without_a_reason_is_finished_and_gives_none() -> None:
    answer = play("chat", [TEXT, DONE]).answer
    assert (answer.outcome, answer.stop, answer.said) == ("finished", "", "")


@pytest.mark.parametrize(
    ("said", "stop"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("content_filter", "refused"),
        ("sensitive", "refused"),
        ("model_length", "context_full"),
        ("model_context_window_exceeded", "context_full"),
        ("novelty", "other"),
    ],
)
def test_why_it_ended_is_said_in_one_vocabulary(said: str, stop: str) -> None:
    assert play("chat", [TEXT, chunk({}, said), DONE]).answer.stop == stop


def test_stop_with_calls_is_a_wait_for_results() -> None:
    events = [
        chunk({"tool_calls": [call(0, "{}", id="a", name="f")]}),
        chunk({}, "stop"),
        DONE,
    ]
    answer = play("chat", events).answer
    assert (answer.stop, answer.said) == ("tool_calls", "stop")


def test_length_with_calls_stays_length() -> None:
    events = [
        chunk({"tool_calls": [call(0, '{"a', id="a", name="f")]}),
        chunk({}, "length"),
        DONE,
    ]
    assert play("chat", events).answer.stop == "length"


@pytest.mark.parametrize(
    "deltas",
    [
        [
            call(0, "", id="a", name="f"),
            call(0, '{"x"'),
            call(0, ":1}"),
            call(1, "{}", id="b", name="g"),
        ],
        [call(0, '{"x":1}', id="a", name="f"), call(0, "{}", id="b", name="g")],
        [call(None, '{"x":1}', id="a", name="f"), call(None, "{}", id="b", name="g")],
        [
            call(None, "", id="a", name="f"),
            call(None, '{"x":1}'),
            call(None, "{}", id="b", name="g"),
        ],
        [
            call(0, '{"x"', id="a", name="f"),
            call(0, ":1}", id="a"),
            call(1, "{}", id="b", name="g"),
        ],
        [
            call(0, "", id="a", name="f"),
            call(1, "", id="b", name="g"),
            call(1, "{}"),
            call(0, '{"x":1}'),
        ],
        [
            call(0, '{"x"', id="a", name="f"),
            call(0, ":1}", id="", name=""),
            call(1, "{}", id="b", name="g"),
        ],
        [call(3, '{"x":1}', id="a", name="f"), call(7, "{}", id="b", name="g")],
    ],
)
def test_pieces_of_calls_find_each_other(deltas: list[dict[str, object]]) -> None:
    events = [
        *(chunk({"tool_calls": [one]}) for one in deltas),
        chunk({}, "tool_calls"),
        DONE,
    ]
    calls = [
        part for part in play("chat", events).parts if isinstance(part, ToolCallPart)
    ]
    assert [(one.call_id, one.name, one.arguments) for one in calls] == [
        ("a", "f", '{"x":1}'),
        ("b", "g", "{}"),
    ]


def test_calls_without_ids_get_ids_of_their_own() -> None:
    events = [
        chunk({"tool_calls": [call(0, "{}", name="f")]}),
        chunk({"tool_calls": [call(1, "{}", name="g")]}),
        DONE,
    ]
    calls = [
        part for part in play("chat", events).parts if isinstance(part, ToolCallPart)
    ]
    assert [one.call_id for one in calls] == ["~m1.1", "~m1.2"]


def test_arguments_that_come_as_an_object_are_written_down() -> None:
    one = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}
    (part,) = play("chat", [chunk({"tool_calls": [one]}), chunk({}, "stop"), DONE]).parts
    assert isinstance(part, ToolCallPart)
    assert part.arguments == '{"x":1}'


def test_a_signature_on_a_call_stays_with_it() -> None:
    extra = {"google": {"thought_signature": "Cq+/=="}}
    one = {**call(0, "{}", id="a", name="f"), "extra_content": extra}
    (part,) = play("chat", [chunk({"tool_calls": [one]}), DONE]).parts
    assert fields(part) == {"extra_content": extra}


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_remembers_the_name_it_came_under(name: str) -> None:
    events = [chunk({name: "a"}), chunk({name: "b"}), chunk({"content": "c"}), DONE]
    reasoning, text = play("chat", events).parts
    assert isinstance(reasoning, ReasoningPart)
    assert (reasoning.text, fields(reasoning), getattr(text, "text", "")) == (
        "ab",
        {name: None},
        "c",
    )


def test_the_same_reasoning_under_two_names_is_taken_once() -> None:
    events = [
        chunk({"reasoning_content": "a", "reasoning": "a"}),
        chunk({"reasoning": "b", "reasoning_content": "b"}),
        DONE,
    ]
    (part,) = play("chat", events).parts
    assert isinstance(part, ReasoningPart)
    assert (part.text, fields(part)) == ("ab", {"reasoning_content": None})


def test_reasoning_that_goes_on_after_text_was_begun_is_one_part() -> None:
    events = [
        chunk({"reasoning_content": "a"}),
        chunk({"content": "x"}),
        chunk({"reasoning_content": "b"}),
        chunk({"content": "y"}),
        DONE,
    ]
    assert [getattr(part, "text", "") for part in play("chat", events).parts] == [
        "ab",
        "xy",
    ]


def test_openrouters_details_are_put_together_with_their_signature() -> None:
    def detail(**more: object) -> dict[str, object]:
        return {
            "type": "reasoning.text",
            "format": "anthropic-claude-v1",
            "index": 0,
            **more,
        }

    events = [
        chunk({"reasoning": "Let ", "reasoning_details": [detail(text="Let ")]}),
        chunk({"reasoning": "me.", "reasoning_details": [detail(text="me.")]}),
        chunk({"reasoning_details": [detail(signature="Sig+/==")]}),
        chunk(
            {
                "reasoning_details": [
                    {"type": "reasoning.encrypted", "data": "EEE", "id": "r1", "index": 1}
                ]
            }
        ),
        chunk({"content": "hi"}),
        DONE,
    ]
    reasoning, _ = play("chat", events, provider="openrouter").parts
    assert isinstance(reasoning, ReasoningPart)
    assert reasoning.text == "Let me."
    assert fields(reasoning) == {
        "reasoning": None,
        "reasoning_details": [
            {
                "type": "reasoning.text",
                "format": "anthropic-claude-v1",
                "index": 0,
                "text": "Let me.",
                "signature": "Sig+/==",
            },
            {"type": "reasoning.encrypted", "data": "EEE", "id": "r1", "index": 1},
        ],
    }


def test_mistrals_chunks_of_thinking_and_text_keep_their_order() -> None:
    def thought(text: str) -> dict[str, object]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

    events = [
        chunk({"content": [thought("a")]}),
        chunk({"content": [thought("b")]}),
        chunk({"content": "x"}),
        chunk({"content": "y"}),
        DONE,
    ]
    reasoning, text = play("chat", events, provider="mistral").parts
    assert isinstance(reasoning, ReasoningPart)
    assert (reasoning.text, fields(reasoning), getattr(text, "text", "")) == (
        "ab",
        {"thinking": None},
        "xy",
    )


def test_a_refusal_is_a_text_that_says_so() -> None:
    answer = play(
        "chat",
        [chunk({"refusal": "No"}), chunk({"refusal": "."}), chunk({}, "stop"), DONE],
    ).answer
    assert fields(answer.message.parts[0]) == {"refusal": True}
    assert answer.stop == "refused"


def test_fields_without_a_word_are_kept_as_an_item() -> None:
    events = [
        chunk({"content": "x", "images": [{"n": 1}]}),
        chunk({"images": [{"n": 2}]}),
        chunk({}, "stop"),
        DONE,
    ]
    _, item = play("chat", events).parts
    assert isinstance(item, ProviderItem)
    assert fields(item) == {"type": "message_fields", "images": [{"n": 1}, {"n": 2}]}


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"error": {"message": "slow", "code": 429}}, RateLimited),
        (
            {
                "error": {"message": "x"},
                "choices": [
                    {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
                ],
            },
            ServerError,
        ),
        ({"object": "error", "message": "boom", "code": 500}, ServerError),
        (chunk({}, "error"), ServerError),
        (chunk({}, "network_error"), ServerError),
        (chunk({}, "insufficient_system_resource"), ServerError),
    ],
)
def test_an_error_inside_the_stream_is_typed(
    event: dict[str, object], kind: type
) -> None:
    played = play("chat", [TEXT, event, DONE])
    assert any(isinstance(one, StreamFailed) for one in played.events)
    assert isinstance(played.answer.error, kind)
    assert (played.answer.outcome, played.answer.stop) == ("failed", "")
    assert [getattr(part, "text", "") for part in played.parts] == ["hi"]


def test_events_of_the_end_that_come_twice_are_taken_once() -> None:
    twice = [*CHAT[:-2], CHAT[-3], CHAT[-2], CHAT[-2], CHAT[-1], CHAT[-1]]
    assert play("chat", twice).answer == play("chat", CHAT).answer


def test_text_after_the_finish_reason_is_not_lost() -> None:
    events = [chunk({"content": "a"}, "stop"), chunk({"content": "b"}, "stop"), DONE]
    (part,) = play("chat", events).parts
    assert getattr(part, "text", "") == "ab"


def test_parts_are_done_at_the_end_at_the_latest() -> None:
    kinds = [
        type(event.part)
        for event in play("chat", CHAT).events
        if isinstance(event, PartDone)
    ]
    assert kinds == [ReasoningPart, TextPart, ToolCallPart, ToolCallPart]


def test_a_whole_body_gives_the_same_parts_as_a_stream() -> None:
    body = (
        b'{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"hm",'
        b'"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\\"x\\": 1}"}}]},'
        b'"finish_reason":"tool_calls"}],"usage":{"prompt_tokens": 5, "completion_tokens": 2}}'
    )
    answer = read_answer(request("chat"), body, message_id="m1")
    reasoning, text, one = answer.message.parts
    assert (
        getattr(reasoning, "text", ""),
        getattr(text, "text", ""),
        getattr(one, "arguments", ""),
    ) == (
        "hm",
        "hi",
        '{"x": 1}',
    )
    assert (answer.outcome, answer.stop, answer.usage.output) == (
        "finished",
        "tool_calls",
        2,
    )
    assert (
        bytes(answer.usage.raw or b"") == b'{"prompt_tokens": 5, "completion_tokens": 2}'
    )


def test_an_error_in_a_body_with_status_200_is_an_error() -> None:
    answer = read_answer(
        request("chat"), b'{"error":{"message":"x","code":429}}', message_id="m1"
    )
    assert (answer.outcome, type(answer.error)) == ("failed", RateLimited)


def text(**more: object) -> dict[str, Any]:
    return {"type": "reasoning.text", **more}


def secret(**more: object) -> dict[str, Any]:
    return {"type": "reasoning.encrypted", **more}


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([text(index=0, text="a"), text(index=0, text="b")], [text(index=0, text="ab")]),
        ([text(text="a"), text(text="b")], [text(text="ab")]),
        (
            [text(index=0, text="a"), text(index=0, signature="S")],
            [text(index=0, text="a", signature="S")],
        ),
        (
            [text(index=0, text="a", signature=None), text(index=0, text="b")],
            [text(index=0, text="ab", signature=None)],
        ),
        (
            [text(index=0, text="a"), text(index=1, text="b")],
            [text(index=0, text="a"), text(index=1, text="b")],
        ),
        (
            [text(index=0, text="a"), secret(index=0, data="E")],
            [text(index=0, text="a"), secret(index=0, data="E")],
        ),
        (
            [secret(index=1, data="E"), secret(index=1, data="F")],
            [secret(index=1, data="EF")],
        ),
        ([secret(data="E"), secret(data="F")], [secret(data="E"), secret(data="F")]),
        (
            [secret(index=0, id="a", data="E"), secret(index=0, id="b", data="F")],
            [secret(index=0, id="a", data="E"), secret(index=0, id="b", data="F")],
        ),
    ],
)
def test_pieces_of_one_detail_are_joined_and_others_kept_apart(
    pieces: list[dict[str, Any]], whole: list[dict[str, Any]]
) -> None:
    held: list[dict[str, Any]] = []
    for piece in pieces:
        merge_details(held, [piece])
    assert held == whole


def test_pieces_given_are_not_changed() -> None:
    first = text(text="a")
    merge_details([], [first, text(text="b")])
    assert first == text(text="a")
