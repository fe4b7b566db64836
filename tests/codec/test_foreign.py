from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.foreign import as_plain, parse_json, to_raw


@dataclass
class Attributes:
    shown: int
    _hidden: int = 0


class Dumps:
    def model_dump(self) -> dict[str, Any]:
        return {"inner": Attributes(1), "list": (1, 2)}


class Protobuf:
    def to_dict(self) -> dict[str, Any]:
        return {"a": 1}


def test_objects_of_any_library_become_plain() -> None:
    assert as_plain(Dumps()) == {"inner": {"shown": 1}, "list": [1, 2]}
    assert as_plain([Protobuf(), {1: Attributes(2)}, b"text"]) == [{"a": 1}, {"1": {"shown": 2}}, "text"]
    assert as_plain(3 + 4j) == "(3+4j)"


def test_a_value_nested_without_end_is_cut_and_says_so() -> None:
    value: list[Any] = []
    value.append(value)
    assert "nested deeper" in str(as_plain(value))


def test_json_nested_too_deeply_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        parse_json("[" * 100_000)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=()), max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(json_values)
def test_whatever_python_holds_can_be_kept_as_json(value: object) -> None:
    msgspec.json.decode(to_raw(value))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=8,
    )
)
def test_what_json_can_hold_is_kept_as_it_is(value: object) -> None:
    assert msgspec.json.decode(to_raw(value)) == value
