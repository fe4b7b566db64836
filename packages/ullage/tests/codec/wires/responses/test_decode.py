"""Responses' streams: terminal items, numbers that tell what came twice, items we don't know."""

from collections.abc import Mapping

import pytest

from tests.codec.streams import RESPONSES, Played, fields, play
from ullage.codec.stream import CallDelta, ReasoningDelta, TextDelta


def done(item: Mapping[str, object], index: int = 0) -> dict[str, object]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(kind: str, words: str, **more: object) -> dict[str, object]:
    return {"type": f"response.{kind}.delta", "delta": words, **more}


FIRST = {"output_index": 0, "content_index": 0}


def message(*content: Mapping[str, object], **more: object) -> dict[str, object]:
    named = {"type": "message", "id": "msg", "role": "assistant"}
    return {**named, "content": list(content), **more}


def text(said: str, **more: object) -> dict[str, object]:
    return {"type": "output_text", "text": said, **more}


def end(status: str = "completed", **more: object) -> dict[str, object]:
    response = {"id": "r", "status": status, **more}
    return {"type": f"response.{status}", "response": response}


def played(*events: object) -> Played:
    return play("responses", [*events, end()])


REASONING = {"type": "reasoning", "id": "rs", "summary": []}


def test_items_without_a_place_are_told_apart_by_their_ids() -> None:
    """As llama.cpp streams them: no event has an ``output_index``, and a call has no ``id``."""

    def of(name: str, kind: str, words: str) -> dict[str, object]:
        return delta(kind, words, item_id=name)

    def added(item: Mapping[str, object]) -> dict[str, object]:
        return {"type": "response.output_item.added", "item": item}

    call = {"type": "function_call", "call_id": "fc_1", "name": "look", "arguments": ""}
    ended = [message(text("Three.")), {**call, "arguments": '{"path":"a"}'}]
    said, called = play(
        "responses",
        [
            added(message()),
            of("msg", "output_text", "Thr"),
            added(call),
            of("fc_1", "function_call_arguments", '{"path":'),
            of("msg", "output_text", "ee."),
            of("fc_1", "function_call_arguments", '"a"}'),
            *({"type": "response.output_item.done", "item": item} for item in ended),
            end(output=ended),
        ],
    ).briefs
    assert said[:2] == ("text", "Three.")
    assert called[:4] == ("call", "fc_1", "look", '{"path":"a"}')


def test_the_encrypted_content_of_the_added_item_is_never_stored() -> None:
    for at in range(len(RESPONSES)):
        parts = play("responses", RESPONSES[:at], complete=False).parts
        assert "early" not in str([fields(part) for part in parts])


def test_a_part_cut_before_its_item_was_done_has_no_data() -> None:
    reasoning, said = play("responses", RESPONSES[:9], complete=False).briefs
    assert len(reasoning) == 3
    assert said == ("text", "Zürich, ")


@pytest.mark.parametrize(
    ("item", "words", "kept"),
    [
        (
            {
                "summary": [{"type": "summary_text", "text": "one"}],
                "encrypted_content": "E",
            },
            "one",
            {"encrypted_content": "E"},
        ),
        ({"encrypted_content": "E"}, "", {"encrypted_content": "E"}),
        (
            {"content": [{"type": "reasoning_text", "text": "raw"}]},
            "raw",
            {"summary": [], "content": [{"type": "reasoning_text", "text": "raw"}]},
        ),
    ],
    ids=["a summary that the text gives back", "data alone", "open"],
)
def test_of_reasoning_is_kept_what_its_text_does_not_say(
    item: dict[str, object], words: str, kept: dict[str, object]
) -> None:
    (brief,) = played(done({**REASONING, **item})).briefs
    assert brief == ("reasoning", words, {"id": "rs", **kept})


def test_what_no_delta_brought_is_shown_with_its_item() -> None:
    open_ = {**REASONING, "content": [{"type": "reasoning_text", "text": "raw"}]}
    seen = played(
        delta("reasoning_text", "ra", **FIRST),
        done(open_),
        done(message(text("whole")), 1),
    ).events
    kinds = (ReasoningDelta, TextDelta)
    assert [one.text for one in seen if isinstance(one, kinds)] == ["ra", "w", "whole"]


def test_the_terminal_item_wins_over_the_deltas() -> None:
    wrong = delta("output_text", "wrong", **FIRST)
    (brief,) = played(wrong, done(message(text("right")))).briefs
    assert brief[:2] == ("text", "right")


def test_items_that_only_the_end_names_are_taken_and_the_others_not_again() -> None:
    item = message(text("hi"))
    call = {
        "type": "function_call",
        "id": "fc",
        "call_id": "c",
        "name": "f",
        "arguments": "{}",
    }
    late = play("responses", [done(item), end(output=[item, call])])
    assert [brief[0] for brief in late.briefs] == ["text", "call"]
    assert any(isinstance(one, CallDelta) and one.text == "{}" for one in late.events)


def test_blocks_of_one_message_are_parts_with_the_same_name() -> None:
    notes = [{"u": 1}]
    parts = played(done(message(text("a"), text("b", annotations=notes)))).parts
    expected = [{"id": "msg"}, {"annotations": notes, "id": "msg"}]
    assert [fields(part) for part in parts] == expected


def test_a_refusal_is_a_text_that_says_so() -> None:
    item = message({"type": "refusal", "refusal": "No."})
    refused = played(delta("refusal", "No", **FIRST), done(item))
    assert refused.briefs == [("text", "No.", {"refusal": True, "id": "msg"})]
    assert refused.answer.stop == "refused"


def test_content_without_a_word_is_a_message_of_its_own() -> None:
    odd = {"type": "output_new", "x": 1}
    first, second = played(done(message(text("a"), odd, phase="p"))).parts
    assert getattr(first, "text", "") == "a"
    assert fields(second) == message(odd, phase="p")


def test_a_custom_tools_input_is_text() -> None:
    item = {"type": "custom_tool_call", "id": "ct", "call_id": "c", "name": "sh"}
    added = {"type": "response.output_item.added", "output_index": 0}
    brief = played(
        {**added, "item": {**item, "input": ""}},
        delta("custom_tool_call_input", "ls -l", output_index=0),
        done({**item, "input": "ls -l"}),
    ).briefs
    assert brief == [
        ("call", "c", "sh", "ls -l", {"type": "custom_tool_call", "id": "ct"})
    ]


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
