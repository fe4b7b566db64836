"""What the first request tells of system prompt and tools, and what that means for what leaves later."""

from tests.context.sessions import fold_of, turns, words
from tests.meter.session import said, usage
from ullage.events import CallEnded, CallStarted, CompactionCommitted, MessageAdded
from ullage.meter.fold import Fold

HIDDEN = 400
"""Tokens of the tools that no estimate knows of, in every request."""


def talked(*, first: int) -> Fold:
    """A session whose first request had so many turns; all its calls cost what is estimated, and ``HIDDEN``."""
    messages = [*turns(first, size=300), said("u", "Begin.")]
    fold = fold_of(*messages, system=words(100))
    for number, message in enumerate(turns(12, size=150, start=100)):
        if message.role != "assistant":
            fold.apply(CallStarted(call=f"c{number}"))
            size = round(fold.view.tokens + fold.fixed.tokens) + HIDDEN
            fold.apply(CallEnded(call=f"c{number}", usage=usage(size, 0)))
        fold.apply(MessageAdded(message=message))
    return fold


def compacted(fold: Fold) -> int:
    """How far the reading is off after all but the newest message has left, without a summary."""
    fold.apply(CallStarted(call="last"))
    reported = usage(round(fold.view.tokens + fold.fixed.tokens) + HIDDEN, 0)
    fold.apply(CallEnded(call="last", usage=reported))
    gone = tuple(fold.view.entries)[:-1]
    fold.apply(
        CompactionCommitted(
            compaction="c", summarised=gone, summary=said("s", "Short."), summary_tokens=9
        )
    )
    return fold.forecast().tokens - round(fold.view.tokens + fold.fixed.tokens) - HIDDEN


def test_what_a_short_first_request_cost_beyond_its_estimate_stays() -> None:
    assert abs(compacted(talked(first=0))) <= 0.1 * HIDDEN


def test_of_a_first_long_request_nobody_can_tell_what_the_rest_belongs_to() -> None:
    assert talked(first=20).unlogged is None


DENSE = 1.25
"""Actual tokens of each estimated token of this model's text."""


def actual(fold: Fold) -> int:
    return round(DENSE * fold.view.tokens + fold.fixed.tokens) + HIDDEN


def dense(*, first: int = 150) -> Fold:
    """A session of a model whose text is denser than estimated, far enough on for that to be known."""
    fold = fold_of(said("u", words(first)), system=words(100))
    for number, message in enumerate(turns(25, size=150, start=100)):
        if message.role != "assistant":
            fold.apply(CallStarted(call=f"c{number}"))
            fold.apply(CallEnded(call=f"c{number}", usage=usage(actual(fold), 0)))
        fold.apply(MessageAdded(message=message))
    fold.apply(CallStarted(call="last"))
    fold.apply(CallEnded(call="last", usage=usage(actual(fold), 0)))
    return fold


def test_what_a_first_message_cost_beyond_its_estimate_leaves_once_known() -> None:
    fold = dense()
    *gone, newest = fold.view.entries.values()
    stays = fold.fixed.tokens + HIDDEN + DENSE * newest.cost.tokens
    summarised = tuple(each.message.id for each in gone)
    fold.apply(CompactionCommitted(compaction="c", summarised=summarised))
    assert abs(fold.forecast().tokens - stays) <= 10


def test_a_reported_length_of_a_summary_is_not_corrected_as_an_estimate() -> None:
    with_summary, without = dense(), dense()
    gone = tuple(with_summary.view.entries)[:-1]
    without.apply(CompactionCommitted(compaction="c", summarised=gone))
    long = said("s", words(400))
    with_summary.apply(
        CompactionCommitted(
            compaction="c", summarised=gone, summary=long, summary_tokens=900
        )
    )
    assert abs(with_summary.forecast().tokens - without.forecast().tokens - 900) <= 12


def test_an_input_of_many_windows_is_not_believed() -> None:
    fold = fold_of(said("u", words(100)))
    for number, reported in enumerate((150, 12_000_000)):
        fold.apply(CallStarted(call=f"c{number}"))
        fold.apply(CallEnded(call=f"c{number}", usage=usage(reported, 3)))
        fold.apply(MessageAdded(message=said(f"m{number}", "Go on.")))
    assert fold.known is not None and fold.known.window is not None
    assert fold.forecast().tokens < 1_000
