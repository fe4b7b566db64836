import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage.importers.fields as f
from ullage.envelope import JSON_VALUES, VALUE_BYTES
from ullage.importers.fields import Unusable, read_document


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\0\0\0", "NUL bytes instead of a line"),
        (b'{"a": 1', "torn: no complete JSON value"),
        (b'{"a": 1} {"b": 2}', "torn: no complete JSON value"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_line_that_is_no_json_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(f.Unusable, match=reason):
        f.decode_line(line)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"a": 1}\0\0', {"a": 1}),
        (
            b'{"text": "half \\ud83d", "id": "half \\ud83d"}',
            {"text": "half \ud83d", "id": "half \ufffd"},
        ),
        (b'{"a": NaN}', None),
        (b'"\xff"', "\ufffd"),
    ],
)
def test_what_strict_json_refuses_is_read_all_the_same(
    line: bytes, value: object
) -> None:
    found = f.decode_line(line)
    assert found == value or value is None


def test_a_value_of_the_wrong_type_is_as_good_as_absent() -> None:
    fields = {
        "a": 1,
        "b": "x",
        "c": [1, {"k": 1}, "t"],
        "d": {"e": 1},
        "t": True,
        "big": 10**400,
        "nan": float("nan"),
    }
    assert (f.text(fields, "a"), f.text(fields, "b"), f.text(fields, "z")) == (
        "",
        "x",
        "",
    )
    assert (
        f.number(fields, "a"),
        f.number(fields, "t"),
        f.number(fields, "big"),
        f.number(fields, "nan"),
    ) == (
        1.0,
        None,
        None,
        None,
    )
    assert (f.count(fields, "a"), f.count({"n": 0}, "n"), f.count({"n": -1}, "n")) == (
        1,
        None,
        None,
    )
    assert (f.mapping(fields, "d"), f.mapping(fields, "c")) == ({"e": 1}, {})
    assert (f.objects(fields, "c"), f.texts(fields, "c"), f.items(fields, "d")) == (
        [{"k": 1}],
        ["t"],
        [],
    )


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2026-02-03T10:00:00.000Z", 1770112800.0),
        (1770112800000, 1770112800.0),
        (1770112800, 1770112800.0),
        ("yesterday", 0.0),
        (-5, 0.0),
        (None, 0.0),
        (float("inf"), 0.0),
        ({}, 0.0),
    ],
)
def test_times_are_seconds_whatever_they_were(value: object, seconds: float) -> None:
    assert f.seconds(value) == seconds


def test_json_is_written_as_it_was_read() -> None:
    assert f.as_json({"b": 1, "a": "é"}) == '{"b":1,"a":"é"}'
    assert f.raw_json("\ud83d") == b'"\\ud83d"'


def test_a_whole_value_is_read_as_it_is() -> None:
    assert read_document(b' {"a": [1, 2]}\n\0\0') == ({"a": [1, 2]}, False)


@pytest.mark.parametrize(
    ("torn", "complete"),
    [
        (b'{"a": [{"b": 1}, {"c": 2}, {"d"', {"a": [{"b": 1}, {"c": 2}]}),
        (b'{"a": "x", "b": "unfini', {"a": "x"}),
        (b'[{"text": "brackets ]} inside"}, {"te', [{"text": "brackets ]} inside"}]),
        (b'{"a": 1, "b": {"c": [', {"a": 1}),
    ],
)
def test_of_a_value_that_is_cut_short_the_complete_elements_are_read(
    torn: bytes, complete: object
) -> None:
    assert read_document(torn) == (complete, True)


@pytest.mark.parametrize("data", [b"", b"text", b'"half', b"{", b'{"a"', b"}{"])
def test_what_has_no_complete_element_is_unusable(data: bytes) -> None:
    with pytest.raises(Unusable, match="torn"):
        read_document(data)


@pytest.mark.parametrize("text", [b'\\"', b"\\\\", b"\\u00e9", b"[{,", b"\xff"])
def test_brackets_and_escapes_in_a_long_string_are_passed_over(text: bytes) -> None:
    long = text * 200_000
    assert read_document(b'{"a": 1, "b": "' + long) == ({"a": 1}, True)
    whole = b'[{"a": "' + long + b'"}, {"b'
    found = read_document(whole).value
    assert isinstance(found, list) and len(found) == 1 and len(found[0]["a"]) >= 200_000


def test_a_document_may_hold_more_values_the_larger_it_is() -> None:
    count = JSON_VALUES + JSON_VALUES // 10
    many = b"[" + b"0," * count + b'"%s"]'
    with pytest.raises(Unusable, match="too many values"):
        read_document(many % b"")
    long = b"x" * VALUE_BYTES * JSON_VALUES
    assert len(read_document(many % long).value) == count + 1


values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=st.lists(values, min_size=1, max_size=6), share=st.floats(0, 1))
def test_whole_elements_before_a_cut_are_never_lost_or_altered(
    value: list[object], share: float
) -> None:
    data = json.dumps(value, indent=1).encode()
    cut = data[: round(share * len(data))]
    whole = sum(
        1
        for at in range(len(value))
        if json.dumps(value[: at + 1], indent=1).encode()[:-2] + b"," in cut
    )
    try:
        found = read_document(cut).value
    except Unusable:
        assert whole == 0
    else:
        assert found[:whole] == value[:whole]
