import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.importers.documents import read_document
from ullage.importers.fields import Unusable


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
def test_of_a_value_that_is_cut_short_the_complete_elements_are_read(torn: bytes, complete: object) -> None:
    assert read_document(torn) == (complete, True)


@pytest.mark.parametrize("data", [b"", b"text", b'"half', b"{", b'{"a"', b"}{"])
def test_what_has_no_complete_element_is_unusable(data: bytes) -> None:
    with pytest.raises(Unusable, match="torn"):
        read_document(data)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(value=st.lists(values, min_size=1, max_size=6), share=st.floats(0, 1))
def test_whole_elements_before_a_cut_are_never_lost_or_altered(value: list[object], share: float) -> None:
    data = json.dumps(value, indent=1).encode()
    cut = data[: round(share * len(data))]
    whole = sum(1 for at in range(len(value)) if json.dumps(value[: at + 1], indent=1).encode()[:-2] + b"," in cut)
    try:
        found = read_document(cut).value
    except Unusable:
        assert whole == 0
    else:
        assert found[:whole] == value[:whole]
