"""The calls of many logs, each counted once.

A call can be in several logs: a resumed or forked session repeats those of the session it came from, a subagent's log
those of its parent, and the proxy records what a program logs too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import (
    Iterable,
    Mapping,
    Sequence,
)
from typing import Final, NamedTuple

from ullage.meter.inherited_totals import (
    KindCounts,
    SessionTotals,
    without_inherited,
)
from ullage.meter.policy import SAME_CALL_S
from ullage.meter.spent_calls import CallsOfLog, SpentCall

_UNLOGGED: Final = frozenset({"summary", "other"})
"""Purposes of calls that Claude Code's log has only as a difference of its totals (``claude_code/log_costs.py``)."""


class PlacedCall(NamedTuple):
    """A call and the log it is taken from. ``is_child``: a subagent made it."""

    call: SpentCall
    log: CallsOfLog
    is_child: bool


class DistinctCalls(NamedTuple):
    """Each call once; how many ``copies`` other logs have, and how many calls the proxy recorded as well."""

    calls: list[PlacedCall]
    copies: int
    also_proxied: int


def distinct_calls(logs: Sequence[CallsOfLog]) -> DistinctCalls:
    """The calls of all logs, each once: the proxy's row wins, then the fuller one.

    Claude Code's copies have the same message id and input. It is the same for a replay under another request id
    (https://github.com/ccusage/ccusage/pull/1155); gateways that number answers in each session differ in the input
    (https://github.com/ccusage/ccusage/pull/1661). Other programs' copies have the same time, model and tokens. Codex
    gives the copies in a fork new times: there the calls that the origin begins with are left out
    (https://github.com/ccusage/ccusage/issues/1370).
    """
    sequences: dict[str, Sequence[SpentCall]] = {}
    for log in logs:
        if log.calls and not log.is_proxied:
            sequences[log.session] = log.calls
    proxied = _Proxied()
    kept: dict[object, PlacedCall] = {}
    related: defaultdict[str, set[str]] = defaultdict(set)
    copies = 0
    for log in logs:
        inherited = _inherited(log, sequences)
        copies += inherited
        for call in log.calls[inherited:]:
            placed = PlacedCall(
                call,
                log,
                log.is_subagent or call.purpose == "child",
            )
            key = _key(placed, len(kept))
            before = kept.get(key)
            if before is not None:
                copies += 1
                _relate(related, before.log.session, log.session)
            if before is None or _is_better(placed, before):
                kept[key] = placed
    for placed in kept.values():
        if placed.log.is_proxied:
            proxied.add(placed)
    calls = [each for each in kept.values() if not proxied.takes(each)]
    also_proxied = len(kept) - len(calls)
    return DistinctCalls(
        _without_inherited(calls, related),
        copies,
        also_proxied,
    )


def _relate(related: dict[str, set[str]], known: str, new: str) -> None:
    """Two sessions have a call in common, and then with those that have it from them."""
    if known == new or new in related[known]:
        return
    for other in [known, *related[known]]:
        if other != new:
            related[other].add(new)
            related[new].add(other)


def _without_inherited(
    calls: list[PlacedCall],
    related: Mapping[str, set[str]],
) -> list[PlacedCall]:
    """The calls without those that a fork's totals have from its origin."""
    if not related:
        return calls
    totals = SessionTotals()
    for placed in calls:
        session = placed.log.session
        if _is_difference(placed):
            totals.add_difference(session, placed.call)
        elif placed.is_child:
            totals.add_child(session, placed.call)
    left: dict[str, KindCounts] = {}
    kept: list[PlacedCall] = []
    for placed in calls:
        session = placed.log.session
        if session not in related or not _is_difference(placed):
            kept.append(placed)
            continue
        if session not in left:
            left[session] = totals.inherited(session, related[session])
        call = without_inherited(placed.call, left[session])
        if call is not None:
            kept.append(placed._replace(call=call))
    return kept


def _inherited(
    log: CallsOfLog,
    sequences: Mapping[str, Sequence[SpentCall]],
) -> int:
    """How many calls a fork begins with that are its origin's."""
    number = 0
    for own, theirs in zip(
        log.calls,
        sequences.get(log.origin, ()),
        strict=False,
    ):
        if not log.origin or _tokens(own) != _tokens(theirs):
            break
        number += 1
    return number


def _tokens(call: SpentCall) -> tuple[int, ...]:
    """A program may log 0 for what the answer leaves out, and the other way round."""
    return (*_input(call), call.output or 0)


def _input(call: SpentCall) -> tuple[int, ...]:
    return (call.input or 0, call.cache_read or 0, call.cache_write or 0)


def _key(
    placed: PlacedCall,
    number: int,
) -> object:
    """Equal for the copies of one call; ``number`` tells calls apart of which nothing is known."""
    call = placed.call
    if call.name:
        return (call.name, call.model, call.input, call.cache_read, call.cache_write)
    if not call.at or _is_difference(placed):
        return number
    return (_program(placed), call.model, round(call.at, 3), *_tokens(call))


def _program(placed: PlacedCall) -> str:
    return placed.log.program.partition(" ")[0]


def _is_difference(placed: PlacedCall) -> bool:
    """Whether it stands for calls that the log does not have one by one."""
    is_unnamed = not placed.call.name and _program(placed) == "claude-code"
    return is_unnamed and placed.call.purpose in _UNLOGGED


def _is_better(
    new: PlacedCall,
    old: PlacedCall,
) -> bool:
    """Whether this copy is kept: its stream had ended, or it is no replay in a log of a subagent."""
    if (new.call.output or 0) != (old.call.output or 0):
        return (new.call.output or 0) > (old.call.output or 0)
    if new.call.name:
        return old.is_child and not new.is_child
    return new.is_child and not old.is_child


class _Proxied:
    """The calls that the proxy recorded, to recognise those that a log has too. Each is recognised once."""

    def __init__(self) -> None:
        self._calls: defaultdict[object, list[PlacedCall]] = defaultdict(list)
        """By their input in a session, and by all their tokens."""
        self._sessions: set[str] = set()

    def add(self, placed: PlacedCall) -> None:
        """A call of the proxy."""
        self._sessions.add(placed.log.session)
        self._calls[_in_session(placed)].append(placed)
        self._calls[_tokens(placed.call)].append(placed)

    def takes(self, placed: PlacedCall) -> bool:
        """Whether the call of a log is one of those."""
        if placed.log.is_proxied:
            return False
        if _is_difference(placed) and placed.log.session in self._sessions:
            return True
        same = self._calls.get(_in_session(placed))
        if same:
            self._remove(same[0])
            return True
        for proxied in self._calls.get(_tokens(placed.call), ()):
            if abs(proxied.call.at - placed.call.at) <= SAME_CALL_S:
                self._remove(proxied)
                return True
        return False

    def _remove(self, proxied: PlacedCall) -> None:
        self._calls[_in_session(proxied)].remove(proxied)
        self._calls[_tokens(proxied.call)].remove(proxied)


def _in_session(placed: PlacedCall) -> object:
    """A log may have the count of a stream that had just begun as its output, so that the input tells."""
    return (placed.log.session, *_input(placed.call))


def origins_missing(logs: Iterable[CallsOfLog]) -> set[str]:
    """Sessions that others were copied from, and that are not among these."""
    known: set[str] = set()
    named: set[str] = set()
    for log in logs:
        known.add(log.session)
        named.add(log.origin)
    return named - known - {""}
