"""Errors of stored data that every store has in common."""

from __future__ import annotations

import zlib
from pathlib import Path

from ullage.encoding import UndecodableRow
from ullage.errors import StoreUnavailable

UNREADABLE = (zlib.error, UndecodableRow, UnicodeDecodeError)
"""Errors of reading a row whose bytes were changed after the write."""


def unusable(problem: OSError, path: Path, what: str = "database") -> StoreUnavailable:
    """Our error for a directory that can't be created, or a file that can't be read."""
    return StoreUnavailable(
        f"The {what} {path} can't be used ({problem.strerror or problem}). Make its directory and allow writing "
        "there, or choose another place"
        + (" with ULLAGE_DATA." if what == "database" else ".")
    )
