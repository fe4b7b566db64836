"""Checks that a database file is the user's own before a command with ``--store`` works in it.

An approval in a store lets a command run, and a server resumes the unfinished work of a store. So the file and its
directory belong to this user or to root, only the user may read the file, and only the user may write in the directory,
as ssh demands it of its keys. A checkout or an unpacked archive of another person fails: its files can be read by all.
A program that names a store is trusted: it could run the command itself.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import Final

from ullage.errors import StoreUnavailable

ROOT: Final = 0
"""The user who may do everything on this machine anyway."""

NOTHING: Final = 0
"""Of a symbolic link only the owner is asked: its mode has no effect."""

OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
"""What a file may not allow to anybody but its user."""

OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
"""What a directory may not allow: who writes there puts another file in the place of the store, or a log beside it."""


class ForeignStore(StoreUnavailable):
    """Another user owns the database or its directory, or may write there."""


def require_own(path: Path) -> None:
    """Raise ``ForeignStore`` unless the file and its directory are this user's alone; either may not exist yet.

    A symbolic link is checked where it is and where it leads to. Windows has no such owners: nothing is checked there.
    """
    if not hasattr(os, "getuid"):
        return
    real = path.resolve()
    if path.is_symlink():
        _check(path, NOTHING, "")
        _check(path.parent, OTHERS_WRITE, "go-w")
    _check(real.parent, OTHERS_WRITE, "go-w")
    for each in (real, *_logs_of(real)):
        _check(each, OTHERS, "600")


def _logs_of(path: Path) -> list[Path]:
    """What SQLite keeps beside a file and believes as much."""
    return [path.with_name(path.name + ending) for ending in ("-wal", "-shm", "-journal")]


def _check(path: Path, denied: int, mode: str) -> None:
    """Raise ``ForeignStore`` where another user owns this, or its mode has one of the bits ``denied``."""
    try:
        found = path.lstat() if denied == NOTHING else path.stat()
    except FileNotFoundError:
        return
    except OSError as problem:
        raise ForeignStore(
            f"Who owns {path} can't be found out ({problem.strerror}), so the store was not opened. Allow this user to "
            "read its directory, or name another store."
        ) from problem
    name = shlex.quote(str(path))
    if found.st_uid not in (os.getuid(), ROOT):
        raise ForeignStore(
            f"{path} belongs to another user. It was not opened, because an approval in a store lets a command run. "
            f"If you trust what is in it, make it yours: `chown -h {os.getuid()} {name}`. "
            "`ullage context` only looks at a store."
        )
    if found.st_mode & denied:
        can = "read or change" if denied == OTHERS else "write to"
        raise ForeignStore(
            f"Other users may {can} {path}. It was not opened, because an approval in a store lets a command run. "
            f"If you trust what is in it, make it yours alone: `chmod {mode} {name}`. "
            "`ullage context` only looks at a store."
        )
