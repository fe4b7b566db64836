"""Gemini's streams: signatures on the part they came on, nothing joined, counts that run."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.cases import case
from tests.codec.streams import GEMINI, play, read_answer, request
from ullage.codec.stream import StreamFailed, UsageSeen
from ullage.errors import Overloaded
from ullage.messages import ImagePart, ProviderItem, ReasoningPart, TextPart, ToolCallPart


def fields(part: object) -> object:
    data = getattr(part, "provider", None)
    return None if data is None else json.loads(bytes(data.data))


def chunk(
    *parts: Mapping[str, object], finish: str | None = None, **more: object
) -> dict[str, object]:
    candidate: dict[str, object] = {"content": {"parts": list(parts), "role": "model"}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


END = chunk(finish="STOP")


def test_a_whole_stream_gives_its_parts_each_with_its_own_signature() -> None:
    played = play("generateContent", GEMINI)
    thought, text, signed, first, second, last = played.parts
    assert isinstance(thought, ReasoningPart)
    assert (thought.text, fields(thought)) == ("Let me look.", {"thought": True})
    assert isinstance(text, TextPart)
    assert (text.text, text.provider) == ("Zürich, dann 🦉.", None)
    assert isinstance(signed, TextPart)
    assert (signed.text, fields(signed)) == (
        " Ende.",
        {"thoughtSignature": "text/sig+=="},
    )
    assert isinstance(first, ToolCallPart)
    assert (first.name, first.arguments, fields(first)) == (
        "weather",
        '{"city": "ZRH", "n": 1.0}',
        {"thoughtSignature": "CiQBcsjafd=="},
    )
    assert isinstance(second, ToolCallPart)
    assert (second.call_id, second.arguments, second.provider) == ("fx-2", "{}", None)
    assert isinstance(last, TextPart)
    assert (last.text, fields(last)) == ("", {"thoughtSignature": "last=="})
    answer = played.answer
    assert (answer.stop, answer.said, answer.model, answer.response_id) == (
        "tool_calls",
        "STOP",
        "gemini-3-pro-001",
        "r1",
    )
    usage = answer.usage
    assert (usage.input, usage.output, usage.reasoning, usage.cache_read) == (
        17,
        47,
        17,
        4,
    )


def test_a_call_without_an_id_gets_one_of_ours() -> None:
    call = play("generateContent", GEMINI).parts[3]
    assert isinstance(call, ToolCallPart)
    assert call.call_id == f"~{call.id}"


def test_plain_text_grows_and_text_of_another_kind_begins_a_part() -> None:
    events = [
        chunk({"text": "a"}),
        chunk({"text": "b"}),
        chunk({"text": "t", "thought": True}),
        chunk({"text": "c"}),
        END,
    ]
    assert [
        getattr(part, "text", "") for part in play("generateContent", events).parts
    ] == ["ab", "t", "c"]


def test_text_after_a_signed_part_is_not_joined_to_it() -> None:
    events = [
        chunk({"text": "a"}),
        chunk({"text": "b", "thoughtSignature": "S"}),
        chunk({"text": "c"}),
        END,
    ]
    parts = play("generateContent", events).parts
    assert [(getattr(part, "text", ""), fields(part)) for part in parts] == [
        ("a", None),
        ("b", {"thoughtSignature": "S"}),
        ("c", None),
    ]


def test_a_signature_alone_is_a_part() -> None:
    (part,) = play("generateContent", [chunk({"thoughtSignature": "S"}), END]).parts
    assert isinstance(part, ReasoningPart)
    assert (part.text, fields(part)) == ("", {"thoughtSignature": "S"})


def test_a_thought_with_a_signature_and_no_text_keeps_how_it_was_written() -> None:
    (part,) = play(
        "generateContent",
        [chunk({"text": "", "thought": True, "thoughtSignature": "S"}), END],
    ).parts
    assert fields(part) == {"text": "", "thought": True, "thoughtSignature": "S"}


def test_empty_text_without_data_makes_no_part() -> None:
    assert play("generateContent", [chunk({"text": ""}), END]).parts == ()


def test_a_part_without_a_word_is_kept_whole() -> None:
    code = {
        "executableCode": {"language": "PYTHON", "code": "1"},
        "thoughtSignature": "S",
    }
    (part,) = play("generateContent", [chunk(code), END]).parts
    assert isinstance(part, ProviderItem)
    assert (part.kind, fields(part)) == ("executableCode", code)


def test_an_image_the_model_made_is_measured_and_its_bytes_kept() -> None:
    data = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAAC0lEQVR4nGNgwAcAAB4AAcxc+jEAAAAASUVORK5CYII="
    inline = {
        "inlineData": {"mimeType": "image/png", "data": data},
        "thoughtSignature": "S",
    }
    (part,) = play("generateContent", [chunk(inline), END]).parts
    assert isinstance(part, ImagePart)
    assert (part.width, part.height, part.mime) == (2, 3, "image/png")
    assert fields(part) == inline


def test_usage_is_read_in_every_order_and_with_every_omission() -> None:
    said, end = chunk({"text": "a"}), chunk(finish="STOP")
    early = {"promptTokenCount": 5, "totalTokenCount": 5}
    whole = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
    thought = {**whole, "thoughtsTokenCount": 3, "totalTokenCount": 10}
    first = chunk({"text": "a"}, usageMetadata=early)
    for events, expected in (
        ([said, chunk(finish="STOP", usageMetadata=whole)], (5, 2)),
        ([first, chunk(finish="STOP", usageMetadata=thought)], (5, 5)),
        ([said, end, {"usageMetadata": whole}], (5, 2)),
        ([chunk({"text": "a"}, usageMetadata=whole), end], (5, 2)),
        ([said, end], (None, None)),
        ([said, chunk(finish="STOP", usageMetadata={})], (None, None)),
        (
            [said, chunk(finish="STOP", usageMetadata={"promptTokenCount": 0})],
            (None, None),
        ),
    ):
        with case(events):
            usage = play("generateContent", events).answer.usage
            assert (usage.input, usage.output) == expected


def test_running_counts_of_a_cut_stream_are_not_final() -> None:
    answer = play("generateContent", GEMINI[:3], complete=False).answer
    assert (answer.usage.input, answer.usage.final, answer.outcome) == (
        17,
        False,
        "dropped",
    )


def test_usage_is_reported_with_the_end() -> None:
    seen = [
        event.usage
        for event in play("generateContent", GEMINI).events
        if isinstance(event, UsageSeen)
    ]
    assert [(usage.input, usage.output) for usage in seen] == [(17, 47)]


@pytest.mark.parametrize(
    ("said", "stop"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refused"),
        ("RECITATION", "refused"),
        ("MALFORMED_FUNCTION_CALL", "other"),
    ],
)
def test_why_it_ended_is_said_in_one_vocabulary(said: str, stop: str) -> None:
    answer = play("generateContent", [chunk({"text": "a"}), chunk(finish=said)]).answer
    assert (answer.stop, answer.said) == (stop, said)


def test_a_blocked_prompt_is_a_refusal() -> None:
    answer = play(
        "generateContent",
        [
            {
                "promptFeedback": {"blockReason": "OTHER"},
                "usageMetadata": {"promptTokenCount": 4},
            }
        ],
    ).answer
    assert (answer.stop, answer.said, answer.outcome, answer.usage.input) == (
        "refused",
        "OTHER",
        "finished",
        4,
    )


def test_an_unspecified_reason_is_no_end() -> None:
    events = [chunk({"text": "a"}, finish="FINISH_REASON_UNSPECIFIED")]
    assert play("generateContent", events).answer.outcome == "dropped"


def test_the_same_chunk_sent_twice_is_taken_once() -> None:
    twice = [event for event in GEMINI for _ in range(2)]
    assert play("generateContent", twice).answer == play("generateContent", GEMINI).answer


def test_an_error_inside_the_stream_is_typed() -> None:
    error = {
        "error": {
            "code": 503,
            "message": "The model is overloaded.",
            "status": "UNAVAILABLE",
        }
    }
    played = play("generateContent", [chunk({"text": "a"}), error])
    assert isinstance(played.events[-1], StreamFailed)
    assert isinstance(played.answer.error, Overloaded)
    assert (played.answer.outcome, len(played.parts)) == ("failed", 1)


def test_a_whole_body_keeps_its_parts_as_they_were_cut() -> None:
    body = chunk(
        {"text": "a"},
        {"text": "b"},
        {"text": "c", "thoughtSignature": "S"},
        finish="STOP",
    )
    answer = read_answer(
        request("generateContent"), json.dumps(body).encode(), message_id="m1"
    )
    assert [getattr(part, "text", "") for part in answer.message.parts] == ["a", "b", "c"]
    assert (answer.outcome, answer.stop) == ("finished", "stop")
