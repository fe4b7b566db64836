"""What is known of providers' count endpoints, kept across sessions in one record.

It holds digests and numbers, no content and no address. It is a cache: a missing or damaged record is an empty one, and
what can't be written is asked for again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from ullage.bounds import UNREADABLE
from ullage.store.records import FileRecords, Records

T = TypeVar("T")

KIND: Final = "counts"
KEY: Final = "known"
MOST_PLACES: Final = 500
MOST_PIECES: Final = 5_000
"""Entries that are kept, the newest: the record stays below half a megabyte."""


class KnownEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How one model's requests are counted at one address. ``way`` is empty where they can't be.

    ``at`` is when that was found, in seconds since 1970.
    """

    way: str
    at: float


class KnownCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Endpoints by a digest of address, wire and model; counts of system prompts and tools by a
    digest of these and the content."""

    endpoints: dict[str, KnownEndpoint] = {}
    pieces: dict[str, int] = {}

    def plus(self, other: KnownCounts) -> KnownCounts:
        """These and the others, which are newer."""
        return KnownCounts(
            endpoints=_newest(self.endpoints, other.endpoints, MOST_PLACES),
            pieces=_newest(self.pieces, other.pieces, MOST_PIECES),
        )


class CountStore:
    """Reads and changes the record. Both raise ``UllageError`` where its place can't be read or written."""

    def __init__(
        self, directory: Path | None = None, *, records: Records | None = None
    ) -> None:
        self._records: Records = records or FileRecords(directory)

    def read(self) -> KnownCounts:
        """What is stored; nothing where the record is missing or damaged."""
        return _read(self._records.all(KIND).get(KEY))

    def add(self, new: KnownCounts) -> None:
        """Store these beside the others."""
        self._records.change(
            KIND, KEY, lambda body: msgspec.json.encode(_read(body).plus(new))
        )


_of_record: Final = msgspec.json.Decoder(KnownCounts)


def _read(body: bytes | None) -> KnownCounts:
    try:
        return _of_record.decode(body or b"")
    except UNREADABLE:
        return KnownCounts()


def _newest(old: dict[str, T], new: dict[str, T], most: int) -> dict[str, T]:
    together = {key: value for key, value in old.items() if key not in new} | new
    return dict(list(together.items())[-most:])
