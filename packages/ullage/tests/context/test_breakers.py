from ullage.context.breakers import Breakers
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    Pruned,
    Uncompacted,
)


def after(*events: Event) -> Breakers:
    breakers = Breakers()
    for event in events:
        breakers = breakers.apply(event)
    return breakers


def started(high: int = 13_000, history: str = "h") -> CompactionStarted:
    return CompactionStarted(
        compaction="c", trigger="point", high=high, limit=12_800, history=history
    )


def said(breakers: Breakers, high: int, history: str = "h") -> str:
    return breakers.refusal(history=history, high=high, limit=12_800, input_limit=14_000)


FAILED = CompactionRolledBack(compaction="c", reason="no_progress")


def test_nothing_is_refused_before_anything_failed() -> None:
    assert said(after(), 13_000) == ""
    committed = CompactionCommitted(compaction="c", after=5_000)
    assert said(after(started(), committed), 13_000) == ""


def test_the_same_history_is_not_tried_again_not_even_over_the_limit() -> None:
    breakers = after(started(15_000), FAILED)
    assert "tried before" in said(breakers, 15_000)
    assert said(breakers, 15_000, "other") == ""


def test_after_a_failure_the_request_has_to_grow_first() -> None:
    breakers = after(started(), FAILED)
    assert "little was added" in said(breakers, 13_100, "other")
    assert said(breakers, 13_700, "other") == ""


def test_one_strategy_or_a_cancel_or_a_crash_is_no_failure() -> None:
    for reason, rung in (("empty", "summary"), ("cancelled", ""), ("crash", "")):
        rolled = CompactionRolledBack(compaction="c", reason=reason, rung=rung)
        assert said(after(started(), rolled), 13_000) == ""


def test_three_that_were_filled_again_at_once_wait_for_the_limit() -> None:
    events: list[Event] = []
    for _ in range(4):
        events += [started(12_900), CompactionCommitted(compaction="c", after=12_700)]
    assert "filled again" in said(after(*events), 12_900, "new")
    assert said(after(*events), 14_100, "new") == ""


def test_a_prune_or_an_undoing_forgets_the_failure() -> None:
    assert said(after(started(), FAILED, Pruned(parts=(), after=5_000)), 13_000) == ""
    assert said(after(started(), FAILED, Uncompacted(compaction="x")), 13_000) == ""
