"""When not to try: a compaction that changed nothing is not tried again on the same history, nor one after the other.

A fold of the same events as everything else, so that a driver that takes over knows what was tried before it came.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from ullage.events import CompactionCommitted, CompactionRolledBack, CompactionStarted, Event, Pruned, Uncompacted

BROKEN_OFF: Final = frozenset({"cancelled", "crash", "interrupted", "changed"})
"""Reasons of a roll-back that say nothing about whether the compaction could have worked."""

STEP_TOKENS: Final = 2_000
STEP_SHARE: Final = 0.05
"""After a failure the request has to grow by min(2,000 tokens, 5 % of the limit) before the point is tried again, as
much as a compaction has to save at least."""

QUICK: Final = 3
"""So many compactions in a row, each after no more growth than that, and the next waits for the limit."""


class PastAttempt(NamedTuple):
    """A compaction that was begun: of which history, at which reading, against which limit."""

    compaction: str
    history: str
    high: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Breakers:
    """What is known of earlier compactions of a session. ``quick`` counts those that came too soon, in a row."""

    current: PastAttempt | None = None
    failed: PastAttempt | None = None
    reason: str = ""
    after: int | None = None
    quick: int = 0

    def apply(self, event: Event) -> Breakers:
        """And this event. Events that concern no compaction change nothing."""
        match event:
            case CompactionStarted():
                high = event.high or 0
                soon = self.after is not None and high - self.after < step(event.limit)
                attempt = PastAttempt(event.compaction, event.history, high, event.limit)
                return replace(self, current=attempt, quick=self.quick + 1 if soon else 0)
            case CompactionCommitted():
                return replace(self, current=None, failed=None, reason="", after=event.after)
            case CompactionRolledBack() if not event.rung:
                if event.reason in BROKEN_OFF or self.current is None:
                    return replace(self, current=None)
                return replace(self, current=None, failed=self.current, reason=event.note or event.reason)
            case Pruned() if event.after is not None:
                return replace(self, failed=None, reason="", after=event.after)
            case Uncompacted():
                return Breakers()
            case _:
                return self

    def refusal(self, *, history: str, high: int, limit: int | None, input_limit: int | None) -> str:
        """Why a compaction would not help now, in words; empty where it is worth a try.

        ``history`` is the digest of the view, ``high`` the reading's upper end, ``limit`` what it is held against.
        Over ``input_limit`` only the very history that was tried before is refused.
        """
        failed = self.failed
        if failed is not None and (failed.history, failed.limit) == (history, limit) and high <= failed.high:
            return f"This history was tried before: {self.reason}"
        if input_limit is not None and high > input_limit:
            return ""
        if failed is not None and high - failed.high < step(limit):
            return f"The last attempt failed, and little was added since: {self.reason}"
        if self.quick >= QUICK and self.after is not None and high - self.after < step(limit):
            return f"{self.quick} compactions in a row were filled again at once; the next one waits for the limit."
        return ""


def step(limit: int | None) -> float:
    """Tokens that make a difference beside this limit."""
    return STEP_TOKENS if limit is None else min(STEP_TOKENS, STEP_SHARE * limit)
