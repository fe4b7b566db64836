"""What became of suggestions: where they were followed, how much smaller the requests are now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ullage.advice.held import TOOLS
from ullage.advice.history import WindowHistory, history_of
from ullage.advice.lives import ItemLife
from ullage.advice.policy import (
    EXPECTED_OUTPUTS,
    FOLLOWED_SHARE,
    HELPED_SHARE,
)
from ullage.advice.suggestion import AdviceOutcome, SuggestionKind
from ullage.advice.suggestions import advice_of
from ullage.advice.waste import (
    LONG,
    is_instruction,
    is_mcp_result,
    is_output,
    long_kind,
)
from ullage.events import Event, SystemChanged, ToolsChanged
from ullage.meter.meter import Meter


def outcomes_of(
    earlier: Sequence[Event],
    meter: Meter,
    later: WindowHistory,
    *,
    no_content: bool = False,
) -> tuple[AdviceOutcome, ...]:
    """The suggestions for ``earlier`` that were followed in ``later``, the same session further on or one after it.

    Those about tools are one, as what they saved together shows in the tools' row. Of misses of the cache nothing shows
    whether anybody did something about them. Costs what the history of ``earlier`` costs; ``meter`` has no events yet.
    """
    before = history_of(earlier, meter)
    advice = advice_of(before, meter, earlier, no_content=no_content)
    found: list[AdviceOutcome] = []
    for belongs, kinds in _KINDS.items():
        old, new = _items(before, belongs), _items(later, belongs)
        kept = {item.tool or item.label: item.tokens for item in new}
        unit, units, units_now = "call", 1, 1
        if kinds[0] in LONG:
            if _long(new) or _long(old) * len(new) < EXPECTED_OUTPUTS * len(old):
                continue
            unit, units, units_now = LONG[kinds[0]][0], len(old), len(new)
            kept = {}
        titles: list[str] = []
        promised = 0.0
        for suggestion in advice.suggestions:
            if suggestion.kind not in kinds:
                continue
            saved = 0.0
            for place, share in suggestion.items:
                item = before.items[place]
                left = item.tokens - kept.get(item.tool or item.label, 0)
                if left >= FOLLOWED_SHARE * share * item.tokens:
                    saved += share * item.tokens / units
            if saved:
                titles.append(suggestion.title)
                promised += saved
        if titles:
            measured = _weight(old) / units - _weight(new) / units_now
            found.append(
                AdviceOutcome(
                    title="; ".join(titles),
                    unit=unit,
                    promised=round(promised),
                    measured=round(measured),
                    has_helped=measured >= HELPED_SHARE * promised,
                )
            )
    return tuple(found)


def until_removal(events: Sequence[Event]) -> Sequence[Event]:
    """The events up to the last one that left fewer tools or a shorter system prompt; none without such a one."""
    sizes: dict[type, int] = {}
    end = 0
    for place, event in enumerate(events):
        match event:
            case ToolsChanged():
                size = len(event.tools)
            case SystemChanged():
                size = sum(len(block.text) for block in event.system)
            case _:
                continue
        if size < sizes.get(type(event), 0):
            end = place
        sizes[type(event)] = size
    return events[:end]


def _is_tool(item: ItemLife) -> bool:
    return item.category == TOOLS


_KINDS: Final[dict[Callable[[ItemLife], bool], tuple[SuggestionKind, ...]]] = {
    _is_tool: ("unused_server", "unused_tools"),
    is_instruction: ("instructions",),
    is_output: ("long_output",),
    is_mcp_result: ("long_result", "pictures"),
}
"""Which items a kind of suggestion is about."""


def _items(history: WindowHistory, belongs: Callable[[ItemLife], bool]) -> list[ItemLife]:
    """Those of the next request; of results also those that have left."""
    found = filter(belongs, history.items)
    has_left = _KINDS[belongs][0] in LONG
    return [item for item in found if item.last_call is None or has_left]


def _weight(items: Sequence[ItemLife]) -> int:
    return sum(item.tokens for item in items)


def _long(items: Sequence[ItemLife]) -> int:
    return sum(long_kind(item) is not None for item in items)
