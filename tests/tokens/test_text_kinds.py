import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.text_kinds import KINDS, kind_tokens, summed

NAMES = [kind.name for kind in KINDS]


def largest(text: str) -> str:
    """The name of the kind that most of the text's tokens are of."""
    kinds = kind_tokens(text, 100.0)
    words = 100.0 - sum(kinds)
    if not kinds or words >= max(kinds):
        return "words"
    return NAMES[kinds.index(max(kinds))]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Seven casks, one of them empty.", "words"),
        ("El niño perdió la llave del sótano en otoño", "words"),
        ("3.14159 2653 58979", "digits"),
        ('{"a": [{"b": "c"}, {}]}', "marks"),
        ("\n\t-> = [ ] ( )", "marks"),
        ("Сколько вина осталось в бочке?", "Cyrillic, Greek"),
        ("Πόσο κρασί έμεινε;", "Cyrillic, Greek"),
        ("葡萄酒在橡木桶中陈酿。", "East Asian"),
        ("たるの中のワイン", "East Asian"),
        ("포도주가 얼마나 남았습니까", "East Asian"),
        ("كم بقي من العصير في البرميل", "Arabic, Hebrew"),
        ("כמה יין נשאר בחבית", "Arabic, Hebrew"),
        ("पीपे में कितनी शराब बची है", "other scripts"),
        ("ในถังเหลือไวน์เท่าไร", "other scripts"),
        ("\U0001f377\U0001f347", "other scripts"),
    ],
)
def test_a_text_is_of_the_kind_of_its_characters(text: str, kind: str) -> None:
    assert largest(text) == kind


def test_plain_words_are_of_no_other_kind() -> None:
    assert kind_tokens("the old cask", 3.0) == ()
    assert kind_tokens("", 0.0) == ()


@given(st.text(), st.floats(0, 1e6))
def test_whatever_the_text_its_kinds_are_no_more_than_its_tokens(
    text: str, tokens: float
) -> None:
    kinds = kind_tokens(text, tokens)
    assert len(kinds) <= len(KINDS)
    assert all(each >= 0 for each in kinds)
    assert sum(kinds) <= tokens + 0.05 * len(KINDS) + 1e-6


def test_a_lone_surrogate_is_accepted() -> None:
    assert sum(kind_tokens("\ud800", 1.0)) == pytest.approx(1.0)


def test_what_is_taken_off_again_leaves_what_was() -> None:
    assert summed((1.0,), (2.0, 3.0)) == (3.0, 3.0)
    assert summed((3.0, 3.0), (2.0, 3.0), -1) == (1.0, 0.0)
    assert summed((1.0, 2.0), ()) == (1.0, 2.0)
