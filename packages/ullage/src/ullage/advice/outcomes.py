"""What became of suggestions: where one was followed, how much smaller the requests are now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ullage.advice.held import TOOLS
from ullage.advice.history import WindowHistory, history_of
from ullage.advice.lives import ItemLife
from ullage.advice.policy import EXPECTED_OUTPUTS, FOLLOWED_SHARE, LONG_OUTPUT
from ullage.advice.suggestion import AdviceOutcome, Suggestion
from ullage.advice.suggestions import advice_of
from ullage.advice.waste import is_instruction, is_output
from ullage.events import Event, SystemChanged, ToolsChanged
from ullage.meter.meter import Meter


def outcomes_of(
    earlier: Sequence[Event],
    meter: Meter,
    later: WindowHistory,
    *,
    no_content: bool = False,
    subagent_tools: frozenset[str] = frozenset(),
) -> tuple[AdviceOutcome, ...]:
    """The suggestions for ``earlier`` that were followed in ``later``, the same session further on or one after it.

    Costs what the history of ``earlier`` costs; ``meter`` has no events yet. Of misses of the cache nothing shows
    whether anybody did something about them, so they are left out.
    """
    before = history_of(earlier, meter)
    advice = advice_of(
        before,
        meter,
        earlier,
        no_content=no_content,
        subagent_tools=subagent_tools,
    )
    followed: dict[str, list[AdviceOutcome]] = defaultdict(list)
    for suggestion in advice.suggestions:
        outcome = _outcome(suggestion, before, later)
        if outcome is not None:
            followed[outcome.unit + str(_is_about_tools(suggestion))].append(outcome)
    found: list[AdviceOutcome] = []
    for group in followed.values():
        promised = sum(outcome.promised for outcome in group)
        for one in group:
            share = one.promised / max(1, promised)
            found.append(one.measuring(round(share * one.measured)))
    return tuple(found)


def until_removal(events: Sequence[Event]) -> Sequence[Event]:
    """The events up to the last one that took away tools or a part of the system prompt; none without such a one."""
    names: set[str] = set()
    length, end = 0, 0
    for place, event in enumerate(events):
        if isinstance(event, ToolsChanged):
            declared = {tool.name for tool in event.tools}
            if names - declared:
                end = place
            names = declared
        elif isinstance(event, SystemChanged):
            now = sum(len(block.text) for block in event.system)
            if now < length:
                end = place
            length = now
    return events[:end]


def _outcome(
    suggestion: Suggestion, before: WindowHistory, later: WindowHistory
) -> AdviceOutcome | None:
    """What was promised of what was done, and what all items of the kind weigh less; ``None`` where nothing was."""
    if suggestion.kind == "cache":
        return None
    if suggestion.kind == "long_output":
        return _of_outputs(suggestion, before, later)
    kept = {_name(item): item.tokens for item in _now(later)}
    is_tools = _is_about_tools(suggestion)
    if is_tools and not any(item.category == TOOLS for item in later.items):
        return None
    promised = 0.0
    for place, share in suggestion.items:
        item = before.items[place]
        saved = share * item.tokens
        if item.tokens - kept.get(_name(item), 0) >= FOLLOWED_SHARE * saved:
            promised += saved
    if not promised:
        return None
    measured = _weight(before, is_tools) - _weight(later, is_tools)
    return _made(suggestion, "call", promised, measured)


def _of_outputs(
    suggestion: Suggestion, before: WindowHistory, later: WindowHistory
) -> AdviceOutcome | None:
    earlier = [item.tokens for item in before.items if is_output(item)]
    sizes = [item.tokens for item in later.items if is_output(item)]
    expected = len(suggestion.items) * len(sizes) / len(earlier)
    if expected < EXPECTED_OUTPUTS or max(sizes) >= LONG_OUTPUT:
        return None
    promised = 0.0
    for place, share in suggestion.items:
        promised += share * before.items[place].tokens / len(earlier)
    measured = sum(earlier) / len(earlier) - sum(sizes) / len(sizes)
    return _made(suggestion, "command", promised, measured)


def _made(
    suggestion: Suggestion, unit: str, promised: float, measured: float
) -> AdviceOutcome:
    return AdviceOutcome(
        kind=suggestion.kind,
        title=suggestion.title,
        unit=unit,
        promised=round(promised),
        measured=round(measured),
    )


def _is_about_tools(suggestion: Suggestion) -> bool:
    return suggestion.kind in ("unused_server", "unused_tools")


def _now(history: WindowHistory) -> list[ItemLife]:
    """The items of the next request."""
    return [item for item in history.items if item.last_call is None and item.is_summed]


def _name(item: ItemLife) -> tuple[str, str]:
    return item.category, item.tool or item.label


def _weight(history: WindowHistory, is_tools: bool) -> int:
    """The tokens of all tools, or of all instructions, in the next request."""
    weight = 0
    for item in _now(history):
        is_of_kind = item.category == TOOLS if is_tools else is_instruction(item)
        weight += item.tokens * is_of_kind
    return weight
