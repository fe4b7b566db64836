import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.text_kinds import KINDS, kind_tokens, spread_of, summed

NAMES = [kind.name for kind in KINDS]


def largest(text: str) -> str:
    """The name of the kind that most of the text's tokens are of."""
    kinds = kind_tokens(text, 100.0)
    names = 100.0 - sum(kinds)
    if not kinds or names >= max(kinds):
        return "names"
    return NAMES[kinds.index(max(kinds))]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Seven casks, one of them empty.", "sentences"),
        ("El niño perdió la llave del sótano en otoño", "sentences"),
        ("open_valve(cask_number)", "names"),
        ("პეპლის ღვინო კასრში", "other scripts"),
        ("பீப்பாயில் மது", "other Indic"),
        ("Տակառում գինի", "Armenian"),
        ("3.14159 2653 58979", "digits"),
        ('{"a": [{"b": "c"}, {}]}', "marks"),
        ("\n\t-> = [ ] ( )", "marks"),
        ("Сколько вина осталось в бочке?", "Cyrillic"),
        ("Πόσο κρασί έμεινε;", "Greek"),
        ("葡萄酒在橡木桶中陈酿。", "Han"),
        ("たるの中のワイン", "kana"),
        ("포도주가 얼마나 남았습니까", "Hangul"),
        ("كم بقي من العصير في البرميل", "Arabic"),
        ("כמה יין נשאר בחבית", "Hebrew"),
        ("पीपे में कितनी शराब बची है", "Devanagari"),
        ("ในถังเหลือไวน์เท่าไร", "Thai"),
        ("\U0001f377\U0001f347", "other scripts"),
    ],
)
def test_a_text_is_of_the_kind_of_its_characters(text: str, kind: str) -> None:
    assert largest(text) == kind


def test_words_of_sentences_are_told_from_names() -> None:
    assert kind_tokens("the old cask", 3.0) == (3.0,)
    assert kind_tokens("theOldCask", 3.0) == ()
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


def test_a_kind_of_several_languages_is_less_sure_than_one_of_a_single_language() -> None:
    sentences = kind_tokens("the old cask", 3.0)
    tamil = kind_tokens("பீப்பாயில் மது", 3.0)
    assert spread_of(()) == 0.0
    assert spread_of(sentences) < spread_of(tamil) < 3.0
