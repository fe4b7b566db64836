"""What the proxy's sessions learn from earlier ones, and for later ones: the user's own stores."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ullage.errors import UllageError
from ullage.events import FirstCall
from ullage.metering.policy import LEARNING_S
from ullage.store.calibration import CalibrationStore
from ullage.store.overhead import OverheadStore
from ullage.tokens.calibration import Calibration


class StoredLearning:
    """Reads both stores once, and writes what is new. A store that can't be read or written is said, once."""

    def __init__(
        self,
        data: Path | None = None,
        *,
        say: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calibrations = CalibrationStore(data)
        self._overhead = OverheadStore(data)
        self._say = say
        self._clock = clock
        self._written = clock()
        self._models = Calibration()
        self._new = Calibration()
        self._calls: tuple[FirstCall, ...] = ()
        self._known: list[FirstCall] = []
        try:
            self._models = self._calibrations.read()
            self._calls = self._overhead.read()
        except UllageError as problem:
            say(f"{problem} Metering goes on without it.")

    def calibration(self) -> Calibration:
        """What is known of all models."""
        return self._models

    def first_calls(self) -> tuple[FirstCall, ...]:
        """First calls of earlier sessions."""
        return self._calls

    def remember(
        self,
        calibration: Calibration,
        first_call: FirstCall | None,
    ) -> None:
        """Take note of what a session has learnt by now."""
        known = self._models.models
        new = {
            key: learnt
            for key, learnt in calibration.models.items()
            if learnt != known.get(key)
        }
        if new:
            self._models = Calibration(models=known | new)
            self._new = Calibration(models=self._new.models | new)
        if self._clock() - self._written > LEARNING_S:
            self.write()
        is_new = first_call is not None and first_call not in self._known
        if first_call is not None and is_new:
            self._known.append(first_call)
            self._calls = (first_call, *self._calls)
            self._try(lambda: self._overhead.add(first_call))

    def write(self) -> None:
        """Write what was learnt of models since the last time."""
        new, self._new = self._new, Calibration()
        self._written = self._clock()
        if new.models:
            self._try(lambda: self._calibrations.add(new))

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except UllageError as problem:
            self._say(str(problem))
