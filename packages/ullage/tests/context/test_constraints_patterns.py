import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.rule_sentences import SENTENCES
from ullage.context.constraints import _alternatives, kind_of
from ullage.context.rule_words import (
    ARABIC,
    CYRILLIC,
    DEVANAGARI,
    LATIN,
    UNSPACED,
    Language,
)

ALL = (*LATIN, *CYRILLIC, *DEVANAGARI, *ARABIC, *UNSPACED)
ROWS = [
    pytest.param(text, kind, id=f"{language}: {text}")
    for language, of in SENTENCES.items()
    for kind, texts in (("standing", of.standing), ("once", of.once), (None, of.none))
    for text in texts
]
WORDS = sorted(
    {
        word
        for of in SENTENCES.values()
        for texts in of
        for text in texts
        for word in text.split()
    }
)


@pytest.mark.parametrize(("text", "kind"), ROWS)
def test_sentences_of_each_language_are_known(text: str, kind: str | None) -> None:
    assert kind_of(text) == kind
    assert kind_of(unicodedata.normalize("NFD", text)) == kind, "as some systems write it"


@pytest.mark.parametrize("language", ALL, ids=lambda language: language.name)
def test_each_word_begins_with_a_letter_and_is_bounded(language: Language) -> None:
    for pattern in (language.standing, language.once, language.labels, language.endings):
        assert all(word.removeprefix("^")[0].isalpha() for word in _alternatives(pattern))
        rest = (
            pattern.replace(r"(?=\W*$)", "").replace(r"\w{2,}", "").replace(r"\w{3,}", "")
        )
        rest = re.sub(r"\\w[*+]", "", rest)
        assert not re.search(r"[*+]|,\}", rest), "a search that tries again and again"
        assert not re.search(r"\w[*+]\)[*+]|\w[*+]\\w", pattern.replace("\\w", "w"))


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    st.sampled_from(["", " ", "! ", "\n"]),
)
def test_a_long_text_of_the_same_words_ends(words: str, between: str) -> None:
    text = (words + between) * (100_000 // (len(words) + len(between)))
    assert kind_of(text) in ("standing", "once", None)


@given(
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join) | st.text(max_size=500)
)
def test_any_text_is_read_and_its_case_does_not_matter(text: str) -> None:
    kind = kind_of(text)
    assert kind in ("standing", "once", None)
    if text.isascii():
        assert kind_of(text.upper()) == kind
