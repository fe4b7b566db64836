import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.display.text import (
    Span,
    cells,
    counted,
    fine_percent,
    flowed,
    json_text,
    number,
    padded,
    percent,
    plain,
    printable,
    quoted,
    shortened,
    signed_percent,
    wrapped,
)


@given(st.text())
def test_nothing_that_is_printed_can_move_the_cursor_or_set_a_colour(text: str) -> None:
    safe = printable(text)
    assert safe.isprintable()
    assert "\x1b" not in safe


def test_an_escape_sequence_in_a_title_becomes_harmless() -> None:
    assert printable("a\x1b[31mred\x07\r\nnext\ttab") == "a [31mred next tab"


def test_text_that_would_reverse_the_line_loses_the_mark_that_does_it() -> None:
    assert printable("read\u202egpj.exe") == "read gpj.exe"


def test_lone_surrogates_do_not_reach_the_stream() -> None:
    assert printable("x\ud800y").encode() == b"x y"


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("é", 1), ("é", 1), ("", 0)]
)
def test_width_is_counted_in_cells(text: str, width: int) -> None:
    assert cells(text) == width


@given(st.text(st.characters(categories=["L", "N"])), st.integers(2, 30))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert cells(shortened(text, width)) <= max(width, 1)


def test_shortened_text_shows_that_it_was_cut() -> None:
    assert shortened("context window", 9) == "context…"
    assert shortened("window", 9) == "window"
    assert shortened("日本語日本語", 5) == "日本…"


def test_padding_counts_wide_characters_twice() -> None:
    assert padded("日本", 6) == "日本  "
    assert padded("12", 5, right=True) == "   12"


def test_items_flow_onto_a_new_line_where_the_next_does_not_fit() -> None:
    items = [(Span(word),) for word in ("one", "two", "three")]
    lines = [plain(line) for line in flowed(items, 12, first="> ", indent="  ")]
    assert lines == ["> one · two", "  three"]


def test_an_item_longer_than_the_line_stays_whole() -> None:
    lines = flowed([(Span("x" * 30),), (Span("y"),)], 10)
    assert [plain(line) for line in lines] == ["x" * 30, "y"]


@given(
    st.lists(
        st.text(st.characters(categories=["L"]), min_size=1, max_size=12), min_size=1
    ),
    st.integers(12, 40),
)
def test_wrapping_loses_no_word_and_keeps_to_the_width(
    words: list[str], width: int
) -> None:
    lines = wrapped(" ".join(words), width)
    assert " ".join(lines).split(" ") == words
    assert all(cells(line) <= width or " " not in line for line in lines)


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (52_100, 200_000, "26 %"),
        (0, 200_000, "0 %"),
        (10, 200_000, "<1 %"),
        (230_000, 200_000, "115 %"),
        (5, 0, "0 %"),
        (199_999, 200_000, "100 %"),
    ],
)
def test_a_share_is_in_whole_percent_and_something_is_never_nothing(
    part: int, whole: int, said: str
) -> None:
    assert percent(part, whole) == said


def test_numbers_set_thousands_apart_and_nouns_agree() -> None:
    assert number(1_204_000) == "1,204,000"
    assert counted(1, "call") == "1 call"
    assert counted(38, "call") == "38 calls"
    assert counted(2, "entry", "entries") == "2 entries"
    assert signed_percent(0.1) == "+0.1 %"
    assert signed_percent(-0.42) == "-0.4 %"
    assert signed_percent(-0.03) == "-0.03 %"
    assert signed_percent(-0.0) == signed_percent(0.001) == fine_percent(0) == "0.0 %"
    assert fine_percent(0.034) == "0.03 %"
    assert fine_percent(4227.3) == "4,227.3 %"


def test_json_for_a_program_steers_no_terminal_and_says_the_same() -> None:
    said = "a\x1b[31m\x7f\x9b31m\u202egnp\u2028\u2066 ü 🔥"
    shown = json_text(msgspec.json.encode({said: said}))
    assert not set("\x1b\x7f\x9b\u202e\u2028\u2066") & set(shown)
    assert msgspec.json.decode(shown) == {said: said}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("cask", "'cask'"),
        ("a\udcffb\x1b[2J", r"'a\udcffb\x1b[2J'"),
        (5, "5"),
        ("x" * 1_000_000, "'" + "x" * 56 + "..."),
        (["x" * 100], "['" + "x" * 55 + "..."),
    ],
)
def test_a_quoted_value_is_short_and_can_be_printed(value: object, written: str) -> None:
    assert quoted(value) == written
