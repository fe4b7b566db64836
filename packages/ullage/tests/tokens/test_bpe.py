from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case
from ullage.tokens import bpe
from ullage.tokens.bpe import BpeCounter
from ullage.tokens.weights import ENCODING


def test_what_is_installed_with_the_tests_is_found() -> None:
    assert bpe.is_available()


@pytest.fixture(scope="module")
def counter() -> BpeCounter:
    return BpeCounter()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("tiktoken is great!", 6), ("a" * 8, 1)],
)
def test_text_counts_as_openais_tokenizer_counts_it(
    counter: BpeCounter, text: str, tokens: int
) -> None:
    assert counter.count(text, "o200k") == tokens


def test_each_vocabulary_is_counted_with_its_own_tokenizer(counter: BpeCounter) -> None:
    text = "Пример текста на русском языке"
    assert counter.count(text, "cl100k") != counter.count(text, "o200k")


COUNTED = msgspec.json.decode(Path(__file__).with_name("vocabularies.json").read_bytes())
"""Texts of many kinds with the counts of each vocabulary's own tokenizer, made by ``bench.vocabularies``."""


@pytest.mark.parametrize("vocabulary", ENCODING)
def test_a_published_vocabulary_counts_as_its_own_tokenizer_does(
    counter: BpeCounter, vocabulary: str
) -> None:
    counts = COUNTED[vocabulary]
    assert len(counts) >= 18
    for text, tokens in zip(COUNTED["texts"], counts, strict=False):
        with case(vocabulary, text[:40]):
            assert counter.count(text, vocabulary) == tokens


@pytest.mark.parametrize("vocabulary", ENCODING)
def test_a_long_run_without_a_space_is_counted(
    counter: BpeCounter, vocabulary: str
) -> None:
    for text in ("a", "\u00a0", "e\u0301"):
        with case(vocabulary, text):
            assert 0 < counter.count(text * 20_000, vocabulary) <= 160_000


@pytest.mark.parametrize("vocabulary", ENCODING)
def test_no_run_is_encoded_as_a_whole_whatever_its_length(
    counter: BpeCounter, vocabulary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Spy:
        def encode_ordinary(self, text: str) -> list[int]:
            asked.append(len(text))
            return []

    monkeypatch.setattr(bpe, "encoding", lambda _: Spy())
    counter.count("a" * 100_000, vocabulary)
    assert max(asked) <= 16_000 and sum(asked) == 100_000


def test_the_name_of_a_special_token_is_read_as_text(counter: BpeCounter) -> None:
    assert counter.count("<|im_start|>", "qwen") > 1


@given(st.text(st.characters(exclude_categories=())))
def test_any_string_can_be_counted(text: str) -> None:
    counter = BpeCounter()
    for vocabulary in ("o200k", "claude", "digits"):
        assert counter.count(text, vocabulary) >= 0


def test_a_count_with_each_digit_apart_is_a_sum_over_pieces(counter: BpeCounter) -> None:
    one, other = "print(12345)\n", "The end of the line.\n"
    both = counter.count(one + other, "digits")
    assert both == counter.count(one, "digits") + counter.count(other, "digits")


def test_claude_needs_more_tokens_than_gpt(counter: BpeCounter) -> None:
    text = (
        "def read(path):\n    with open(path) as file:\n        return file.read()\n" * 20
    )
    assert 1.05 < counter.count(text, "claude") / counter.count(text, "o200k") < 1.4


def test_digits_cost_one_token_each_where_a_vocabulary_has_no_longer_numbers(
    counter: BpeCounter,
) -> None:
    assert counter.count("2026", "o200k") == 2
    assert counter.count("2026", "digits") == 4
    assert counter.count("a12b 1234567 3.14 x", "digits") == 18


def test_a_long_text_is_cut_without_changing_its_count_noticeably(
    counter: BpeCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "All work and no play makes Jack a dull boy.\n" * 2000
    whole = counter.count(text, "o200k")
    monkeypatch.setattr(bpe, "BPE_CHUNK", 5000)
    assert counter.count(text, "o200k") == pytest.approx(whole, rel=0.0001)
