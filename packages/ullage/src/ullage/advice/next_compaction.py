"""The next compaction of a session: when it comes at the present growth, and what it takes out of the window."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from math import sqrt
from typing import Final, NamedTuple

import msgspec

from ullage.advice.history import WindowHistory
from ullage.advice.lives import ItemLife
from ullage.context.choice import STRATEGIES, ordered
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategies import AskModel, Attempt, Commit, Strategies
from ullage.context.strategy import Strategy
from ullage.events import (
    CompactionCommitted,
    Event,
    Pruned,
    SettingsChanged,
)
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage_programs.advice import CompactionRule, compaction_rule_of
from ullage_programs.limits import name_and_version
from ullage_programs.programs import OWN

NEWEST_CALLS: Final = 20
"""Calls whose growth is taken for the present one."""

FEWEST_STEPS: Final = 3
WIDTH: Final = 2.0
"""Standard errors of the mean growth on each side: about 95 of 100."""

SHORTENING: Final = frozenset({"compaction", "prune", "rewind", "uncompact", "model"})


class CallsLeft(msgspec.Struct, frozen=True, kw_only=True):
    """Calls until the threshold at ``growth`` tokens a call. ``high`` of ``None``: perhaps never."""

    calls: int
    low: int
    high: int | None
    growth: int


class NextCompaction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What will leave, as places in ``WindowHistory.items``, and the tokens of both parts.

    ``is_planned`` is True for sessions of Ullage, whose own strategies were asked; else it is the program's known rule.
    The summary that takes the place of what leaves is not counted. Both are unknown, with ``leaves`` of ``None``, for a
    program whose rule is not known.
    """

    by: str
    threshold: int
    left: CallsLeft | None = None
    items: tuple[int, ...] = ()
    leaves: int | None = None
    stays: int | None = None
    is_planned: bool = False
    is_summary: bool = True
    """False where tool results are cleared and no summary is written."""
    note: str = ""


class _Leaving(NamedTuple):
    """Places of items, and how they leave."""

    places: tuple[int, ...]
    is_summary: bool = True
    note: str = ""


def next_compaction(
    history: WindowHistory,
    meter: Meter,
    events: Iterable[Event],
) -> NextCompaction | None:
    """The next compaction; ``None`` where none will come or nothing is known of it."""
    reading = meter.reading()
    threshold = reading.threshold
    if threshold.tokens is None:
        return None
    found = NextCompaction(
        by=threshold.by,
        threshold=threshold.tokens,
        left=calls_left(history, reading),
    )
    is_own = name_and_version(history.program)[0] in OWN
    rule = compaction_rule_of(history.program)
    if is_own:
        leaving = _planned(history, meter, events)
    elif rule is not None:
        leaving = _by_rule(history, rule)
    else:
        return found
    leaves = 0
    for place in leaving.places:
        leaves += history.items[place].tokens
    return msgspec.structs.replace(
        found,
        items=leaving.places,
        leaves=leaves,
        stays=max(0, history.used - leaves),
        is_planned=is_own,
        is_summary=leaving.is_summary,
        note=leaving.note,
    )


def calls_left(history: WindowHistory, reading: Reading) -> CallsLeft | None:
    """Calls until the threshold, from the growth of the newest calls; ``None`` with too few of them."""
    room = reading.until_compaction
    steps = _growth(history)
    if room is None or len(steps) < FEWEST_STEPS:
        return None
    mean = sum(steps) / len(steps)
    squares = sum((step - mean) ** 2 for step in steps)
    error = WIDTH * sqrt(squares / (len(steps) - 1) / len(steps))
    if mean <= 0:
        return None
    room = max(0, room)
    high: int | None = None
    if mean - error > 0:
        high = round(room / (mean - error))
    return CallsLeft(
        calls=round(room / mean),
        low=int(room / (mean + error)),
        high=high,
        growth=round(mean),
    )


def _growth(history: WindowHistory) -> list[int]:
    steps: list[int] = []
    before: int | None = None
    for row in history.main_calls:
        if row.outcome == "failed" or not row.used:
            continue
        is_shortened = bool(SHORTENING & set(row.marks))
        if before is not None and not is_shortened:
            steps.append(row.used - before)
        before = row.used
    return steps[-NEWEST_CALLS:]


def _messages(history: WindowHistory) -> list[tuple[int, ItemLife]]:
    """The items of messages in the next request, oldest first."""
    found: list[tuple[int, ItemLife]] = []
    for place, item in enumerate(history.items):
        if item.message and item.last_call is None and item.tokens:
            found.append((place, item))
    return found


def _by_rule(history: WindowHistory, rule: CompactionRule) -> _Leaving:
    messages = _messages(history)
    total = sum(item.tokens for _, item in messages)
    room = max(float(rule.tokens), rule.share * total)
    leaving: list[int] = []
    for place, item in reversed(messages):
        is_kind = rule.of == "all" or item.category == "You"
        if is_kind and item.tokens <= room:
            room -= item.tokens
            continue
        if is_kind:
            room = 0
        leaving.append(place)
    leaving.reverse()
    return _Leaving(tuple(leaving), note=rule.note)


def _planned(
    history: WindowHistory,
    meter: Meter,
    events: Iterable[Event],
) -> _Leaving:
    """What our own strategies would take out now."""
    settings: dict[str, object] = {}
    for event in events:
        if isinstance(event, SettingsChanged):
            settings.update(event.settings)
    order = _order(settings.get("strategy"))
    situation = Situation(fold=meter._fold, rules=_rules(settings))
    step = Strategies(order).next(situation, Attempt())
    messages: set[str] = set()
    parts: set[str] = set()
    is_summary = isinstance(step, AskModel)
    if isinstance(step, AskModel):
        messages.update(step.ask.covers)
    if isinstance(step, Commit):
        for event in step.events:
            if isinstance(event, Pruned):
                parts.update(event.parts)
            if isinstance(event, CompactionCommitted):
                messages.update(event.summarised)
                messages.update(dropped.id for dropped in event.dropped)
    places: list[int] = []
    for place, item in _messages(history):
        if item.message in messages or item.part in parts:
            places.append(place)
    note = ""
    if parts:
        note = "old tool results are cleared"
    return _Leaving(tuple(places), is_summary, note)


def _order(chosen: object) -> tuple[Strategy, ...]:
    """The strategies of a session; those of the default where the setting can't be read."""
    names: list[str] = []
    if isinstance(chosen, str):
        names = [chosen]
    if isinstance(chosen, list | tuple):
        names = [name for name in chosen if isinstance(name, str)]
    try:
        return ordered(names)
    except ValueError:
        return STRATEGIES


def _rules(settings: dict[str, object]) -> CompactionRules:
    """The session's own rules; the default for what can't be a rule."""
    rules = CompactionRules()
    keep = settings.get("keep")
    if isinstance(keep, float) and 0 < keep < 1:
        rules = dataclasses.replace(rules, keep=keep)
    protected = settings.get("protect_tokens")
    is_count = isinstance(protected, int) and not isinstance(protected, bool)
    if isinstance(protected, int) and is_count and protected >= 0:
        rules = dataclasses.replace(rules, protect_tokens=protected)
    return rules
