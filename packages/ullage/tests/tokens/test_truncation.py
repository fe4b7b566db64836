import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.truncation import head_of, tail_of, whole_characters


def length(text: str) -> float:
    return float(len(text))


@given(st.text(max_size=300), st.integers(0, 300))
def test_the_ends_of_a_text_fit(text: str, size: int) -> None:
    head, tail = head_of(text, size, length), tail_of(text, size, length)
    assert text.startswith(head) and text.endswith(tail)
    assert len(head) <= size and len(tail) <= size


def test_a_cut_is_between_lines_where_one_ends_nearby() -> None:
    text = "".join(f"line {number:04}\n" for number in range(2000))
    assert head_of(text, 5_005, length).endswith("\n")
    assert tail_of(text, 5_005, length).startswith("line ")


@given(st.text(max_size=30), st.integers(0, 60))
def test_bytes_cut_anywhere_give_whole_characters(text: str, at: int) -> None:
    data = text.encode()
    head, tail = (
        whole_characters(data[:at], cut="end"),
        whole_characters(data[at:], cut="start"),
    )
    assert text.startswith(head.decode())
    assert text.endswith(tail.decode())
    assert len(data) - len(head) - len(tail) <= 4


@pytest.mark.parametrize("cut", ["start", "end"])
@given(data=st.binary(max_size=12))
def test_bytes_that_are_no_text_lose_at_most_three(cut: str, data: bytes) -> None:
    assert len(data) - len(whole_characters(data, cut=cut)) <= 3  # type: ignore[arg-type]
