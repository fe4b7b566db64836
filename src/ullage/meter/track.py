"""How the estimates fared: every call's estimate beside its actual."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from ullage.meter.reading import Accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
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
    """What happened since the call before: ``prune``, ``compaction``, ``model``, ``rewind``."""
    first: bool = False
    """Nothing was known but the request."""

    @property
    def error(self) -> int | None:
        return None if self.actual is None else self.estimated - self.actual

    @property
    def error_percent(self) -> float | None:
        return None if self.actual is None else 100 * (self.estimated - self.actual) / self.actual


NOTHING_COMPARED = Accuracy()


@dataclass(slots=True)
class Track:
    """The steps of a session and the median of their errors. First estimates are listed but not in the median."""

    steps: list[Step] = field(default_factory=list)
    inside: int = 0
    compared: int = 0
    last: Step | None = None
    accuracy: Accuracy = NOTHING_COMPARED
    _errors: list[float] = field(default_factory=list)

    def add(self, step: Step) -> None:
        self.steps.append(step)
        if step.actual is None or step.error_percent is None:
            return
        self.last = step
        if not step.first:
            self.compared += 1
            self.inside += step.low <= step.actual <= step.high
            insort(self._errors, abs(step.error_percent))
        self.accuracy = self._accuracy()

    def _accuracy(self) -> Accuracy:
        errors = self._errors
        middle = len(errors) // 2
        median = None
        if errors:
            median = errors[middle] if len(errors) % 2 else (errors[middle - 1] + errors[middle]) / 2
        last = self.last
        if last is None:
            return Accuracy()
        return Accuracy(
            estimated=last.estimated,
            actual=last.actual,
            error=last.error,
            error_percent=None if last.error_percent is None else round(last.error_percent, 2),
            median_error_percent=None if median is None else round(median, 2),
            calls=self.compared,
            inside=self.inside,
        )
