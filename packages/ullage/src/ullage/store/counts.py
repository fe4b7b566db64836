"""What is known of providers' count endpoints, kept across sessions in one JSON file.

It holds digests and numbers, no content and no address, and lies in the platform's directory for user data. It is a
cache: a missing or damaged file is an empty one, and what can't be written is asked for again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from ullage.directories import data_directory
from ullage.store.private_file import read_json, write_json

T = TypeVar("T")

FILE: Final = "counts.json"
VERSION: Final = 1
MOST_PLACES: Final = 500
MOST_PIECES: Final = 5_000
"""Entries that are kept, the newest: the file stays below half a megabyte."""


class KnownEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """How one model's requests are counted at one address. ``way`` is empty where they can't be.

    ``at`` is when that was found, in seconds since 1970.
    """

    way: str
    at: float


class KnownCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Endpoints by a digest of address, wire and model; counts of system prompts and tools by a
    digest of these and the content."""

    version: int = VERSION
    endpoints: dict[str, KnownEndpoint] = {}
    pieces: dict[str, int] = {}

    def plus(self, other: KnownCounts) -> KnownCounts:
        """These and the others, which are newer."""
        return KnownCounts(
            endpoints=_newest(self.endpoints, other.endpoints, MOST_PLACES),
            pieces=_newest(self.pieces, other.pieces, MOST_PIECES),
        )


class CountStore:
    """Reads and replaces the file. Two writers at once leave the later one's entries."""

    def __init__(self, directory: Path | None = None) -> None:
        self.path = (data_directory() if directory is None else directory) / FILE

    def read(self) -> KnownCounts:
        """What is stored; nothing where the file is missing, damaged or of another version."""
        known = read_json(self.path, _of_file)
        if known is None or known.version != VERSION:
            return KnownCounts()
        return known

    def add(self, new: KnownCounts) -> None:
        """Store these beside the others. Raises ``UnwritableStore``."""
        write_json(self.path, self.read().plus(new), "Counts")


_of_file: Final = msgspec.json.Decoder(KnownCounts)


def _newest(old: dict[str, T], new: dict[str, T], most: int) -> dict[str, T]:
    together = {key: value for key, value in old.items() if key not in new} | new
    return dict(list(together.items())[-most:])
