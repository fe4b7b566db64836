"""Calibration that all sessions learnt about each model: a record of each, by provider and model.

It holds no content of a conversation. A record that can't be read is learnt again.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.bounds import UNREADABLE
from ullage.store.records import FileRecords, Records
from ullage.tokens.calibration import Calibration, Learnt

KIND: Final = "calibration"

_of_model: Final = msgspec.json.Decoder(Learnt)


class CalibrationStore:
    """Reads and changes one store. Safe to cancel anywhere. Of two writers the one that saw more of a model wins."""

    def __init__(
        self, directory: Path | None = None, *, records: Records | None = None
    ) -> None:
        self._records: Records = records or FileRecords(directory)

    def read(self) -> Calibration:
        """The stored calibration; empty without a store. Raises ``UllageError``."""
        found: dict[str, Learnt] = {}
        for key, body in self._records.all(KIND).items():
            learnt = _model_of(body)
            if learnt is not None:
                found[key] = learnt
        return Calibration(models=found)

    def add(self, learnt: Calibration) -> None:
        """Store what was learnt of these models, beside all others, where they know more than what is stored.

        Raises ``UllageError``; the models that are not stored by then are as they were.
        """
        for key, mine in learnt.models.items():
            self._records.change(KIND, key, partial(_better, mine))


def _model_of(body: bytes | None) -> Learnt | None:
    try:
        return _of_model.decode(body or b"")
    except UNREADABLE:
        return None


def _better(mine: Learnt, body: bytes | None) -> bytes:
    """What knows more of the model. That it binds reasoning is never forgotten."""
    stored = _model_of(body)
    if stored is not None and stored.n > mine.n:
        mine, stored = stored, mine
    if stored is not None and stored.binds:
        mine = replace(mine, binds=True)
    return msgspec.json.encode(mine)
