"""Calibration that all sessions learnt about each model: one JSON file of the user, or records that machines share.

It holds no content of a conversation. A missing file is an empty store.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from ullage.directories import data_directory
from ullage.errors import UnreadableInput
from ullage.store.private_file import (
    UnwritableStore,
    locked,
    read_file,
    write_json,
)
from ullage.store.records import RecentRecords, RecordChange, Records
from ullage.tokens.calibration import Calibration, Learnt
from ullage.tokens.joining import joined

VERSION = 2
"""1 had no kinds of text, and is read."""
FILE = "calibration.json"

KIND: Final = f"calibration {VERSION}"
"""A newer version has another kind, so that older servers of the same database keep theirs."""


class DamagedStore(UnreadableInput):
    """The store's file can't be opened, or holds no store."""


class _ModelsFile(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    models: dict[str, msgspec.Raw]
    """As ``Calibration.models``, by provider and model."""


class _Version(msgspec.Struct):
    version: int


_of_version: Final = msgspec.json.Decoder(_Version)
_of_file: Final = msgspec.json.Decoder(_ModelsFile)
_of_model: Final = msgspec.json.Decoder(Learnt)


class CalibrationFile:
    """``Records`` of one kind in one file, replaced atomically. Raises ``DamagedStore`` and ``UnwritableStore``."""

    def __init__(self, directory: Path | None = None) -> None:
        self.path = (data_directory() if directory is None else directory) / FILE

    @property
    def shown(self) -> str:
        """See ``Records.shown``."""
        return str(self.path)

    def all(self, kind: str = KIND) -> dict[str, bytes]:
        """See ``Records.all``."""
        try:
            data = read_file(self.path)
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise DamagedStore(
                f"The learnt calibration at {self.path} can't be opened ({problem.strerror}). "
                "Check who may read it, or point ULLAGE_DATA to another directory."
            ) from problem
        try:
            version = _of_version.decode(data).version
            if version > VERSION:
                raise DamagedStore(
                    f"The learnt calibration at {self.path} was written by a newer Ullage (version {version}, this one "
                    f"reads {VERSION}). Update Ullage, or point ULLAGE_DATA to another directory."
                )
            models = _of_file.decode(data).models
            return {key: bytes(_checked(model)) for key, model in models.items()}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
            raise DamagedStore(
                f"The learnt calibration at {self.path} is damaged ({problem}). Delete the file, or move it away: "
                "its content is learnt again from the next sessions."
            ) from problem

    def recent(self, kind: str = KIND) -> RecentRecords:
        """See ``Records.recent``."""
        found = self.all()
        return RecentRecords(found, found)

    def change(self, kind: str, key: str, change: RecordChange) -> None:
        """See ``Records.change``."""
        try:
            with locked(self.path):
                models = self.all()
                old = models.pop(key, None)
                new = change(old)
                if new == old:
                    return
                if new is not None:
                    models[key] = new
                raw = {name: msgspec.Raw(model) for name, model in models.items()}
                content = _ModelsFile(version=VERSION, models=raw)
                write_json(self.path, content, "The learnt calibration")
        except OSError as problem:
            raise UnwritableStore(
                f"The learnt calibration at {self.path} can't be written ({problem.strerror}). "
                "Allow writing there, or point ULLAGE_DATA to another directory."
            ) from problem


class CalibrationStore:
    """Reads and changes one store. Safe to cancel anywhere; what two writers learnt of a model at once is joined."""

    def __init__(
        self, directory: Path | None = None, *, records: Records | None = None
    ) -> None:
        self._records: Records = records or CalibrationFile(directory)

    @property
    def shown(self) -> str:
        """The place of the store, for messages."""
        return self._records.shown

    def read(self) -> Calibration:
        """The stored calibration; empty without a store. Raises ``UllageError``; ``DamagedStore`` for a file."""
        found: dict[str, Learnt] = {}
        for key, body in self._records.all(KIND).items():
            learnt = _model_of(body)
            if learnt is not None:
                found[key] = learnt
        return Calibration(models=found)

    def add(self, learnt: Calibration) -> None:
        """Store what was learnt of these models, beside all others and joined with what others learnt of the same.

        Raises ``UllageError``; the models that are not stored by then are as they were.
        """
        for key, mine in learnt.models.items():
            self._records.change(KIND, key, partial(_joined, mine))


def _checked(body: msgspec.Raw) -> msgspec.Raw:
    """The same. Raises what msgspec raises for what is no model."""
    _of_model.decode(body)
    return body


def _model_of(body: bytes | None) -> Learnt | None:
    try:
        return _of_model.decode(body or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _joined(mine: Learnt, body: bytes | None) -> bytes:
    stored = _model_of(body)
    return msgspec.json.encode(mine if stored is None else joined(stored, mine))
