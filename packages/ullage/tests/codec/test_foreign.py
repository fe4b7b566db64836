import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from google.genai import types as genai
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.foreign import (
    as_plain,
    as_wire_json,
    fields_of,
    get_object,
    get_text,
    items_of,
    parse,
    parse_json,
    parse_object,
    text_of,
    to_raw,
    written,
)


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
    expected = [{"a": 1}, {"1": {"shown": 2}}, "text"]
    assert as_plain([Protobuf(), {1: Attributes(2)}, b"text"]) == expected
    assert as_plain(3 + 4j) == "(3+4j)"


def test_a_value_nested_without_end_is_cut_and_says_so() -> None:
    value: list[Any] = []
    value.append(value)
    assert "nested deeper" in str(as_plain(value))


def test_json_nested_too_deeply_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        parse_json("[" * 100_000)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=()), max_size=4), inner, max_size=3
        )
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


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": 1.0}', {"a": 1.0}),
        (b'"\\ud83d"', "\ud83d"),
        (b'"a\xff"', "a\ufffd"),
        (b'{"n": NaN}', None),
        (b"1e400", float("inf")),
        (b"", None),
        (b"{", None),
        (b"[" * 5_000, None),
    ],
)
def test_what_a_strict_reader_refuses_is_read_all_the_same(
    data: bytes, value: object
) -> None:
    found = parse(data)
    if isinstance(found, dict) and "n" in found:
        assert str(found["n"]) == "nan"
    else:
        assert found == value


@given(st.binary(max_size=40))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    parse(data)
    assert isinstance(parse_object(data), dict)
    assert isinstance(fields_of(data), dict)
    assert isinstance(items_of(data), list)


def test_values_stay_the_bytes_they_came_in() -> None:
    fields = fields_of(b'{"a": {"x":  1.50}, "b": [1, 2 ]}')
    expected = {"a": b'{"x":  1.50}', "b": b"[1, 2 ]"}
    assert {name: bytes(raw) for name, raw in fields.items()} == expected
    assert [bytes(raw) for raw in items_of(b'[{"x":  1.50}, null]')] == [
        b'{"x":  1.50}',
        b"null",
    ]


def test_fields_of_what_only_a_careful_reader_takes_are_spelt() -> None:
    fields = fields_of(b'{"a": "\\ud83d", "b": 1}')
    assert bytes(fields["b"]) == b"1"
    assert json.loads(bytes(fields["a"])) == "\\ud83d"


def test_what_is_missing_or_of_another_kind_is_empty() -> None:
    assert fields_of(None) == {}
    assert items_of(None) == []
    assert fields_of(b"[]") == {}
    assert items_of(b"{}") == []
    assert parse_object(b"1") == {}
    assert text_of({"a": msgspec.Raw(b"1")}, "a") == text_of({}, "a") == ""
    assert text_of({"a": msgspec.Raw(b'"x"')}, "a") == "x"
    held = {"a": 1, "t": "x", "o": {"y": 1}, "l": [1]}
    assert get_text(held, "a") == ""
    assert get_text(held, "t") == "x"
    assert get_text(held, "z") == ""
    assert (get_object(held, "a"), get_object(held, "o")) == ({}, {"y": 1})


def test_raw_values_inside_a_value_are_written_as_they_are() -> None:
    text = written({"a": msgspec.Raw(b'{"x":  1.50}'), "b": None})
    assert bytes(text) == b'{"a":{"x":  1.50},"b":null}'


def test_what_json_can_not_hold_is_spelt() -> None:
    expected = {"a": "\\ud83d", "b": "nan"}
    assert json.loads(bytes(written({"a": "\ud83d", "b": float("nan")}))) == expected


def test_an_sdk_object_has_the_names_of_the_wire() -> None:
    answer = genai.GenerateContentResponse(
        usage_metadata=genai.GenerateContentResponseUsageMetadata(prompt_token_count=7)
    )
    assert as_wire_json(answer) == {"usageMetadata": {"promptTokenCount": 7}}
    assert as_wire_json(Dumps()) == as_plain(Dumps())
    assert as_wire_json({"usage_metadata": 1}) == {"usage_metadata": 1}
