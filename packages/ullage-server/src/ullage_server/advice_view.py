"""The advice for a session as the page draws it: of its items only the largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ullage.advice.history import WindowHistory
from ullage.advice.savings import SavedShare
from ullage.advice.suggestions import Advice
from ullage.encoding import shown_as
from ullage_server.live_types import (
    SHOWN,
    AdviceLine,
    AdviceView,
    CompactionAhead,
    NamedItem,
)

NAMED: Final = 6
"""Items of a suggestion that are named."""


def advice_view(advice: Advice, history: WindowHistory) -> AdviceView:
    """The suggestions for a session with this history."""
    lines: list[AdviceLine] = []
    for suggestion in advice.suggestions:
        named = _named(suggestion.items, history)
        count = len(suggestion.items)
        lines.append(shown_as(AdviceLine, suggestion, items=named, count=count))
    ahead = advice.compaction and shown_as(CompactionAhead, advice.compaction)
    return shown_as(AdviceView, advice, suggestions=tuple(lines), compaction=ahead)


def _named(shares: Sequence[SavedShare], history: WindowHistory) -> tuple[NamedItem, ...]:
    items = [history.items[each.place] for each in shares]
    items.sort(key=lambda item: -item.tokens)
    return tuple(
        NamedItem(
            part=item.part[:SHOWN],
            message=item.message[:SHOWN],
            category=item.category[:SHOWN],
            tool=item.tool[:SHOWN],
            label=(item.label or item.category)[:SHOWN],
            tokens=item.tokens,
        )
        for item in items[:NAMED]
    )
