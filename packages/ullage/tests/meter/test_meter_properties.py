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


@pytest.mark.parametrize("part", range(8))  # several processes share the work
def test_rows_sum_to_used_used_reserve_and_free_to_the_window_and_no_row_is_negative(
    part: int,
) -> None:
    """And taking a reading changes nothing."""

    @seed(part)
    @settings(max_examples=max(1, MANY // 40))
    @given(histories())
    def holds(events: list[Event]) -> None:
        meter = fold(events)
        reading = meter.reading()
        check(reading)
        assert meter.reading() == reading
        assert meter.should_compact() == reading.should_compact()

    holds()


@settings(max_examples=MANY // 40)
@given(histories(longest=12))
def test_the_fold_of_a_prefix_is_the_prefix_of_the_fold(events: list[Event]) -> None:
    meter = Meter(estimator="pretoken")
    for number, event in enumerate(events, 1):
        meter.apply(event)
        assert meter.reading() == fold(events[:number]).reading()


@settings(max_examples=MANY // 20)
@given(histories(), st.integers(100, 2_000))
def test_pruning_or_compacting_lowers_the_reading_at_once(
    events: list[Event], size: int
) -> None:
    meter = fold(events)
    long = "some text " * size
    meter.apply(MessageAdded(message=result("long", "long-call", long)))
    if size % 2:
        # with an actual that covers it and whatever came before, or still as an estimate
        meter.apply(CallStarted(call="covering"))
        covering = usage(meter.reading().used.tokens + 400_000, 10)
        meter.apply(CallEnded(call="covering", usage=covering))
    full = meter.reading().used.tokens
    meter.apply(Pruned(parts=("long.result",)))
    pruned = meter.reading()
    assert pruned.used.tokens < full
    check(pruned)
    for name in ("first", "second"):
        meter.apply(MessageAdded(message=said(name, long)))
    full = meter.reading().used.tokens
    meter.apply(
        CompactionCommitted(
            compaction="last",
            summary=said("sum", "short"),
            summarised=("first", "second"),
        )
    )
    compacted = meter.reading()
    assert 0 < compacted.used.tokens < full
    check(compacted)
