"""Gemini's streams: signatures on the part they came on, nothing joined, counts that run."""

import json
from collections.abc import Mapping

from tests.cases import case
from tests.codec.streams import brief, fields, play, read_answer, request
from ullage.messages import ImagePart, Part

GEMINI = "generateContent"


def chunk(
    *parts: Mapping[str, object], finish: str | None = None, **more: object
) -> dict[str, object]:
    candidate: dict[str, object] = {"content": {"parts": list(parts), "role": "model"}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


END = chunk(finish="STOP")


def parts(*said: Mapping[str, object]) -> tuple[Part, ...]:
    return play(GEMINI, [*map(chunk, said), END]).parts


def test_plain_text_grows_until_another_kind_or_a_signature_begins_a_part() -> None:
    kinds = parts(
        {"text": "a"}, {"text": "b"}, {"text": "t", "thought": True}, {"text": "c"}
    )
    thought = ("reasoning", "t", {"thought": True})
    assert [brief(part) for part in kinds] == [("text", "ab"), thought, ("text", "c")]
    signed = parts({"text": "a"}, {"text": "b", "thoughtSignature": "S"}, {"text": "c"})
    sealed = ("text", "b", {"thoughtSignature": "S"})
    assert [brief(part) for part in signed] == [("text", "a"), sealed, ("text", "c")]


def test_a_signature_without_text_is_reasoning_as_it_was_written() -> None:
    for said in (
        {"thoughtSignature": "S"},
        {"text": "", "thought": True, "thoughtSignature": "S"},
    ):
        (part,) = parts(said)
        assert brief(part) == ("reasoning", "", said)
    assert parts({"text": ""}) == ()


def test_a_part_without_a_word_is_kept_whole() -> None:
    code = {
        "executableCode": {"language": "PYTHON", "code": "1"},
        "thoughtSignature": "S",
    }
    (part,) = parts(code)
    assert brief(part) == ("item", "executableCode", code)


def test_an_image_the_model_made_is_measured_and_its_bytes_kept() -> None:
    data = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAAC0lEQVR4nGNgwAcAAB4AAcxc+jEAAAAASUVORK5CYII="
    inline = {
        "inlineData": {"mimeType": "image/png", "data": data},
        "thoughtSignature": "S",
    }
    (part,) = parts(inline)
    assert isinstance(part, ImagePart)
    assert (part.width, part.height, part.mime) == (2, 3, "image/png")
    assert fields(part) == inline


def test_usage_is_read_in_every_order_and_with_every_omission() -> None:
    said = chunk({"text": "a"})
    early = {"promptTokenCount": 5, "totalTokenCount": 5}
    whole = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
    thought = {**whole, "thoughtsTokenCount": 3, "totalTokenCount": 10}
    first = chunk({"text": "a"}, usageMetadata=early)
    zero = {"promptTokenCount": 0}
    for events, expected in (
        ([said, chunk(finish="STOP", usageMetadata=whole)], (5, 2)),
        ([first, chunk(finish="STOP", usageMetadata=thought)], (5, 5)),
        ([said, END, {"usageMetadata": whole}], (5, 2)),
        ([chunk({"text": "a"}, usageMetadata=whole), END], (5, 2)),
        ([said, END], (None, None)),
        ([said, chunk(finish="STOP", usageMetadata={})], (None, None)),
        ([said, chunk(finish="STOP", usageMetadata=zero)], (None, None)),
    ):
        with case(events):
            usage = play(GEMINI, events).answer.usage
            assert (usage.input, usage.output) == expected


def test_a_blocked_prompt_is_a_refusal() -> None:
    blocked = {"blockReason": "OTHER"}
    event = {"promptFeedback": blocked, "usageMetadata": {"promptTokenCount": 4}}
    answer = play(GEMINI, [event]).answer
    assert (answer.stop, answer.said, answer.outcome) == ("refused", "OTHER", "finished")
    assert answer.usage.input == 4


def test_a_whole_body_keeps_its_parts_as_they_were_cut() -> None:
    body = chunk({"text": "a"}, {"text": "b"}, finish="STOP")
    answer = read_answer(request(GEMINI), json.dumps(body).encode(), message_id="m1")
    expected = [("text", "a"), ("text", "b")]
    assert [brief(part) for part in answer.message.parts] == expected
