"""How the estimates fared: every call's estimate beside its actual."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
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


@dataclass(frozen=True, slots=True)
class StoredSteps:
    """The steps of a checkpoint: how many, the errors that count for the median, and how to read the steps."""

    count: int
    errors: Callable[[], list[float]]
    read: Callable[[], list[Step]]


@dataclass(slots=True)
class Track:
    """The steps of a session and the median of their errors. First estimates are listed but not in the median.

    Of a checkpoint's steps nothing is read before it is asked for.
    """

    inside: int = 0
    compared: int = 0
    last: Step | None = None
    accuracy: Accuracy = NOTHING_COMPARED
    packed: list[bytes] = field(default_factory=list)
    """Steps from the first one on as the last checkpoint packed them, for whoever writes the next one."""
    _stored: StoredSteps | None = None
    _steps: list[Step] = field(default_factory=list)
    _errors: list[float] | None = None

    @property
    def count(self) -> int:
        """How many steps there were."""
        return len(self._steps) + (self._stored.count if self._stored else 0)

    @property
    def steps(self) -> list[Step]:
        """All of them, oldest first."""
        if self._stored is not None:
            self._errors = self._sorted_errors()
            self._steps = [*self._stored.read(), *self._steps]
            self._stored = None
        return self._steps

    def after(self, number: int) -> list[Step]:
        """The steps behind that one; ``number`` is not below how many are stored and unread."""
        return self._steps[number - (self._stored.count if self._stored else 0) :]

    def resume(self, stored: StoredSteps, last: list[Step]) -> None:
        """Go on from a checkpoint: ``last`` follow the stored ones."""
        self._stored, self._steps, self._errors = stored, last, None

    def add(self, step: Step) -> None:
        """One more step."""
        if step.actual is not None and step.error_percent is not None:
            self.last = step
            errors = self._sorted_errors()
            if not step.first:
                self.compared += 1
                self.inside += step.low <= step.actual <= step.high
                insort(errors, abs(step.error_percent))
            self.accuracy = self._accuracy(errors)
        self._steps.append(step)

    def _sorted_errors(self) -> list[float]:
        if self._errors is None:
            errors = self._stored.errors() if self._stored is not None else []
            own = [step.error_percent for step in self._steps if not step.first]
            self._errors = sorted([*errors, *(abs(error) for error in own if error is not None)])
        return self._errors

    def _accuracy(self, errors: list[float]) -> Accuracy:
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
