"""Depth and number of values of foreign JSON, told from its text."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.bounds import TOO_DEEP, TOO_MANY, json_excess, value_excess
from ullage.envelope import JSON_DEPTH

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(alphabet='[]{},"\\ab\n')
    | st.floats(allow_nan=False)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text('[{"\\,'), inner),
    max_leaves=20,
)
OPENINGS = st.sampled_from(["[", '{"a":', '[1,"]",', '{"[":"\\"{","b":'])
CLOSING = {"[": "]", "{": "}"}


def nested(openings: list[str], leaf: str = "0") -> str:
    return (
        "".join(openings)
        + leaf
        + "".join(CLOSING[each[0]] for each in reversed(openings))
    )


@given(VALUES)
def test_a_value_of_few_levels_is_within_whatever_its_strings_hold(value: object) -> None:
    padding = " " * JSON_DEPTH + "[" * JSON_DEPTH  # so that the text is looked at closely
    assert json_excess(json.dumps([value, padding])) == ""
    assert json_excess(json.dumps([value, padding], ensure_ascii=False).encode()) == ""


@given(st.lists(OPENINGS, min_size=JSON_DEPTH - 3, max_size=JSON_DEPTH + 3))
def test_the_levels_are_counted_exactly(openings: list[str]) -> None:
    text = nested(openings)
    json.loads(text)
    expected = TOO_DEEP if len(openings) > JSON_DEPTH else ""
    excess = json_excess(msgspec.Raw(text.encode()))
    assert json_excess(text) == json_excess(text.encode()) == excess == expected
    assert value_excess(json.loads(text)) == expected


@pytest.mark.parametrize("levels", [201, 800, 5_000, 200_000, 1_000_000])
@pytest.mark.parametrize("opening", ["[", '{"a":', '[0,"\\"",'])
def test_any_depth_is_told_with_and_without_its_end(levels: int, opening: str) -> None:
    assert json_excess(opening * levels, values=10**9) == TOO_DEEP
    assert json_excess(nested([opening] * levels), values=10**9) == TOO_DEEP


def test_too_many_values_are_told_before_they_take_memory() -> None:
    assert json_excess("[" + "[]," * 1_000 + "0]", values=1_000) == TOO_MANY
    assert json_excess("[" + "[]," * 400 + "0]", values=1_000) == ""
    assert json_excess(json.dumps([",[{" * 1_000]), values=1_000) == ""


def test_a_string_without_an_end_hides_nothing_before_it() -> None:
    assert json_excess("[" * 200 + '"' + "]" * 200) == TOO_DEEP
    assert json_excess('"' + "[" * 200) == ""


def test_a_value_that_holds_itself_is_too_deep_and_one_that_is_shared_is_not() -> None:
    circle: list[object] = []
    circle.append(circle)
    assert value_excess(circle) == TOO_DEEP
    shared: object = "leaf"
    for _ in range(90):
        shared = [shared, shared]  # 2 to the power of 90 ways to the leaf
    assert value_excess(shared) == ""
