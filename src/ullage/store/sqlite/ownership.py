"""Checks that a database file is the user's own before a command with ``--store`` works in it.

An approval in a store lets a command run, and a server resumes the unfinished work of a store. So a database outside
the user's data directory carries a mark, made of a secret in that directory and of the file's path. An attacker who can
only place a file doesn't know the mark. ``adopt`` takes over a store without it. A program that names a store is
trusted: it could run the command itself.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shlex
import sqlite3
import stat
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from ullage.agent.copies import CopiedSession, SettingsToKeep
from ullage.errors import StoreUnavailable
from ullage.events import Imported, QueueLeft
from ullage.store.failures import unusable
from ullage.store.sqlite.failures import failure
from ullage.store.sqlite.ledger import read, write
from ullage.store.sqlite.opening import (
    connect,
    make_tables,
    open_for_reading,
    set_mark,
    tables_of,
    tables_of_a_store,
)
from ullage.store.sqlite.transaction import Transaction, session_head

SECRET: Final = "store-secret"  # noqa: S105 - the name of a file
"""Its name in the user's data directory."""

_SIZE: Final = 32
"""Bytes of the secret: as many as SHA-256 gives."""


class ForeignStore(StoreUnavailable):
    """The database does not carry the user's mark: a program or another user made it, or it was moved."""

    def __init__(self, path: Path) -> None:
        name = shlex.quote(str(path))
        super().__init__(
            f"The store {path} was made by a program of yours or by another user, or it was moved. It was not opened, "
            "because an approval in it would let a command run. "
            f"`ullage adopt {name}` takes it over: nothing in it is resumed or allowed without asking. "
            f"If it is your own, `ullage adopt --unfinished {name}` resumes its unfinished work as well. "
            f"`ullage context {name}` only looks at it."
        )


def mark_of(path: Path, data: Path) -> bytes:
    """The mark of the user's store at ``path``. Makes the secret where there is none. Raises ``StoreUnavailable``."""
    return hmac.digest(_secret(data), os.fsencode(path.resolve()), "sha256")


def require_own(path: Path, data: Path) -> None:
    """Raise ``ForeignStore`` unless there is no such file yet, or it is the user's own.

    It is where it lies in the user's data directory, or carries the mark of this user and place.
    """
    if (
        not path.exists()
        or path.stat().st_size == 0
        or path.resolve().is_relative_to(data.resolve())
    ):
        return
    row = None
    with suppress(sqlite3.OperationalError), closing(open_for_reading(path)) as database:
        row = database.execute("SELECT value FROM mark").fetchone()
    mark = row[0] if row is not None and (data / SECRET).exists() else None
    if not isinstance(mark, bytes) or not hmac.compare_digest(mark, mark_of(path, data)):
        raise ForeignStore(path)


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
            with suppress(
                FileExistsError
            ):  # another process has just made the secret: use that one
                os.link(name, path)
        finally:
            os.unlink(name)
        return _read(path)
    except OSError as problem:
        raise unusable(problem, path, "secret of your stores,") from problem


def _read(path: Path) -> bytes:
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    with os.fdopen(descriptor, "rb") as file:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        secret = file.read(_SIZE + 1) if is_file else b""
    if len(secret) != _SIZE:
        raise StoreUnavailable(
            f"{path} is not the secret that Ullage made. Put it back from a backup, or move it away: a new one is "
            "made, and stores outside of the data directory then need `ullage adopt --unfinished`."
        )
    return secret


class AdoptedSession(NamedTuple):
    """A session of the store. ``dropped`` lists for a person what was removed from it."""

    session: str
    dropped: tuple[str, ...]


def adopt(path: Path, data: Path, *, keep: SettingsToKeep | None) -> list[AdoptedSession]:
    """Mark the database as the user's own, in one transaction; gives its sessions.

    With ``keep``, each session is closed like an import: unfinished work ends, grants are revoked, and only the
    settings that ``keep`` returns remain. Without it the sessions stay as they are: for the user's own store that was
    moved. Stored folds are removed in both cases, since only the ledger is trusted.

    Raises ``StoreUnavailable``, also for a database with tables, triggers or views of its own.
    """
    if not path.is_file():
        raise StoreUnavailable(f"There is no store {path}. Name the database file.")
    try:
        with closing(connect(path, "mode=rw")) as database:
            return _adopt(database, path, mark_of(path, data), keep)
    except sqlite3.Error as problem:
        raise failure(problem, path) from problem


def _adopt(
    database: sqlite3.Connection, path: Path, mark: bytes, keep: SettingsToKeep | None
) -> list[AdoptedSession]:
    make_tables(database, path, b"")
    if tables_of(database) != tables_of_a_store():
        raise StoreUnavailable(
            f"{path} is no store as Ullage makes them: it lacks tables, or has tables, triggers or views of its own. "
            "Nothing was changed. Ask for its sessions as exported files and import those."
        )
    database.execute("BEGIN IMMEDIATE")
    try:
        work = Transaction(database)
        work.run("delete_all_checkpoints")
        names = [row[0] for row in work.run("session_ids")]
        if keep is None:
            adopted = [AdoptedSession(name, ()) for name in names]
        else:
            work.run("delete_all_drafts")
            work.run("delete_all_due")
            work.run("forget_drivers")
            adopted = [
                AdoptedSession(name, _close_session(work, name, keep)) for name in names
            ]
        set_mark(database, mark)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    return adopted


def _close_session(
    work: Transaction, session: str, keep: SettingsToKeep
) -> tuple[str, ...]:
    """Close one session; returns what was removed from it."""
    where = session_head(work.database, session)
    resting = CopiedSession().add_all(read(work.database, where, after=0)).resting(keep)
    named = {event.message_id for event in resting.events if isinstance(event, QueueLeft)}
    waiting = [row[0] for row in work.run("pending", where.key) if row[0] not in named]
    unnamed = [QueueLeft(message_id=message, how="returned") for message in waiting]
    imported = Imported(origin=session, dropped=resting.dropped)
    write(work, where, [*unnamed, *resting.events, imported], strict=False)
    return resting.dropped
