from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.cli.readings import steps
from ullage.cli.growth import size_of, sparkline
from ullage.display.glyphs import ASCII, UNICODE


def test_one_column_for_each_call_and_marks_below_them() -> None:
    growth = sparkline(steps(10, 20, 30, 40, 8, 16, compacted=(5,), pruned=(6,)), 60, UNICODE)
    assert growth.line == "▂▄▆█▂▄"
    assert growth.marks == "    ▼▽"


def test_more_calls_than_columns_show_the_highest_of_their_neighbours_and_lose_no_mark() -> None:
    growth = sparkline(steps(*range(1, 101), compacted=(50,)), 10, ASCII)
    assert len(growth.line) == 10
    assert growth.marks == "    v     "
    assert growth.line[-1] == ASCII.levels[-1]


def test_a_call_without_an_actual_is_drawn_by_its_estimate() -> None:
    step = replace(steps(500)[0], actual=None)
    assert size_of(step) == 510


def test_no_calls_are_an_empty_line() -> None:
    assert sparkline((), 60, UNICODE).line == ""


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=300), st.integers(1, 80))
def test_the_line_never_exceeds_its_width_and_marks_are_as_long(tokens: list[int], width: int) -> None:
    growth = sparkline(steps(*tokens), width, UNICODE)
    assert len(growth.line) == len(growth.marks) == min(width, len(tokens))
