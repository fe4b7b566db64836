import pytest

import ullage.importers.fields as f


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
def test_what_strict_json_refuses_is_read(line: bytes, value: object) -> None:
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
    ) == (1.0, None, None, None)
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
