from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.codec.applied_edits import MOST_EDITS, read_applied_edits
from ullage.usage import Cleared

RESULTS = {
    "type": "clear_tool_uses_20250919",
    "cleared_tool_uses": 8,
    "cleared_input_tokens": 12_300,
}
THINKING = {
    "type": "clear_thinking_20251015",
    "cleared_thinking_turns": 3,
    "cleared_input_tokens": 4_000,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_each_edit_says_what_was_cleared_and_how_many() -> None:
    assert read_applied_edits({"applied_edits": [THINKING, RESULTS]}) == (
        Cleared(tokens=4_000, content="reasoning", count=3),
        Cleared(tokens=12_300, content="tool_results", count=8),
    )


def test_an_edit_of_a_later_kind_still_says_how_many_tokens() -> None:
    later = {"type": "clear_images_20270101", "cleared_input_tokens": 90}
    assert read_applied_edits({"applied_edits": [later]}) == (Cleared(tokens=90),)


def test_an_sdks_object_is_read_as_its_json() -> None:
    reported = SimpleNamespace(applied_edits=[SimpleNamespace(**RESULTS)])
    assert read_applied_edits(reported) == read_applied_edits(
        {"applied_edits": [RESULTS]}
    )


@pytest.mark.parametrize("tokens", [None, -1, 0, 1.5, True, "12", 10**12])
def test_an_edit_without_a_usable_number_cleared_nothing(tokens: object) -> None:
    edit = {**RESULTS, "cleared_input_tokens": tokens}
    assert read_applied_edits({"applied_edits": [edit]}) == ()


def test_only_so_many_edits_are_read() -> None:
    assert len(read_applied_edits({"applied_edits": [RESULTS] * 10_000})) == MOST_EDITS


@given(JSON, JSON)
def test_nothing_that_a_server_sends_raises(whole: object, edit: object) -> None:
    read_applied_edits(whole)
    read_applied_edits({"applied_edits": edit})
    read_applied_edits({"applied_edits": [edit]})
