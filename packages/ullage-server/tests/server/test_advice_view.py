"""The advice for the page: its items are named, the largest first, and they are few."""

from __future__ import annotations

from ullage.advice.history import WindowHistory
from ullage.advice.lives import CallRow, ItemLife
from ullage.advice.next_compaction import NextCompaction
from ullage.advice.savings import SavedShare, TokenSaving
from ullage.advice.suggestion import Suggestion
from ullage.advice.suggestions import Advice
from ullage_server.advice_view import NAMED, advice_view


def made_history(count: int) -> WindowHistory:
    """So many items of falling size."""
    items: list[ItemLife] = []
    for number in range(count):
        tokens = 1_000 - number
        items.append(
            ItemLife(
                part=f"p{number}",
                category="Tool results",
                tokens=tokens,
                low=tokens,
                high=tokens,
                first_call=1,
            )
        )
    calls = (CallRow(number=1, used=1_000 * count),)
    return WindowHistory(items=tuple(items), calls=calls, next_call=2)


def test_items_are_named_the_largest_first() -> None:
    history = made_history(3)
    shares = (SavedShare(2), SavedShare(0))
    suggestion = Suggestion(kind="long_output", title="Two results", items=shares)
    (line,) = advice_view(Advice(suggestions=(suggestion,)), history).suggestions
    assert [item.part for item in line.items] == ["p0", "p2"]
    assert line.items[0].tokens == 1_000
    assert line.count == 2


def test_few_of_many_items_are_named() -> None:
    shares = tuple(SavedShare(place) for place in range(50))
    suggestion = Suggestion(kind="long_output", title="50 results", items=shares)
    advice = Advice(suggestions=(suggestion,), total=TokenSaving(tokens=7))
    view = advice_view(advice, made_history(50))
    assert len(view.suggestions[0].items) == NAMED
    assert view.suggestions[0].count == 50
    assert view.total.tokens == 7


def test_the_next_compaction_is_told_without_its_items() -> None:
    ahead = NextCompaction(
        by="Codex", threshold=9_000, items=(0, 1), leaves=700, stays=20
    )
    shown = advice_view(Advice(compaction=ahead), made_history(2)).compaction
    assert shown is not None
    assert (shown.by, shown.threshold, shown.leaves) == ("Codex", 9_000, 700)
