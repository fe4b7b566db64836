"""First calls: what programs and agents add beyond their logs, one record for each session.

The records hold numbers, names and digests. One for each first call makes writing atomic: several processes, or one
that is killed, leave whole ones. Their number is bounded.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ullage.bounds import UNREADABLE
from ullage.events import FirstCall
from ullage.meter.overhead import kept
from ullage.store.records import FileRecords, Records

KIND: Final = "overhead"

_ID: Final = re.compile(r"[0-9a-f]{16}")

LONGEST_NAME: Final = 200
"""Characters of a program's or model's name that are kept: it comes from a log."""

LARGEST_CALL: Final = 10_000_000
"""Tokens of a call that are believed: more than any window has."""

_of_record: Final = msgspec.json.Decoder(FirstCall)


class OverheadStore:
    """Reads and writes one store. Safe to cancel anywhere. ``clock`` gives seconds since 1970."""

    def __init__(
        self,
        directory: Path | None = None,
        *,
        records: Records | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records or FileRecords(directory, clock=clock)
        self._clock = clock

    def read(self) -> tuple[FirstCall, ...]:
        """The stored calls, newest first; what is damaged is learnt again. Raises ``UllageError``."""
        return kept(self._calls()[0].values())

    def add(self, call: FirstCall) -> None:
        """Store one session's first call, in the place of an earlier version of it. Raises ``UllageError``.

        An impossible call is not stored.
        """
        if not self._is_possible(call) or not _ID.fullmatch(call.id):
            return
        call = msgspec.structs.replace(
            call, program=call.program[:LONGEST_NAME], model=call.model[:LONGEST_NAME]
        )
        found, damaged = self._calls()
        if found.get(call.id) == call:
            return
        wanted = {each.id for each in kept([call, *found.values()])}
        if call.id in wanted:
            encoded = msgspec.json.encode(call)
            self._records.change(KIND, call.id, lambda _: encoded)
        self._delete([*(found.keys() - wanted), *damaged])

    def _calls(self) -> tuple[dict[str, FirstCall], list[str]]:
        """The calls by their ids, and the ids of those that can't be read."""
        found: dict[str, FirstCall] = {}
        damaged: list[str] = []
        for name, body in self._records.all(KIND).items():
            if not _ID.fullmatch(name):
                continue
            call = self._call(name, body)
            if call is None:
                damaged.append(name)
            else:
                found[name] = call
        return found, damaged

    def _call(self, name: str, body: bytes) -> FirstCall | None:
        try:
            call = _of_record.decode(body)
        except UNREADABLE:
            return None
        return call if call.id == name and self._is_possible(call) else None

    def _is_possible(self, call: FirstCall) -> bool:
        """Whether a call may be stored and read. One from the future would never make way for newer ones."""
        is_bounded = abs(call.tokens) <= LARGEST_CALL and 0 <= call.doubt <= LARGEST_CALL
        return is_bounded and call.at <= self._clock()

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._records.change(KIND, name, lambda _: None)
