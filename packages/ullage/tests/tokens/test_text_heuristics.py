import pytest

from ullage.tokens.text import GeminiCliCounter, QuarterCounter


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1), ("a" * 10, 2), ("a" * 400, 100)]
)
def test_a_quarter_of_the_characters_is_rounded_per_text(text: str, tokens: int) -> None:
    assert QuarterCounter().count(text, "o200k") == tokens


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1.0), ("漢字", 2.6), ("ab漢", 1.8)]
)
def test_gemini_cli_weighs_ascii_and_other_characters_apart(
    text: str, tokens: float
) -> None:
    assert GeminiCliCounter().count(text, "o200k") == pytest.approx(tokens)
