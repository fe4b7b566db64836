"""A damaged stream: what comes of it is the same answer, or one that is not called finished."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case, filled
from tests.codec.streams import (
    ADDED,
    GOLDEN,
    PART,
    Played,
    deltas,
    play,
    read_answer,
    request,
    sse,
)
from ullage.codec.decode import decoder_for
from ullage.codec.stream import Answer, ServerEvent, StreamEvent
from ullage.errors import DamagedAnswer, LimitExceeded
from ullage.messages import Message
from ullage.wire.sse import EventReader


def assert_damaged(answer: Answer) -> None:
    assert (answer.outcome, type(answer.error)) == ("dropped", DamagedAnswer)


def through_the_reader(wire: str, stream: bytes) -> Answer:
    """What transport and decoder make of these bytes together."""
    asked = request(wire)
    reader, decoder = (EventReader(), decoder_for(asked, message_id="m1", call="c1"))
    out: list[StreamEvent] = []
    for event in [*reader.feed(stream), *reader.close()]:
        out += decoder.feed(event)
        if decoder.is_done or decoder.draft.tally.broken is not None:
            break
    if reader.stray:
        decoder.draft.damage("a line belongs to no event")
    return decoder.finish(reader.is_whole)


def same(one: Message, other: Message) -> bool:
    return one == other


BROKEN = [
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text',
    b"[1]",
    b'"x"',
    b"null",
    b"",
    b'{"a":"\xff"}',
]


def test_a_broken_frame_in_the_middle_ends_the_answer_as_dropped() -> None:
    for wire, broken in product(filled(GOLDEN), filled(BROKEN)):
        with case(wire, broken):
            golden = GOLDEN[wire]
            played = play(wire, [*golden[:4], broken, *golden[4:]])
            assert_damaged(played.answer)
            assert played.answer.stop == ""


@pytest.mark.parametrize("wire", GOLDEN)
def test_text_before_the_damage_is_kept_and_text_behind_it_is_not(wire: str) -> None:
    played = play(wire, [*deltas(wire, "AAA"), b"{broken", *deltas(wire, "CCC")[-1:]])
    assert [getattr(part, "text", "") for part in played.parts] == [
        "AAA"
    ] or wire == "chat"
    assert played.answer.outcome == "dropped"


@pytest.mark.parametrize("wire", GOLDEN)
def test_a_body_that_is_cut_is_not_finished(wire: str) -> None:
    answer = read_answer(
        request(wire), b'{"content":[{"type":"text","text":"hal', message_id="m1"
    )
    assert_damaged(answer)


def test_a_frame_of_a_shape_that_the_wire_does_not_have_is_damage() -> None:
    def delta(index: int, **delta: object) -> dict[str, object]:
        return {"type": "content_block_delta", "index": index, "delta": delta}

    piece = {"tool_calls": [{"index": 3, "function": {"arguments": "1}"}}]}
    text = "response.output_text.delta"
    cases: list[tuple[str, object]] = [
        ("messages", delta(7, type="text_delta", text="x")),
        ("messages", delta(0, type="text_delta", text=5)),
        ("messages", delta(0, type="thinking_delta", thinking="x")),
        ("messages", {"type": "content_block_delta", "index": 0, "delta": "x"}),
        ("messages", {"type": "content_block_stop", "index": 3}),
        ("messages", {**PART, "index": 4}),
        ("messages", {"index": 0, "delta": {"type": "text_delta", "text": "x"}}),
        ("messages", {"type": "message_stop"}),
        ("chat", {"choices": {"delta": {"content": "x"}}}),
        ("chat", {"choices": [{"index": 0, "delta": "x"}]}),
        ("chat", {"choices": [{"index": 0, "delta": {"content": 5}}]}),
        ("chat", {"choices": [{"index": 0, "delta": piece}]}),
        ("chat", {"choices": [{"index": 0, "delta": {"tool_calls": "x"}}]}),
        ("responses", {"output_index": 0, "delta": "x"}),
        ("responses", {"type": text, "output_index": 0, "delta": None}),
        ("responses", {"type": "response.output_item.done", "output_index": 0}),
        ("responses", {"type": "response.completed"}),
        ("generateContent", {"candidates": "x"}),
        ("generateContent", {"candidates": [{"content": {"parts": ["x"]}}]}),
        ("generateContent", {"candidates": [{"content": {"parts": [{"text": 5}]}}]}),
    ]
    for wire, event in cases:
        with case(wire, event):
            played = play(wire, [*deltas(wire, "a"), event])
            assert_damaged(played.answer)


@pytest.mark.parametrize(
    "message", [5, {"content": 5}, {"tool_calls": 5}, {"tool_calls": [5]}]
)
def test_a_body_of_a_shape_that_the_wire_does_not_have_is_damage(message: object) -> None:
    body = json.dumps(
        {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    ).encode()
    answer = read_answer(request("chat"), body, message_id="m1")
    assert_damaged(answer)


@pytest.mark.parametrize(
    ("wire", "ended"),
    [
        ("messages", {"type": "content_block_stop", "index": 0}),
        (
            "responses",
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"type": "message", "content": []},
            },
        ),
    ],
)
def test_text_for_a_part_that_has_ended_is_damage(wire: str, ended: object) -> None:
    played = play(wire, [*deltas(wire, "a"), ended, deltas(wire, "b")[-1]])
    assert_damaged(played.answer)


@pytest.mark.parametrize("wire", GOLDEN)
def test_events_that_this_version_does_not_know_change_nothing(wire: str) -> None:
    golden = GOLDEN[wire]
    unknown = [{"type": "something.new", "x": [1, {"y": None}]}, {"type": "ping"}]
    played = play(wire, [*golden[:4], *unknown, *golden[4:]])
    assert played.answer == play(wire, golden).answer


def test_events_of_responses_in_another_order_change_nothing_or_are_damage() -> None:
    golden = GOLDEN["responses"]
    for at in range(1, len(golden) - 1):
        swapped = [*golden[: at - 1], golden[at], golden[at - 1], *golden[at + 1 :]]
        answer = play("responses", swapped).answer
        assert (
            answer.outcome != "finished"
            or answer.message == play("responses", golden).answer.message
        )


def test_a_lost_number_is_damage_where_the_end_says_nothing_again() -> None:
    events = [
        {**ADDED, "sequence_number": 0},
        {
            "type": "response.output_text.delta",
            "sequence_number": 2,
            "output_index": 0,
            "delta": "b",
        },
        {
            "type": "response.completed",
            "sequence_number": 3,
            "response": {"status": "completed", "output": []},
        },
    ]
    played = play("responses", events)
    assert_damaged(played.answer)


def test_a_lost_beginning_is_damage_where_the_end_says_nothing_again() -> None:
    piece = {"type": "response.function_call_arguments.delta", "delta": "{}"}
    end = {"status": "completed", "output": []}
    last = {"type": "response.completed", "response": end}
    assert_damaged(play("responses", [ADDED, {**piece, "output_index": 1}, last]).answer)


def test_events_that_are_all_numbered_0_are_not_taken_for_repetitions() -> None:
    text = {"type": "response.output_text.delta", "output_index": 0}
    end = {"status": "completed", "output": []}
    events: list[dict[str, object]] = [
        ADDED,
        {**text, "delta": "a"},
        {**text, "delta": "b"},
        {"type": "response.completed", "response": end},
    ]
    played = play("responses", [{**event, "sequence_number": 0} for event in events])
    assert played.answer.outcome == "finished"
    assert played.shown() == {"m1.1": "ab"}


def confirmed(wire: str, event: object) -> bool:
    """Whether the wire has a way to notice that this frame is missing or came twice.

    Chat and generateContent number nothing, and Messages only its blocks: a piece of text that is lost whole, or comes
    twice, leaves a well-formed stream. docs/wire.md says so.
    """
    text = (
        event
        if isinstance(event, str)
        else json.dumps(event)
        if not isinstance(event, bytes)
        else event.decode()
    )
    if wire == "messages":
        return "content_block_delta" not in text
    if wire == "chat":
        return '"finish_reason":"' in text
    return wire == "responses"


def shape(played: Played) -> tuple[object, ...]:
    return (played.answer.outcome, played.answer.message, played.answer.stop)


@pytest.mark.parametrize("wire", GOLDEN)
@given(st.data())
def test_a_frame_that_is_lost_or_repeated_changes_nothing_or_is_noticed(
    wire: str, data: st.DataObject
) -> None:
    golden = GOLDEN[wire]
    at = data.draw(st.integers(0, len(golden) - 1))
    is_lost = data.draw(st.booleans())
    played = play(
        wire,
        [*golden[:at], *([] if is_lost else [golden[at], golden[at]]), *golden[at + 1 :]],
    )
    if confirmed(wire, golden[at]) and played.answer.outcome == "finished":
        assert shape(played) == shape(play(wire, golden))


@pytest.mark.parametrize("wire", GOLDEN)
@given(st.data())
def test_a_frame_that_is_cut_or_spoilt_is_noticed(wire: str, data: st.DataObject) -> None:
    golden = GOLDEN[wire]
    at = data.draw(st.integers(0, len(golden) - 1))
    event = golden[at]
    whole = event if isinstance(event, bytes) else str(event).encode()
    cut = data.draw(st.integers(1, len(whole) - 1))
    spoilt = (
        whole[:cut]
        if data.draw(st.booleans())
        else whole[:cut] + b"\xff" + whole[cut + 1 :]
    )
    assert (
        play(wire, [*golden[:at], spoilt, *golden[at + 1 :]]).answer.outcome != "finished"
    )


@pytest.mark.parametrize("wire", GOLDEN)
@given(st.data())
def test_a_byte_that_is_no_text_changes_nothing_or_is_noticed(
    wire: str, data: st.DataObject
) -> None:
    whole = b": comment\n\n" + sse(GOLDEN[wire])
    at = data.draw(st.integers(0, len(whole) - 1))
    answer = through_the_reader(wire, whole[:at] + b"\xff" + whole[at + 1 :])
    assert answer.outcome != "finished" or same(
        answer.message, play(wire, GOLDEN[wire]).answer.message
    )


@pytest.mark.parametrize("wire", GOLDEN)
@given(st.data())
def test_bytes_of_the_framing_that_are_lost_change_nothing_or_are_noticed(
    wire: str, data: st.DataObject
) -> None:
    whole = sse(GOLDEN[wire])
    places = [
        at
        for at in range(len(whole))
        if whole[at : at + 1] == b"\n" or whole[at : at + 5] == b"data:"
    ]
    at = data.draw(st.sampled_from(places))
    answer = through_the_reader(wire, whole[:at] + whole[at + 1 :])
    assert answer.outcome != "finished" or same(
        answer.message, play(wire, GOLDEN[wire]).answer.message
    )


@pytest.mark.parametrize("wire", GOLDEN)
@pytest.mark.parametrize(
    "inside",
    [b"[]," * 600_000 + b"[]", b"[" * 2_000 + b"]" * 2_000],
    ids=["many", "deep"],
)
def test_a_frame_with_too_many_values_or_levels_is_not_parsed(
    wire: str, inside: bytes
) -> None:
    frame = b'{"type":"x","a":[' + inside + b"]}"
    decoder = decoder_for(request(wire), message_id="m1")
    assert decoder.feed(ServerEvent(frame)) == []
    assert isinstance(decoder.finish(True).error, LimitExceeded)
    assert isinstance(
        read_answer(request(wire), frame, message_id="m1").error, LimitExceeded
    )
