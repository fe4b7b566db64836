import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.runtime.toml_lines import LONGEST, is_too_deep, line_of

TEXT = '''# model = "not this"
system = """
model = "nor this"
"""

model = "this"
tools = [
  "a",
]
[mcp."a b"]
env.X = "1"
'''


def test_a_key_is_found_where_it_begins() -> None:
    assert line_of(TEXT, ["system"]) == 2
    assert line_of(TEXT, ["model"]) == 6
    assert line_of(TEXT, ["tools"]) == 7
    assert line_of(TEXT, ["mcp", "a b"]) == 10
    assert line_of(TEXT, ["mcp", "a b", "env", "X"]) == 11


def test_what_is_not_there_has_no_line() -> None:
    assert line_of(TEXT, ["window"]) is None
    assert line_of(TEXT, ["model", "deeper"]) is None
    assert line_of("a = 1\n" + "#\n" * LONGEST, ["a"]) is None


NESTED = st.recursive(
    st.sampled_from(['"[[{"', "'}}]'", "1", '"""\n[["""']),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda each: f"[{', '.join(each)}]")
        | inner.map(lambda one: "{a = " + one.replace("\n", " ") + "}")
    ),
    max_leaves=12,
)


@given(NESTED)
def test_a_text_is_as_deep_as_its_value(text: str) -> None:
    def depth(value: object) -> int:
        inner = (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, list)
            else None
        )
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    deep = depth(tomllib.loads(f"a = {text}")["a"])
    assert not is_too_deep(f"a = {text}", deep)
    assert deep == 0 or is_too_deep(f"a = {text}", deep - 1)


def test_brackets_in_strings_and_comments_nest_nothing() -> None:
    inside = "[" * 5_000
    quotes = ('"', "'", '"""', "'''")
    for text in (*(f"a = {quote}{inside}{quote}" for quote in quotes), f"# {inside}"):
        assert not is_too_deep(text)
    assert is_too_deep(f"a = {inside}") and is_too_deep("a = " + "{b = " * 60)


@pytest.mark.parametrize("unit", ['"""\\', "'''", '"\\', "'", "#", "[", '"""'])
def test_a_text_of_quotes_is_gone_through_once(unit: str) -> None:
    assert is_too_deep(unit * 80_000) is (unit == "[")
