"""Whose store a database file is: only the user's own is opened to work in.

An approval that a store holds lets a command run, and a server resumes what the store left unfinished. So a database
outside the user's data directory carries a mark, made of a secret in that directory and of the file's place. Somebody
who can only put a file at the place doesn't know the mark. ``store/adopting.py`` takes over a store without it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shlex
import sqlite3
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from ullage.errors import StoreUnavailable
from ullage.store.failures import unusable

SECRET: Final = "store-secret"  # noqa: S105 - the name of a file
"""Its name in the user's data directory."""

_SIZE: Final = 32
"""Bytes of the secret: as many as SHA-256 gives."""


class ForeignStore(StoreUnavailable):
    """The database does not carry the user's mark: somebody else made it, or it was moved."""

    def __init__(self, path: Path) -> None:
        name = shlex.quote(str(path))
        super().__init__(
            f"The store {path} was made by somebody else, or it was moved. It was not opened, because an approval in "
            f"it would let a command run. `ullage adopt {name}` takes it over: nothing in it is resumed or allowed "
            f"without asking. If it is your own, `ullage adopt --unfinished {name}` resumes its unfinished work as "
            f"well. `ullage context {name}` only looks at it."
        )


def mark_of(path: Path, data: Path) -> bytes:
    """The mark of the user's store at ``path``. Makes the secret where there is none. Raises ``StoreUnavailable``."""
    return hmac.digest(_secret(data), os.fsencode(path.resolve()), "sha256")


def is_own(database: sqlite3.Connection, path: Path, data: Path) -> bool:
    """Whether the database lies in the user's data directory, or carries the mark of this user and place."""
    if path.resolve().is_relative_to(data.resolve()):
        return True
    try:
        row = database.execute("SELECT value FROM mark").fetchone()
    except sqlite3.OperationalError:
        return False
    if not (data / SECRET).exists():
        return False
    return row is not None and isinstance(row[0], bytes) and hmac.compare_digest(row[0], mark_of(path, data))


def set_mark(database: sqlite3.Connection, mark: bytes) -> None:
    """Make the database the user's own, within the caller's transaction."""
    database.execute("DELETE FROM mark")
    database.execute("INSERT INTO mark (value) VALUES (?)", (mark,))


def _secret(data: Path) -> bytes:
    path = data / SECRET
    try:
        with suppress(FileNotFoundError):
            return _read(path)
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=data)  # readable by the user alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(_SIZE))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process made one in this moment: that one counts
                os.link(name, path)
        finally:
            os.unlink(name)
        return _read(path)
    except OSError as problem:
        raise unusable(problem, path, "secret of your stores,") from problem


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        secret = file.read(_SIZE + 1) if is_file else b""
    if len(secret) != _SIZE:
        raise StoreUnavailable(
            f"{path} is not the secret that Ullage made. Put it back from a backup, or move it away: a new one is "
            "made, and stores outside of the data directory then need `ullage adopt --unfinished`."
        )
    return secret
