from hypothesis import given
from hypothesis import strategies as st

from tests.context.sessions import fold_of, turns, words
from tests.meter.session import said
from ullage.context.situation import Situation
from ullage.context.summary import pieces_of
from ullage.messages import Message, TextPart


@given(
    st.integers(0, 60),
    st.sampled_from((5, 60, 3_000)),
    st.integers(300, 6_000),
    st.integers(1, 6),
)
def test_pieces_cover_all_once(count: int, size: int, room: int, most: int) -> None:
    messages = turns(count, size=size)
    situation = Situation(fold=fold_of(*messages))
    pieces = pieces_of(situation, messages, room=room, most=most)
    assert len(pieces) <= most
    assert all(situation.count(piece.text) <= room for piece in pieces)
    assert [name for piece in pieces for name in piece.ids] == [
        message.id for message in messages
    ]


def test_one_huge_message_is_shown_as_an_excerpt_and_small_ones_whole() -> None:
    messages = [said("huge", words(20_000)), said("small", "the gauge reads full")]
    situation = Situation(fold=fold_of(*messages))
    text = "".join(
        piece.text for piece in pieces_of(situation, messages, room=1_000, most=2)
    )
    assert "characters are left out" in text and "the gauge reads full" in text


def test_dense_text_is_counted_and_not_guessed() -> None:
    messages = [said(f"u{n}", "樽の中身を測る" * 200) for n in range(10)]
    situation = Situation(fold=fold_of(*messages))
    assert all(
        situation.count(piece.text) <= 900
        for piece in pieces_of(situation, messages, room=900, most=3)
    )


def test_earlier_summaries_are_no_part_of_the_pieces() -> None:
    summary = Message(
        id="s", role="user", origin="summary", parts=(TextPart(id="s.1", text="earlier"),)
    )
    situation = Situation(fold=fold_of(summary))
    assert pieces_of(situation, (summary,), room=500, most=2) == ()
