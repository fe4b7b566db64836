"""Decides when a compaction is not worth a try: on a history that failed before, or too soon after the last one.

A fold of the session's events, so that a new driver knows the earlier attempts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from ullage.context.policy import LEAST_SAVED, LEAST_SAVED_OF_WINDOW, QUICK_IN_A_ROW
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    Pruned,
    Uncompacted,
)

PREVIEWED: Final = "preview"
"""The reason of a rollback that only a person's wish to see the compaction caused."""

BROKEN_OFF: Final = frozenset({"cancelled", "crash", "interrupted", PREVIEWED})
"""Reasons of a rollback that don't tell whether the compaction could have worked."""


class PastAttempt(NamedTuple):
    """A started compaction: its history, its reading and its limit."""

    compaction: str
    history: str
    high: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Breakers:
    """Earlier compactions of a session. ``quick`` counts those in a row that came too soon."""

    current: PastAttempt | None = None
    failed: PastAttempt | None = None
    reason: str = ""
    after: int | None = None
    quick: int = 0

    def apply(self, event: Event) -> Breakers:
        """The state after this event."""
        match event:
            case CompactionStarted():
                high = event.high or 0
                soon = self.after is not None and high - self.after < step(event.limit)
                attempt = PastAttempt(event.compaction, event.history, high, event.limit)
                quick = self.quick + 1 if soon else 0
                if event.trigger == "asked":  # a person's wish says nothing of the next
                    quick = self.quick
                return replace(self, current=attempt, quick=quick)
            case CompactionCommitted():
                return replace(
                    self, current=None, failed=None, reason="", after=event.after
                )
            case CompactionRolledBack() if not event.rung:
                if event.reason in BROKEN_OFF or self.current is None:
                    return replace(self, current=None)
                return replace(
                    self,
                    current=None,
                    failed=self.current,
                    reason=event.note or event.reason,
                )
            case Pruned() if event.after is not None:
                return replace(self, failed=None, reason="", after=event.after)
            case Uncompacted():
                return Breakers()
            case _:
                return self

    def refusal(
        self, *, history: str, high: int, limit: int | None, input_limit: int | None
    ) -> str:
        """The reason why a compaction would not help now; empty if it is worth a try.

        ``history`` is the digest of the view, ``high`` the reading's upper end, ``limit`` the limit to compare it with.
        Over ``input_limit`` only an unchanged history is refused.
        """
        failed = self.failed
        if (
            failed is not None
            and (failed.history, failed.limit) == (history, limit)
            and high <= failed.high
        ):
            return f"This history was tried before: {self.reason}"
        if input_limit is not None and high > input_limit:
            return ""
        if failed is not None and high - failed.high < step(limit):
            return f"The last attempt failed, and little was added since: {self.reason}"
        if (
            self.quick >= QUICK_IN_A_ROW
            and self.after is not None
            and high - self.after < step(limit)
        ):
            return f"{self.quick} compactions in a row were filled again at once; the next one waits for the limit."
        return ""


def step(limit: int | None) -> float:
    """The growth in tokens that matters for this limit."""
    return (
        LEAST_SAVED if limit is None else min(LEAST_SAVED, LEAST_SAVED_OF_WINDOW * limit)
    )
