"""The advice for a session as the page draws it: of its items only the largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ullage.advice.history import WindowHistory
from ullage.advice.next_compaction import NextCompaction
from ullage.advice.savings import SavedShare
from ullage.advice.suggestions import Advice
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
        lines.append(
            AdviceLine(
                kind=suggestion.kind,
                title=suggestion.title,
                text=suggestion.text,
                how=suggestion.how,
                saving=suggestion.saving,
                items=_named(suggestion.items, history),
                count=len(suggestion.items),
            )
        )
    ahead: CompactionAhead | None = None
    if advice.compaction is not None:
        ahead = _ahead(advice.compaction)
    return AdviceView(
        suggestions=tuple(lines),
        total=advice.total,
        compaction=ahead,
        outcomes=advice.outcomes,
    )


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


def _ahead(compaction: NextCompaction) -> CompactionAhead:
    return CompactionAhead(
        by=compaction.by,
        threshold=compaction.threshold,
        left=compaction.left,
        leaves=compaction.leaves,
        stays=compaction.stays,
        note=compaction.note,
    )
