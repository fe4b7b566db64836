"""The answer of a ``Provider`` becomes the events and the answer that a wire's decoder would give."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec
import pytest

from ullage.codec.pieces import PieceReader
from ullage.codec.stream import (
    Answer,
    CallDelta,
    PartDone,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    UsageSeen,
)
from ullage.errors import LimitExceeded, Unreachable, WrongType
from ullage.messages import (
    ProviderData,
    ReasoningPart,
    Request,
    Stopped,
    TextPart,
    ToolCallPart,
)
from ullage.provider import AnswerPiece
from ullage.usage import Usage

REQUEST = Request(wire="python", provider="own", model="m")


def read(
    *pieces: AnswerPiece, max_output: int | None = None
) -> tuple[list[StreamEvent], Answer]:
    reader = PieceReader(REQUEST, message_id="m1", call="c1", max_output=max_output)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [*events, *reader.end()], reader.answer()


def texts(answer: Answer) -> Sequence[object]:
    return [
        (type(part).__name__, getattr(part, "text", "") or getattr(part, "arguments", ""))
        for part in answer.message.parts
    ]


def test_text_in_pieces_is_one_part() -> None:
    events, answer = read("The ", "hall.")
    part = TextPart(id="m1.1", text="The hall.")
    assert events == [
        TextDelta("m1.1", "The "),
        TextDelta("m1.1", "hall."),
        PartDone(part),
    ]
    assert answer.message.parts == (part,)
    assert (answer.outcome, answer.stop, answer.usage) == ("finished", "stop", Usage())


def test_reasoning_streams_and_ends_where_the_text_begins() -> None:
    events, answer = read(
        ReasoningPart(id="r", text="Let "), ReasoningPart(id="r", text="me."), "Yes."
    )
    assert [type(event) for event in events] == [
        ReasoningDelta,
        ReasoningDelta,
        PartDone,
        TextDelta,
        PartDone,
    ]
    assert texts(answer) == [("ReasoningPart", "Let me."), ("TextPart", "Yes.")]


def test_calls_may_grow_side_by_side() -> None:
    def call(id: str, arguments: str) -> ToolCallPart:
        return ToolCallPart(id=id, call_id=id, name="look", arguments=arguments)

    pieces = call("a", '{"x":'), call("b", "{}"), call("a", "1}")
    events, answer = read(*pieces)
    assert texts(answer) == [("ToolCallPart", '{"x":1}'), ("ToolCallPart", "{}")]
    assert answer.stop == "tool_calls"
    assert CallDelta("m1.1", "a", "look", "1}") in events


def test_a_call_without_an_id_gets_one() -> None:
    _, answer = read(ToolCallPart(id="", call_id="", name="look"))
    assert cast(ToolCallPart, answer.message.parts[0]).call_id == "~m1.1"


def test_data_of_the_provider_is_kept_with_its_origin() -> None:
    data = ProviderData(data=msgspec.Raw(b'{"signature":"s"}'))
    _, answer = read(ReasoningPart(id="r", text="So.", provider=data), "Yes.")
    kept = cast(ReasoningPart, answer.message.parts[0]).provider
    assert kept == ProviderData(data=data.data, provider="own", wire="python", model="m")


def test_the_last_usage_counts_and_comes_after_the_first_piece() -> None:
    events, answer = read(Usage(input=5), "Yes.", Usage(input=5, output=2))
    assert answer.usage == Usage(input=5, output=2)
    seen = [event for event in events if isinstance(event, UsageSeen)]
    assert seen == [UsageSeen(Usage(input=5)), UsageSeen(Usage(input=5, output=2))]
    assert isinstance(events[0], UsageSeen)


def test_an_answer_says_why_it_stopped() -> None:
    assert read("The", Stopped("length"))[1].stop == "length"


def test_an_answer_that_broke_off_is_dropped_and_its_usage_not_final() -> None:
    reader = PieceReader(REQUEST, message_id="m1", call="c1", max_output=None)
    reader.feed("The ")
    reader.feed(Usage(input=5))
    problem = Unreachable("Gone.")
    answer = reader.answer(problem)
    assert (answer.outcome, answer.error) == ("dropped", problem)
    assert answer.usage == Usage(input=5, final=False)
    assert texts(answer) == [("TextPart", "The ")]


def test_an_answer_without_end_is_stopped() -> None:
    _, answer = read(*["x" * 100_000] * 20, max_output=10)
    assert isinstance(answer.error, LimitExceeded)
    assert answer.outcome == "dropped"


@pytest.mark.parametrize(
    "piece", [None, 3, b"x", Usage(input=-1), Usage(output=cast(Any, 1.5))]
)
def test_other_objects_are_refused(piece: Any) -> None:
    with pytest.raises(WrongType, match="The provider"):
        read(piece)
