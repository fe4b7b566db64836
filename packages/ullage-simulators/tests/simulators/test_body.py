import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage_simulators.wire import BadBody, parse


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5
    )
)
def test_every_json_value_is_read(value: object) -> None:
    assert parse(json.dumps(value).encode()) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'"\\ud83d"', "no low surrogate in string"),
        (b'"\\ud83d\\ud83d"', "no low surrogate in string"),
        (b'"\\ud83dx\\ude00"', "no low surrogate in string"),
        (b'"\\ude00"', "invalid high surrogate in string"),
        (b'"\xff"', "not valid UTF-8"),
        (b"{", "line 1 column 2"),
        (b"NaN", "unexpected"),
        (b"", "line 1 column 1"),
    ],
)
def test_a_bad_body_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(BadBody, match=says):
        parse(body)


def test_a_pair_of_surrogates_and_an_escaped_backslash_are_fine() -> None:
    assert parse(b'"\\ud83d\\ude00 \\\\ud83d"') == "😀 \\ud83d"
