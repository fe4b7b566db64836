"""Any stream, cut at any byte: no error, ``dropped``, and exactly the text that was delivered."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.streams import GOLDEN, Played, play, split, sse
from ullage.messages import ReasoningPart, TextPart, ToolCallPart


def stored(played: Played) -> dict[str, str]:
    """The text of each part as it is stored."""
    texts: dict[str, str] = {}
    for part in played.parts:
        if isinstance(part, TextPart | ReasoningPart):
            texts[part.id] = part.text
        elif isinstance(part, ToolCallPart):
            texts[part.id] = part.arguments
    return texts


def shown(played: Played) -> dict[str, str]:
    texts = stored(played)
    return {part: text for part, text in played.shown().items() if text or part in texts}


@pytest.mark.parametrize("wire", GOLDEN)
def test_a_whole_stream_stores_exactly_what_it_showed(wire: str) -> None:
    played = play(wire, GOLDEN[wire])
    assert played.answer.outcome == "finished"
    assert {part: text for part, text in stored(played).items() if text} == {
        part: text for part, text in shown(played).items() if text
    }


@pytest.mark.parametrize("wire", GOLDEN)
def test_all_parts_of_a_whole_stream_are_reported_as_done(wire: str) -> None:
    played = play(wire, GOLDEN[wire])
    assert sorted(part.id for part in played.done()) == sorted(
        part.id for part in played.parts
    )
    assert {part.id: part for part in played.done()} == {
        part.id: part for part in played.parts
    }


@pytest.mark.parametrize("wire", GOLDEN)
@given(st.data())
def test_a_stream_cut_at_any_byte_is_dropped_with_the_text_delivered(
    wire: str, data: st.DataObject
) -> None:
    whole = sse(GOLDEN[wire])
    at = data.draw(st.integers(0, len(whole) - 2))
    played = play(wire, split(whole[:at]), complete=False)
    assert played.answer.outcome == "dropped"
    assert played.answer.stop == ""
    assert not played.answer.usage.final
    assert {part: text for part, text in stored(played).items() if text} == {
        part: text for part, text in shown(played).items() if text
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("wire", GOLDEN)
@given(st.data())
def test_no_value_in_the_place_of_another_makes_it_raise(
    wire: str, data: st.DataObject
) -> None:
    events = [event for event in GOLDEN[wire] if isinstance(event, str)]
    at = data.draw(st.integers(0, len(events) - 1))
    value = json.loads(events[at])
    holder, key = value, data.draw(st.sampled_from(sorted(value)))
    while isinstance(holder[key], dict) and holder[key] and data.draw(st.booleans()):
        holder = holder[key]
        key = data.draw(st.sampled_from(sorted(holder)))
    holder[key] = data.draw(JSON)
    play(wire, [*events[:at], value, *events[at + 1 :]])
