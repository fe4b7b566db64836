"""What holds for every session, over-full and unknown windows and odd usages included."""

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.meter.histories import histories
from tests.meter.session import result, said, usage
from tests.tiers import examples
from ullage import Meter
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    Pruned,
)
from ullage.meter.reading import Reading, Row

pytestmark = pytest.mark.slow

MANY = examples(10_000)


def fold(events: list[Event]) -> Meter:
    meter = Meter(estimator="pretoken")
    for event in events:
        meter.apply(event)
    return meter


def every(rows: tuple[Row, ...]) -> list[Row]:
    return [each for row in rows for each in (row, *every(row.children))]


def check(reading: Reading) -> None:
    used, window = reading.used, reading.window.tokens
    assert sum(row.tokens for row in reading.rows if row.summed) == used.tokens
    assert all(row.tokens >= 0 for row in every(reading.rows))
    assert 0 <= used.low <= used.tokens <= used.high
    if window is None:
        assert reading.free is None
    else:
        assert reading.free is not None
        assert used.tokens + reading.reserve + reading.free == window
    basis = reading.basis
    assert (
        used.tokens
        == (basis.last_input or 0)
        + basis.last_output
        + basis.new
        + basis.changed
        + basis.removed
    )


@pytest.mark.parametrize("part", range(8))  # of one test of two minutes
def test_rows_sum_to_used_used_reserve_and_free_to_the_window_and_no_row_is_negative(
    part: int,
) -> None:
    @seed(part)
    @settings(max_examples=max(1, MANY // 32))
    @given(histories())
    def holds(events: list[Event]) -> None:
        check(fold(events).reading())

    holds()


@settings(max_examples=MANY // 20)
@given(histories(longest=12))
def test_the_fold_of_a_prefix_is_the_prefix_of_the_fold(events: list[Event]) -> None:
    meter = Meter(estimator="pretoken")
    for number, event in enumerate(events, 1):
        meter.apply(event)
        assert meter.reading() == fold(events[:number]).reading()


@settings(max_examples=MANY // 20)
@given(histories(), st.integers(0, 8_000))
def test_pruning_a_long_result_lowers_the_reading_at_once(
    events: list[Event], size: int
) -> None:
    meter = fold(events)
    meter.apply(
        MessageAdded(message=result("long", "long-call", "some text " * (size + 100)))
    )
    if (
        size % 2
    ):  # with an actual that covers it and whatever came before, or still as an estimate
        meter.apply(CallStarted(call="covering"))
        meter.apply(
            CallEnded(
                call="covering", usage=usage(meter.reading().used.tokens + 400_000, 10)
            )
        )
    before = meter.reading().used.tokens
    meter.apply(Pruned(parts=("long.result",)))
    after = meter.reading()
    assert after.used.tokens < before
    check(after)


@settings(max_examples=MANY // 20)
@given(histories(), st.integers(100, 8_000))
def test_compacting_lowers_the_reading_at_once_and_never_to_zero(
    events: list[Event], size: int
) -> None:
    meter = fold(events)
    meter.apply(MessageAdded(message=said("first", "some text " * size)))
    meter.apply(MessageAdded(message=said("second", "some text " * size)))
    before = meter.reading().used.tokens
    meter.apply(
        CompactionCommitted(
            compaction="last",
            summary=said("sum", "short"),
            summarised=("first", "second"),
        )
    )
    after = meter.reading()
    assert 0 < after.used.tokens < before
    check(after)


@settings(max_examples=MANY // 20)
@given(histories())
def test_taking_a_reading_changes_nothing(events: list[Event]) -> None:
    meter = fold(events)
    assert meter.reading() == meter.reading()
    assert meter.should_compact() == meter.reading().should_compact()
