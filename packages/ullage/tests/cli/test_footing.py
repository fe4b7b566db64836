import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.readings import GROWN, NO_CALL_YET, QUARTER_FULL, SPEND, reading, steps
from ullage.cli.footing import footing, sparkline, usage_items
from ullage.display.glyphs import ASCII, UNICODE
from ullage.display.text import dollars, plain
from ullage.meter.reading import Accuracy, Reading
from ullage.meter.spend import Money, Spend
from ullage.meter.track import Step
from ullage.usage import UsageSum


def text(
    of: Reading,
    calls: tuple[Step, ...] = (),
    skipped: tuple[str, ...] = (),
    width: int = 100,
) -> str:
    return "\n".join(plain(line) for line in footing(of, calls, skipped, width, UNICODE))


def test_nothing_known_is_nothing_said() -> None:
    assert text(NO_CALL_YET) == ""


def test_an_interval_that_misses_too_often_is_said() -> None:
    bad = Accuracy(
        estimated=9,
        actual=10,
        error=-1,
        error_percent=-10.0,
        median_error_percent=9.0,
        calls=40,
        inside=30,
    )
    assert "10 of them outside their interval" in text(reading(accuracy=bad))
    assert "outside" not in text(QUARTER_FULL)


def test_a_kind_that_some_calls_reported_is_a_lower_bound() -> None:
    total = UsageSum(
        calls=2,
        input=10,
        output=4,
        unsaid={"output": 1, "cache_read": 2, "cache_write": 2, "reasoning": 2},
    )
    assert usage_items(total) == ["input 10", "output at least 4"]


def test_money_that_leaves_calls_out_says_so() -> None:
    spend = Spend(
        by_purpose=SPEND.by_purpose, money=Money(usd=2.5, priced=30, unpriced=9)
    )
    assert "about $2.50 at list prices without 9 unpriced calls" in text(
        reading(spend=spend), width=200
    )


@pytest.mark.parametrize(
    ("usd", "said"), [(0, "$0.00"), (0.0109, "$0.0109"), (1_234.5, "$1,234.50")]
)
def test_money_is_in_cents_or_finer(usd: float, said: str) -> None:
    assert dollars(usd) == said


def test_growth_is_drawn_from_the_second_call_on() -> None:
    assert "Growth" not in text(QUARTER_FULL, steps(1_000))
    assert "Growth    ▄█  1,000 to 2,000" in text(
        reading(compactions=0), steps(1_000, 2_000)
    )


def test_compactions_are_counted_even_where_no_call_shows_them() -> None:
    assert "Compacted twice" in text(reading(compactions=2))
    assert "▼ compacted once" in text(QUARTER_FULL, GROWN)


def test_notes_and_skipped_lines_wrap_under_their_label() -> None:
    lines = text(
        reading(notes=("a word " * 30,)), skipped=("3 lines",), width=60
    ).splitlines()
    assert "Skipped   3 lines" in lines
    assert all(len(line) <= 60 for line in lines)
    notes = [line for line in lines if "a word" in line]
    assert notes[0].startswith("Note      a word")
    assert len(notes) == 5
    assert all(line.startswith(" " * 10) and line[10] != " " for line in notes[1:])


def test_one_column_for_each_call_and_marks_below_them() -> None:
    growth = sparkline(
        steps(10, 20, 30, 40, 8, 16, compacted=(5,), pruned=(6,)), 60, UNICODE
    )
    assert growth.line == "▂▄▆█▂▄"
    assert growth.marks == "    ▼▽"


def test_with_more_calls_than_columns_the_highest_and_all_marks_stay() -> None:
    growth = sparkline(steps(*range(1, 101), compacted=(50,)), 10, ASCII)
    assert len(growth.line) == 10
    assert growth.marks == "    v     "
    assert growth.line[-1] == ASCII.levels[-1]


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=300), st.integers(1, 80))
def test_the_line_is_as_long_as_its_marks(tokens: list[int], width: int) -> None:
    growth = sparkline(steps(*tokens), width, UNICODE)
    assert len(growth.line) == len(growth.marks) == min(width, len(tokens))


def test_dots_stay_between_items_where_one_is_too_long_for_a_narrow_display() -> None:
    lines = text(QUARTER_FULL, width=36).splitlines()
    assert "          them · input 1,213,000" in lines
