"""What a person can do to make the requests of a session smaller and cheaper, the best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from ullage.advice.cache_misses import CacheMiss, cache_misses, missed_cache
from ullage.advice.contents import SessionContents
from ullage.advice.declared import unused_listings, unused_tools
from ullage.advice.history import WindowHistory, history_of
from ullage.advice.instruction_files import long_instructions, repeated_paragraphs
from ullage.advice.next_compaction import NextCompaction, next_compaction
from ullage.advice.outputs import long_outputs
from ullage.advice.rereads import repeated_reads, repeated_results
from ullage.advice.savings import (
    SavedShare,
    SessionCosts,
    TokenSaving,
    largest_shares,
)
from ullage.advice.suggestion import (
    LEAST_TOKENS,
    AdviceInput,
    Suggestion,
    name_of,
)
from ullage.advice.unreferred import (
    old_images,
    unreferred_pastes,
    unreferred_results,
)
from ullage.events import Event
from ullage.meter.meter import Meter

MOST_SHOWN: Final = 7
MOST_COSTS: Final = 5

LEAST_SHARE: Final = 0.02
LEAST_SO_FAR: Final = 10_000
"""Share of all input so far, and tokens of it, below which nothing is suggested for what it has cost."""

_KINDS: Final[tuple[Callable[[AdviceInput], list[Suggestion]], ...]] = (
    unused_tools,
    unused_listings,
    unreferred_results,
    unreferred_pastes,
    old_images,
    repeated_reads,
    repeated_results,
    long_outputs,
    long_instructions,
    repeated_paragraphs,
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

    def to_json(self) -> bytes:
        """The advice as one JSON object. Fields that have their default are left out."""
        return msgspec.json.encode(self)


def advise(
    events: Sequence[Event],
    meter: Meter | None = None,
    *,
    no_content: bool = False,
) -> Advice:
    """The advice for a session, from all of its events. ``meter`` is one without events, as for ``history_of``.

    ``no_content`` leaves out labels and paths.
    """
    if meter is None:
        meter = Meter()
    history = history_of(events, meter)
    return advice_of(history, meter, events, no_content=no_content)


def advice_of(
    history: WindowHistory,
    meter: Meter,
    events: Sequence[Event],
    *,
    no_content: bool = False,
    subagent_tools: frozenset[str] = frozenset(),
) -> Advice:
    """The advice for a session whose history is known; ``meter`` has applied its events.

    ``subagent_tools`` are names of tools that its subagents called: their calls are not among the events.
    """
    contents = SessionContents(history, events)
    shown = history
    if no_content:
        shown = history.without_content()
    costs = SessionCosts(shown)
    given = AdviceInput(shown, contents, costs, subagent_tools)
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
        for suggestion in kind(given):
            if _is_useful(suggestion, paid, usd):
                found.append(suggestion)
    is_priced = any(each.saving.usd is not None for each in found)
    found.sort(key=lambda each: _worth(each, is_priced), reverse=True)
    chosen = tuple(found[:MOST_SHOWN])
    return Advice(
        suggestions=chosen,
        total=total_of(chosen, shown, costs),
        costs=_largest_costs(shown, costs),
        compaction=next_compaction(shown, meter, events),
        used=history.used,
        calls=calls,
        paid=paid,
        usd=usd,
    )


def _is_useful(suggestion: Suggestion, paid: int, usd: float | None) -> bool:
    saving = suggestion.saving
    if saving.tokens >= LEAST_TOKENS:
        return True
    if saving.usd and usd and saving.usd >= LEAST_SHARE * usd:
        return saving.so_far >= LEAST_SO_FAR
    return saving.so_far >= max(LEAST_SO_FAR, LEAST_SHARE * paid)


def _worth(suggestion: Suggestion, is_priced: bool) -> tuple[float, int]:
    saving = suggestion.saving
    if is_priced:
        return saving.usd or 0.0, saving.so_far
    return float(saving.so_far), saving.tokens


def total_of(
    suggestions: Sequence[Suggestion],
    history: WindowHistory,
    costs: SessionCosts,
) -> TokenSaving:
    """What the suggestions save together. An item that several are about counts once, at its largest share.

    What is paid again at a cache miss is less where the request would have been smaller.
    """
    shares: list[SavedShare] = []
    has_cache = False
    for suggestion in suggestions:
        shares += suggestion.items
        has_cache = has_cache or suggestion.kind == "cache"
    total = costs.saving(shares)
    if not has_cache:
        return total
    again, usd = 0.0, total.usd
    for miss in cache_misses(history):
        left = _left_of(miss, shares, history)
        again += left * miss.again
        if miss.usd is not None:
            usd = (usd or 0.0) + left * miss.usd
    return msgspec.structs.replace(
        total,
        so_far=total.so_far + round(again),
        usd=usd,
    )


def _left_of(
    miss: CacheMiss,
    shares: Sequence[SavedShare],
    history: WindowHistory,
) -> float:
    """The share of a missed request that would still have been sent."""
    saved = 0.0
    for each in largest_shares(shares):
        item = history.items[each.place]
        if item.is_held_at(miss.row.number) and item.is_summed:
            saved += each.share * item.tokens
    return max(0.0, 1 - saved / max(1, miss.row.used))


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
