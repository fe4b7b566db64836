"""Every call's estimate beside its reported input."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ullage.meter.reading import Accuracy
from ullage.meter.view import DERIVED

MARKS: Final = {
    "compaction": "compacted",
    "prune": "pruned",
    "model": "model changed",
    "rewind": "rewound",
    "uncompact": "compaction undone",
}
"""What happened before a call, in words."""


class Step(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One main call: what was estimated before it, what was reported after, and what changed the view before it.

    ``actual`` and ``error`` (estimated - actual) are ``None`` for a call without usable usage.
    """

    number: int
    call: str
    estimated: int
    low: int
    high: int
    at: float = 0
    actual: int | None = None
    marks: tuple[str, ...] = ()
    """What happened since the call before: ``prune``, ``compaction``, ``model``, ``rewind``,
    ``replaced``."""
    situation: str = "tool step"
    """What the call followed on (``meter.situations``)."""
    refused: int | None = None
    """The reported input that can't be true; ``actual`` is then ``None``."""

    @property
    def first(self) -> bool:
        """Nothing was known but the request."""
        return self.situation == "first call"

    @property
    def tokens(self) -> int:
        """What the window held for this call: as reported, or as estimated where nothing was reported."""
        return self.estimated if self.actual is None else self.actual

    @property
    def error(self) -> int | None:
        return None if self.actual is None else self.estimated - self.actual

    @property
    def is_inside(self) -> bool:
        """Whether the reported input was inside the interval of the estimate."""
        return self.actual is not None and self.low <= self.actual <= self.high

    @property
    def error_percent(self) -> float | None:
        """``None`` also for a reported input of 0, of which nothing is a share."""
        if not self.actual:
            return None
        return 100 * (self.estimated - self.actual) / self.actual


@dataclass(slots=True)
class Track:
    """The steps of a session and the median of their errors. First estimates are listed but not in the median."""

    steps: list[Step] = field(default_factory=list)
    inside: int = 0
    compared: int = 0
    last: Step | None = None
    accuracy: Accuracy = field(default_factory=Accuracy)
    errors: list[float] | None = field(default=None, compare=False, metadata=DERIVED)
    """Sizes of the errors in percent, in order; made again from the steps where it is ``None``."""

    def add(self, step: Step) -> None:
        """One more step."""
        if step.error_percent is not None:
            if self.errors is None:
                self.errors = _sorted_errors(self.steps)
            self.last = step
            if not step.first:
                self.compared += 1
                self.inside += step.is_inside
                insort(self.errors, abs(step.error_percent))
            median: float | None = None
            if self.errors:
                middle = len(self.errors) // 2
                median = round((self.errors[middle] + self.errors[~middle]) / 2, 2)
            self.accuracy = Accuracy(
                estimated=step.estimated,
                actual=step.actual,
                error=step.error,
                error_percent=round(step.error_percent, 2),
                median_error_percent=median,
                calls=self.compared,
                inside=self.inside,
            )
        self.steps.append(step)


def _sorted_errors(steps: Iterable[Step]) -> list[float]:
    errors: list[float] = []
    for step in steps:
        if step.error_percent is not None and not step.first:
            errors.append(abs(step.error_percent))
    return sorted(errors)
