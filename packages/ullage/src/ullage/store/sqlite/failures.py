"""Turns SQLite's errors into messages that say what happened and what to do next."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ullage.errors import LedgerError, StoreUnavailable, UllageError

LEAST_FREE_BYTES: Final = 65_536
"""With less a disk counts as full: SQLite takes 32 KiB at once for the index of its log (https://sqlite.org/walformat.html)."""

_FULL_OR_BROKEN: Final = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
"""What SQLite says too where the disk has no room for the files beside the database."""


def primary_code(problem: sqlite3.Error) -> int:
    """SQLite's code without its extension; 0 where an error has none (https://www.sqlite.org/rescode.html)."""
    return (getattr(problem, "sqlite_errorcode", None) or 0) & 0xFF


def free_bytes(path: Path) -> int | None:
    """The room on the disk of a file; ``None`` where it can't be told."""
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return None


def disk_full(path: Path) -> StoreUnavailable:
    """Our error where there is no room for another write."""
    return StoreUnavailable(
        f"The disk is full: nothing more can be stored in {path}. What was stored is unchanged. "
        "Make room on that disk, then try again."
    )


def failure(
    problem: sqlite3.Error,
    path: Path,
    free: Callable[[Path], int | None] = free_bytes,
) -> UllageError:
    """Our error for one of SQLite's. ``free`` tells the room on a file's disk."""
    if isinstance(problem, sqlite3.IntegrityError):
        return LedgerError(
            f"The write contradicts the stored data ({problem}). Nothing was written."
        )
    code = primary_code(problem)
    if code in _FULL_OR_BROKEN:
        room = free(path)
        if room is not None and room < LEAST_FREE_BYTES:
            return disk_full(path)
    if "no such module" in str(problem):
        return StoreUnavailable(
            f"The SQLite of this Python has no FTS5, which the search in {path} needs. Nothing was written. Use "
            "another Python: those of python.org, of uv and of Linux distributions have it."
        )
    match code:
        case sqlite3.SQLITE_FULL:
            return disk_full(path)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnavailable(
                f"The database {path} may not be written ({problem}). Allow writing the file and its directory, "
                "or point ULLAGE_DATA to another directory."
            )
        case sqlite3.SQLITE_CANTOPEN:
            return StoreUnavailable(
                f"The database {path} can't be opened ({problem}). Check that its directory exists and may be written, "
                "or point ULLAGE_DATA to another directory."
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreUnavailable(
                f"{path} is damaged or no database ({problem}). Nothing was written. Move it away together with the "
                f"files {path.name}-wal and {path.name}-shm beside it to begin a new one, or put a backup in its "
                f"place; `sqlite3 {path.name} .recover` saves what can be read."
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreUnavailable(
                f"Another program has kept the database {path} locked ({problem}). Nothing was written. End that "
                "program's transaction and try again."
            )
        case sqlite3.SQLITE_IOERR:
            return StoreUnavailable(
                f"The disk failed under the database {path} ({problem}). Nothing was acknowledged. Check the disk "
                "and its free space, and try again."
            )
        case sqlite3.SQLITE_TOOBIG:
            return StoreUnavailable(
                f"One value is larger than a row of {path} can hold ({problem}). Store a smaller one."
            )
    return StoreUnavailable(
        f"The database {path} failed ({problem}). Nothing was written. Try again; if it stays so, restore a backup."
    )


def damaged(problem: Exception, path: Path) -> StoreUnavailable:
    """Our error for a row with changed bytes."""
    return StoreUnavailable(
        f"A row of {path} is damaged ({problem}). Put a backup in the file's place, or move it away together with "
        f"{path.name}-wal and {path.name}-shm to begin a new one; `sqlite3 {path.name} .recover` saves what it can."
    )
