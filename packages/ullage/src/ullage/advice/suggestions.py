"""What a person can do to make the requests of a session smaller and cheaper, the best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from ullage.advice.cache_misses import missed_cache, misses_of
from ullage.advice.history import WindowHistory
from ullage.advice.next_compaction import NextCompaction, next_compaction
from ullage.advice.policy import (
    LEAST_SHARE,
    LEAST_SO_FAR,
    LEAST_TOKENS,
    MOST_COSTS,
    MOST_SHOWN,
)
from ullage.advice.savings import SavedShare, SessionCosts, TokenSaving
from ullage.advice.suggestion import AdviceInput, AdviceOutcome, Suggestion, name_of
from ullage.advice.waste import long_instructions, long_outputs, unused_tools
from ullage.events import Event
from ullage.meter.meter import Meter

_KINDS: Final[tuple[Callable[[AdviceInput], list[Suggestion]], ...]] = (
    unused_tools,
    long_outputs,
    long_instructions,
    missed_cache,
)


class ItemCost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one item has cost over the session: its place in ``WindowHistory.items``, its calls and its money."""

    item: int
    label: str
    tokens: int
    calls: int
    so_far: int
    usd: float | None = None


class Advice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Suggestions, the best first; ``total`` is what they save together, overlaps counted once.

    ``paid`` is all input of the conversation's calls so far, which savings so far are a part of.
    """

    suggestions: tuple[Suggestion, ...] = ()
    total: TokenSaving = TokenSaving()
    costs: tuple[ItemCost, ...] = ()
    compaction: NextCompaction | None = None
    used: int = 0
    calls: int = 0
    paid: int = 0
    usd: float | None = None
    """What all calls have cost, those for summaries, titles and subagents among them; ``None`` without any price."""
    outcomes: tuple[AdviceOutcome, ...] = ()
    """What became of earlier suggestions (``ullage.advice.outcomes``)."""


def advice_of(
    history: WindowHistory,
    meter: Meter,
    events: Sequence[Event],
    *,
    no_content: bool = False,
    subagent_tools: frozenset[str] = frozenset(),
) -> Advice:
    """The advice for a session whose history is known; ``meter`` has applied its events.

    ``no_content`` leaves out labels and paths. ``subagent_tools`` are names of tools that its subagents called: their
    calls are not among the events.
    """
    shown = history
    if no_content:
        shown = history.without_content()
    costs = SessionCosts(shown)
    paid = 0
    calls = 0
    usd: float | None = None
    for row in history.calls:
        if row.usd is not None:
            usd = (usd or 0.0) + row.usd
        if row.purpose == "main" and row.outcome != "failed":
            paid += row.used
            calls += 1
    found: list[Suggestion] = []
    for kind in _KINDS:
        for suggestion in kind(AdviceInput(shown, events, costs, subagent_tools)):
            if _is_useful(suggestion.saving, paid, usd):
                found.append(suggestion)
    found.sort(key=lambda each: each.saving.so_far, reverse=True)
    found.sort(key=lambda each: each.saving.usd or 0.0, reverse=True)
    chosen = found[:MOST_SHOWN]
    return Advice(
        suggestions=tuple(chosen),
        total=_total(chosen, shown, costs),
        costs=_largest_costs(shown, costs),
        compaction=next_compaction(shown, meter, events),
        used=history.used,
        calls=calls,
        paid=paid,
        usd=usd,
    )


def _is_useful(saving: TokenSaving, paid: int, usd: float | None) -> bool:
    if saving.tokens >= LEAST_TOKENS:
        return True
    if saving.so_far < LEAST_SO_FAR:
        return False
    if saving.usd and usd and saving.usd >= LEAST_SHARE * usd:
        return True
    return saving.so_far >= LEAST_SHARE * paid


def _total(
    suggestions: Sequence[Suggestion],
    history: WindowHistory,
    costs: SessionCosts,
) -> TokenSaving:
    """What the suggestions save together: each is about other items.

    What is paid again at a cache miss is less where the request would have been smaller.
    """
    shares: list[SavedShare] = []
    for suggestion in suggestions:
        shares += suggestion.items
    total = costs.saving(shares)
    if all(suggestion.kind != "cache" for suggestion in suggestions):
        return total
    again, usd = 0.0, total.usd
    for row in misses_of(history):
        saved = 0.0
        for place, share in shares:
            item = history.items[place]
            if item.is_held_at(row.number) and item.is_summed:
                saved += share * item.tokens
        left = max(0.0, 1 - saved / max(1, row.used))
        assert row.cause is not None
        again += left * row.cause.tokens
        if row.cause.usd is not None:
            usd = (usd or 0.0) + left * row.cause.usd
    so_far = total.so_far + round(again)
    return msgspec.structs.replace(total, so_far=so_far, usd=usd)


def _largest_costs(
    history: WindowHistory,
    costs: SessionCosts,
) -> tuple[ItemCost, ...]:
    """The items that have cost most, largest first."""
    found: list[ItemCost] = []
    for place, item in enumerate(history.items):
        if not item.is_summed:
            continue
        found.append(
            ItemCost(
                item=place,
                label=name_of(item),
                tokens=item.tokens,
                calls=costs.calls_of(item),
                so_far=costs.so_far(item),
                usd=costs.usd_of(item),
            )
        )
    found.sort(key=lambda cost: -cost.so_far)
    return tuple(found[:MOST_COSTS])
