"""Of calls that only a program's totals show: those that a forked session has from the session it was copied from.

The totals of a fork of Claude Code go on from its origin's, with that one's subagents and summaries, whose calls are
not in the fork's log; nothing in the log names the origin (2.1.330, a fork after 235 calls). Calls in common tell.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from ullage.meter.spent_calls import SpentCall

KindCounts = Counter[tuple[str, str]]
"""Tokens by model and kind."""

_KINDS: Final = ("input", "output", "cache_read", "cache_write", "hour_write")


class SessionTotals:
    """What the differences of each session's totals hold, and what its subagents spent."""

    def __init__(self) -> None:
        self._differences: defaultdict[str, KindCounts] = defaultdict(Counter)
        self._children: defaultdict[str, KindCounts] = defaultdict(Counter)

    def add_difference(self, session: str, call: SpentCall) -> None:
        """A call that stands for what a session's totals hold beyond its log."""
        _count(self._differences[session], call)

    def add_child(self, session: str, call: SpentCall) -> None:
        """A call of a subagent."""
        _count(self._children[session], call)

    def inherited(self, session: str, related: Iterable[str]) -> KindCounts:
        """What the differences of a session have from sessions with calls in common. The origin's are the smaller."""
        found: KindCounts = Counter()
        own = (self._differences[session].total(), session)
        for other in related:
            if (self._differences[other].total(), other) < own:
                # a fork of a fork has both; the larger holds the smaller
                found |= self._differences[other] + self._children[other]
        return found


def _count(sums: KindCounts, call: SpentCall) -> None:
    for kind in _KINDS:
        sums[(call.model, kind)] += getattr(call, kind) or 0


def without_inherited(
    call: SpentCall,
    inherited: KindCounts,
) -> SpentCall | None:
    """What is left of a difference; ``None`` for nothing. What was taken away is no longer in ``inherited``."""
    left: dict[str, int] = {}
    for kind in _KINDS:
        count = getattr(call, kind) or 0
        taken = min(count, inherited[(call.model, kind)])
        inherited[(call.model, kind)] -= taken
        left[kind] = count - taken
    if not left["input"]:
        return None
    return msgspec.structs.replace(call, **left)
