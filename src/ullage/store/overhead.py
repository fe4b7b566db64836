"""The user's store of first calls: what programs and agents add beyond their logs, one small file for each session.

The files are in the platform's directory for user data and hold numbers, names and digests. One file for each first
call makes writing atomic: several processes, or one that is killed, leave whole files. Their number is bounded.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ullage.directories import data_directory
from ullage.events import FirstCall
from ullage.meter.overhead import kept, name_of
from ullage.store.private_file import delete_files, read_json, write_json

DIRECTORY: Final = "overhead"

_NAME: Final = re.compile(r"[0-9a-f]{16}\.json")

LARGEST_FILE: Final = 4_096
"""Bytes of a file that is read; the store's own have some 300."""

MOST_READ: Final = 1_024
"""Files that are read; the store itself keeps a quarter of that."""

LONGEST_NAME: Final = 200
"""Characters of a program's or model's name that are kept: it comes from a log."""

LARGEST_CALL: Final = 10_000_000
"""Tokens of a call that are believed: more than any window has."""

LEFTOVER_S: Final = 3_600.0
"""Seconds after which the file of a writer that was killed is removed."""


_of_file: Final = msgspec.json.Decoder(FirstCall)


class StoredCalls(NamedTuple):
    """The first calls of a store, newest first, and a sentence about files that can't be read; empty without any."""

    calls: tuple[FirstCall, ...] = ()
    problem: str = ""


class OverheadStore:
    """Reads and writes one store. Safe to cancel anywhere. ``clock`` gives seconds since 1970."""

    def __init__(
        self, directory: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = (data_directory() if directory is None else directory) / DIRECTORY
        self._clock = clock

    def read(self) -> StoredCalls:
        """What is stored. Never raises: a file that can't be read is left out, and named."""
        found, damaged, problem = self._files()
        if damaged:
            problem = (
                f"{len(damaged):,} of the files in {self.path} can't be read and were left out: what earlier sessions "
                "showed of system prompts and tools is learnt again. `ullage calibration --forget` deletes them."
            )
        return StoredCalls(kept(found.values()), problem)

    def add(self, call: FirstCall) -> None:
        """Store one session's first call, in the place of an earlier version of it. Raises ``UnwritableStore``.

        An impossible call is not stored.
        """
        if not self._is_possible(call) or not _NAME.fullmatch(f"{call.id}.json"):
            return
        call = msgspec.structs.replace(
            call, program=call.program[:LONGEST_NAME], model=call.model[:LONGEST_NAME]
        )
        name = f"{call.id}.json"
        if self._call(self.path / name) == call:
            return
        found, damaged, _ = self._files()
        wanted = {each.id for each in kept([call, *found.values()])}
        if call.id in wanted:
            write_json(self.path / name, call, "What was learnt of the first call")
        old = [each for each in found if each.removesuffix(".json") not in wanted]
        self._delete([*old, *damaged, *self._leftovers()])

    def forget(self, program: str = "") -> int:
        """Delete the first calls of a program (with or without its version), or all; returns how many they were.

        Raises ``UnwritableStore``.
        """
        found, damaged, _ = self._files()
        gone: list[str] = []
        for name, call in found.items():
            if program in ("", call.program, name_of(call.program)):
                gone.append(name)
        self._delete(gone if program else [*gone, *damaged])
        return len(gone)

    def _files(self) -> tuple[dict[str, FirstCall], list[str], str]:
        """The calls by the names of their files, the files that can't be read, and why the directory can't be."""
        found: dict[str, FirstCall] = {}
        damaged: list[str] = []
        try:
            names = sorted(os.listdir(self.path))
        except FileNotFoundError:
            return found, damaged, ""
        except OSError as problem:
            return found, damaged, f"{self.path} can't be read ({problem.strerror})."
        named = list(filter(_NAME.fullmatch, names))
        for name in named[:MOST_READ]:
            call = self._call(self.path / name)
            if call is not None:
                found[name] = call
            elif (self.path / name).exists():  # else another process has just deleted it
                damaged.append(name)
        return found, damaged, ""

    def _call(self, path: Path) -> FirstCall | None:
        call = read_json(path, _of_file, most=LARGEST_FILE)
        if call is None or f"{call.id}.json" != path.name:
            return None
        return call if self._is_possible(call) else None

    def _is_possible(self, call: FirstCall) -> bool:
        """Whether a call may be stored and read. One from the future would never make way for newer ones."""
        is_bounded = abs(call.tokens) <= LARGEST_CALL and 0 <= call.doubt <= LARGEST_CALL
        return is_bounded and call.at <= self._clock()

    def _delete(self, names: Sequence[str]) -> None:
        delete_files(self.path / name for name in names)

    def _leftovers(self) -> list[str]:
        """Files of writers that were killed before they had renamed them."""
        found: list[str] = []
        for path in self.path.glob(".*.json.*"):
            try:
                if self._clock() - path.stat().st_mtime > LEFTOVER_S:
                    found.append(path.name)
            except OSError:
                continue
        return found
