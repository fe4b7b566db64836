"""The user's store of calibration that all sessions learnt about each model, in one JSON file.

The file is in the platform's directory for user data, holds no content of a conversation, and is replaced atomically. A
missing file is an empty store.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from ullage.directories import data_directory
from ullage.errors import UnreadableInput
from ullage.store.private_file import delete_files, read_file, write_json
from ullage.tokens.calibration import Calibration, Learnt

VERSION = 2
"""1 had no kinds of text, and is read."""
FILE = "calibration.json"


class DamagedStore(UnreadableInput):
    """The store's file can't be opened, or holds no store."""


class _CalibrationFile(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    models: dict[str, Learnt]
    """As ``Calibration.models``, by provider and model."""


class _Version(msgspec.Struct):
    version: int


_of_version: Final = msgspec.json.Decoder(_Version)
_of_file: Final = msgspec.json.Decoder(_CalibrationFile)


class CalibrationStore:
    """Reads and replaces one store. Safe to cancel anywhere; two writers at once leave the later one's models."""

    def __init__(self, directory: Path | None = None) -> None:
        self.path = (data_directory() if directory is None else directory) / FILE

    def read(self) -> Calibration:
        """The stored calibration; empty without a file. Raises ``DamagedStore``."""
        try:
            data = read_file(self.path)
        except FileNotFoundError:
            return Calibration()
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
            return Calibration(models=_of_file.decode(data).models)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
            raise DamagedStore(
                f"The learnt calibration at {self.path} is damaged ({problem}). Delete the file, or move it away: "
                "its content is learnt again with `ullage calibration FILES --save`."
            ) from problem

    def add(self, learnt: Calibration) -> Calibration:
        """Store these models beside the others; returns all models.

        Raises ``DamagedStore`` and ``UnwritableStore``; in both cases the file is as it was.
        """
        together = self.read().models | learnt.models
        self._replace(together)
        return Calibration(models=together)

    def forget(self, name: str = "") -> int:
        """Delete a model (with or without its provider), or all and the file itself; returns how many they were.

        Raises ``DamagedStore`` where one model is named, and ``UnwritableStore``.
        """
        if not name:
            return self._delete()
        models = dict(self.read().models)
        gone = [key for key in models if name in (key, key.partition("/")[2])]
        for key in gone:
            del models[key]
        if gone:
            self._replace(models)
        return len(gone)

    def _delete(self) -> int:
        try:
            count = len(self.read().models)
        except DamagedStore:
            count = 0
        delete_files([self.path])
        return count

    def _replace(self, models: Mapping[str, Learnt]) -> None:
        content = _CalibrationFile(version=VERSION, models=dict(models))
        write_json(self.path, content, "The learnt calibration")
