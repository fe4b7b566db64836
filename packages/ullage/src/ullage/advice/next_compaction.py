"""The next compaction of a session: when it comes at the present growth, and what it takes out of the window."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from contextlib import suppress
from math import ceil, exp, sqrt
from typing import Final

import msgspec

from ullage.advice.history import WindowHistory
from ullage.advice.lives import ItemLife
from ullage.advice.policy import (
    FEWEST_STEPS,
    LONGEST_STEP,
    NEWEST_CALLS,
    SPREAD_A_CALL,
    SPREAD_AT_ALL,
    USUAL_STEPS,
)
from ullage.context.choice import STRATEGIES, ordered
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategies import AskModel, Attempt, Commit, Strategies
from ullage.errors import SettingError
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

SHORTENING: Final = frozenset({"compaction", "prune", "rewind", "uncompact", "model"})


class CallsLeft(msgspec.Struct, frozen=True, kw_only=True):
    """Calls until the compaction at ``growth`` tokens a call; 80 of 100 times it comes from ``low`` to ``high``."""

    calls: int
    low: int
    high: int
    growth: int


class NextCompaction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What will leave, as places in ``WindowHistory.items``, and the tokens of both parts.

    The summary that takes the place of what leaves is not counted. Both are unknown, with ``leaves`` of ``None``, for a
    program whose rule is not known.
    """

    by: str
    threshold: int
    left: CallsLeft | None = None
    items: tuple[int, ...] = ()
    leaves: int | None = None
    stays: int | None = None
    is_summary: bool = True
    """False where tool results are cleared and no summary is written."""
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
    is_summary, note = True, ""
    rule = compaction_rule_of(history.program)
    if name_and_version(history.program)[0] in OWN:
        step = _own_step(meter, events)
        places = _places_in(step, history)
        is_summary = isinstance(step, AskModel)
        if isinstance(step, Commit) and any(isinstance(e, Pruned) for e in step.events):
            note = "Old tool results are cleared"
    elif rule is not None:
        places, note = _by_rule(history, rule), rule.note
    else:
        return found
    leaves = sum(history.items[place].tokens for place in places)
    return msgspec.structs.replace(
        found,
        items=tuple(places),
        leaves=leaves,
        stays=max(0, history.used - leaves),
        is_summary=is_summary,
        note=note,
    )


def calls_left(history: WindowHistory, reading: Reading) -> CallsLeft | None:
    """Calls until the compaction, from the growth of the session's calls; ``None`` with too few of them.

    Growth is heavy-tailed: one result can be as large as twenty others. So a step counts for at most ``LONGEST_STEP``
    usual ones, and the interval is a factor, which is wider where fewer calls are left.
    """
    point = reading.compaction_point
    steps = _growth(history)
    if point is None or len(steps) < FEWEST_STEPS:
        return None
    usual = sum(steps) / len(steps)
    newest = [min(step, LONGEST_STEP * usual) for step in steps[-NEWEST_CALLS:]]
    growth = (sum(newest) + USUAL_STEPS * usual) / (len(newest) + USUAL_STEPS)
    if usual <= 0 or growth <= 0:
        return None
    rule = compaction_rule_of(history.program) or CompactionRule()
    low, middle, high = (
        max(0, share * point - reading.used.tokens) / growth for share in rule.comes
    )
    return CallsLeft(
        calls=round(middle),
        low=int(low / _spread(low)),
        high=ceil((high + 1) * _spread(high)),
        growth=round(growth),
    )


def _spread(calls: float) -> float:
    return exp(sqrt(SPREAD_AT_ALL + SPREAD_A_CALL / (calls + 1)))


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
    return steps


def _messages(history: WindowHistory) -> list[tuple[int, ItemLife]]:
    """The items of messages in the next request, oldest first."""
    found: list[tuple[int, ItemLife]] = []
    for place, item in enumerate(history.items):
        if item.message and item.last_call is None and item.tokens:
            found.append((place, item))
    return found


def _by_rule(history: WindowHistory, rule: CompactionRule) -> list[int]:
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
    return leaving


def _own_step(meter: Meter, events: Iterable[Event]) -> object:
    """What our own strategies would do now, by the session's settings; by the default for what can't be one."""
    settings: dict[str, object] = {}
    for event in events:
        if isinstance(event, SettingsChanged):
            settings.update(event.settings)
    chosen = settings.get("strategy")
    if isinstance(chosen, str):
        chosen = [chosen]
    order = STRATEGIES
    if isinstance(chosen, list | tuple):
        with suppress(ValueError, TypeError):
            order = ordered(chosen)
    keep, protected = settings.get("keep"), settings.get("protect_tokens")
    rules = CompactionRules()
    with suppress(SettingError):
        if type(keep) is float:
            rules = dataclasses.replace(rules, keep=keep)
        if type(protected) is int:
            rules = dataclasses.replace(rules, protect_tokens=protected)
    situation = Situation(fold=meter._fold, rules=rules)
    return Strategies(order).next(situation, Attempt())


def _places_in(step: object, history: WindowHistory) -> list[int]:
    """The items that a step of our strategies takes out."""
    left: set[str] = set()
    if isinstance(step, AskModel):
        left.update(step.ask.covers)
    if isinstance(step, Commit):
        for event in step.events:
            if isinstance(event, Pruned):
                left.update(event.parts)
            if isinstance(event, CompactionCommitted):
                left.update(event.summarised)
                left.update(dropped.id for dropped in event.dropped)
    places: list[int] = []
    for place, item in _messages(history):
        if item.message in left or item.part in left:
            places.append(place)
    return places
