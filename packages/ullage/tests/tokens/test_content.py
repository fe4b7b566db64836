import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.content import (
    argument_tokens,
    is_exact,
    result_tokens,
    text_tokens,
)
from ullage.tokens.families import PLAIN, family_for
from ullage.tokens.text import counter_for

BY_LENGTH = counter_for(lambda text: float(len(text)))
CLAUDE = family_for("messages", "anthropic", "claude-sonnet-4-5")
GPT = family_for("chat", "openai", "gpt-4o")
VERTEX = family_for("generateContent", "vertex", "gemini-3-flash-preview")


def test_no_text_is_no_token() -> None:
    assert text_tokens("abc", CLAUDE, counter_for(lambda _: 5.0)) == 5
    assert text_tokens("", CLAUDE, counter_for(lambda _: 5.0)) == 0


@pytest.mark.parametrize(
    ("model", "exact_with"),
    [
        ("claude-sonnet-4-5", {"bpe", "pretoken"}),
        ("claude-v2", set()),
        ("gpt-4o", {"bpe"}),
        ("qwen3-32b", {"bpe"}),
        ("qwen3.6", set()),
        ("grok-4", set()),
    ],
)
def test_text_is_exact_where_the_counter_has_the_models_own_vocabulary(
    model: str, exact_with: set[str]
) -> None:
    family = family_for("chat", "someone", model)
    names = ("bpe", "pretoken", "quarter", "gemini-cli")
    assert {name for name in names if is_exact(family, counter_for(name))} == exact_with
    assert not is_exact(family, BY_LENGTH)


def test_claudes_arguments_are_counted_as_values_and_gpts_as_json() -> None:
    arguments = '{"path":"a.py","text":"x\\ny"}'
    expected = (len("path") + len("a.py") + len("text") + len("x\ny"), 2)
    assert argument_tokens(arguments, CLAUDE, BY_LENGTH) == expected
    assert argument_tokens(arguments, GPT, BY_LENGTH) == (len(arguments), 0)


@pytest.mark.parametrize("arguments", ["", "not json", "[1, 2]", '{"torn": ', "\ud800"])
def test_arguments_that_are_no_object_are_counted_as_text(arguments: str) -> None:
    assert argument_tokens(arguments, CLAUDE, BY_LENGTH) == (len(arguments), 0)


def test_vertex_charges_keys_and_values_of_a_json_result() -> None:
    text = '{"city":"Oslo","days":[1,2]}'
    expected = (
        len("city")
        + len("days")
        + VERTEX.framing.leaves * (len("Oslo") + len("1") + len("2"))
    )
    assert result_tokens(text, VERTEX, BY_LENGTH) == pytest.approx(expected)
    assert result_tokens("plain", VERTEX, BY_LENGTH) == 5
    assert result_tokens("{torn", VERTEX, BY_LENGTH) == 5


def test_a_result_without_text_costs_what_stands_in_its_place() -> None:
    assert result_tokens("", CLAUDE, BY_LENGTH) == CLAUDE.framing.empty > 0
    assert result_tokens("", PLAIN, BY_LENGTH) == 0


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_raises_for_what_a_tool_may_be_given_or_return(text: str) -> None:
    for family in (CLAUDE, GPT, VERTEX):
        assert result_tokens(text, family, BY_LENGTH) >= 0
        assert argument_tokens(text, family, BY_LENGTH).tokens >= 0


def test_a_deeply_nested_result_is_still_counted() -> None:
    deep = '{"a":' * 3000 + "1" + "}" * 3000
    assert result_tokens(deep, VERTEX, BY_LENGTH) > 0
