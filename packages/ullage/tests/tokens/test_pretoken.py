import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.policy import PRETOKEN_CHUNK
from ullage.tokens.pretoken import PretokenCounter, classify, pieces
from ullage.tokens.weights import PRETOKEN

ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""Any string Python can hold, lone surrogates included."""


@given(ANY_TEXT)
def test_no_character_is_lost_or_made_up(text: str) -> None:
    assert "".join(pieces(text)) == text


@given(ANY_TEXT)
def test_every_piece_has_a_class_that_some_table_knows_or_the_default_takes(
    text: str,
) -> None:
    counter = PretokenCounter()
    for vocabulary in PRETOKEN:
        tokens = counter.count(text, vocabulary)
        assert tokens >= 0
        assert (tokens == 0) == (text == "")


@pytest.mark.parametrize(
    ("piece", "kind"),
    [
        (" hello", "_w5"),
        ("hello", "w5"),
        (".hello", ".w5"),
        (" Hello", "_U5"),
        ("HTTP", "X4"),
        ("HTTPServer", "M10"),
        (" don't", "_q"),
        ("123", "d3"),
        ('":', "p2"),
        (" {", "_p1"),
        ("};\n", "p2n"),
        ("========", "pr"),
        ("\n", "nl1"),
        ("\n\n", "nl2"),
        (" \n", "nlw"),
        ("    ", "sp4"),
        ("\t\t", "tab2"),
        ("é", "nL"),
        ("я", "nC"),
        ("漢", "nH"),
        ("→", "nA"),
        ("\U0001f600", "nE"),
        ("\ud800", "nX"),
    ],
)
def test_a_piece_is_named_by_what_it_is_made_of(piece: str, kind: str) -> None:
    assert classify(piece) == kind


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The quick brown fox jumps over the lazy dog.", 10),
        ('{"location": "Florence, Italy"}', 9),
        ("import os\nimport sys\n\nprint(os.path.join('a', 'b'))\n", 19),
    ],
)
def test_ordinary_text_comes_out_near_the_tokenizers_count(
    text: str, tokens: int
) -> None:
    assert PretokenCounter().count(text, "o200k") == pytest.approx(tokens, rel=0.15)


def test_digits_cost_one_token_each_where_a_vocabulary_has_no_longer_numbers() -> None:
    counter = PretokenCounter()
    assert counter.count("123456", "o200k") == pytest.approx(2)
    assert counter.count("123456", "digits") == pytest.approx(6)


def test_a_vocabulary_that_is_not_in_the_table_is_counted_as_o200k() -> None:
    counter = PretokenCounter()
    assert counter.count("some text", "nobody's") == counter.count("some text", "o200k")


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        "=" * 300_000,
        " " * 300_000,
        "\n" * 300_000,
        "漢" * 100_000,
        "1" * 300_000,
    ],
)
def test_one_endless_run_costs_by_its_length(text: str) -> None:
    counter = PretokenCounter()
    count = counter.count(text[: len(text) // 2], "o200k")
    half, whole = (count, counter.count(text, "o200k"))
    assert whole == pytest.approx(2 * half, rel=0.01)
    assert max(map(len, pieces(text[:1000]))) <= 88


def test_long_text_is_counted_in_chunks_that_hardly_change_the_count() -> None:
    text = "def f(x):\n    return x + 1\n" * (3 * PRETOKEN_CHUNK // 27)
    once = PretokenCounter().count("def f(x):\n    return x + 1\n" * 4, "o200k") / 4
    assert PretokenCounter().count(text, "o200k") == pytest.approx(
        once * (3 * PRETOKEN_CHUNK // 27), rel=0.001
    )


def test_what_is_remembered_is_bounded() -> None:
    counter = PretokenCounter()
    counter.count(" ".join(f"w{number:x}q" for number in range(200_000)), "o200k")
    assert sum(sys.getsizeof(memo) for memo in counter._memos.values()) < 10_000_000
