from hypothesis import given
from hypothesis import strategies as st

from ullage.messages import clean_text
from ullage.tools import long_text
from ullage.tools.long_text import PIECE, clean_pieces, encode_pieces

odd = st.text(st.sampled_from(["a", "é", "\0", "\ud83d", "\ude00", "😀", "\n"]), max_size=12)


@given(odd, st.integers(0, 12), odd)
def test_pieces_are_cleaned_as_the_whole_is(start: str, before: int, end: str) -> None:
    text = start + "x" * (PIECE - len(start) - before) + end
    assert clean_pieces(text) == clean_text(text)


def test_text_without_fault_is_the_same_object() -> None:
    text = "a" * (2 * PIECE)
    assert clean_pieces(text).text is text


@given(st.text(max_size=20), st.integers(0, 20))
def test_pieces_are_encoded_as_the_whole_is(text: str, before: int) -> None:
    whole = "ä" * (PIECE - before) + text
    assert encode_pieces(whole) == whole.encode()


def test_no_pair_of_surrogates_is_cut() -> None:
    pieces = list(long_text._pieces("a" * (PIECE - 1) + "\ud83d\ude00"))
    assert pieces[0].endswith("\ud83d\ude00")
