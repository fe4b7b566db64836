"""Opening the database file: what is asked of SQLite, and making the tables of a new one."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote

from ullage.errors import StoreUnavailable, UllageError
from ullage.store.failures import unusable
from ullage.store.private_file import private_directory
from ullage.store.refusals import other_version
from ullage.store.sqlite.failures import failure, primary_code
from ullage.store.sqlite.transaction import schema

VERSION = 1
"""Of the schema, as ``PRAGMA user_version`` has it."""

APPLICATION = 0x556C6C67
"""``Ullg``, as ``PRAGMA application_id`` has it: the file is one of ours."""

BUSY_TIMEOUT_S = 10.0
"""How long a write waits for another process's. Theirs take milliseconds; a backup may take seconds."""

PAGE_BYTES = 512
"""Of a new file, SQLite's smallest. A commit writes each page that it touches as a whole, and an event takes some 130
bytes (``bench.written``)."""

LOG_PAGES = 8_000
"""After so many pages the log is moved into the file, 4 MB of a new file's; as many are given back at a time."""

OLDEST_SQLITE = (3, 35, 0)

_FOR_ALL = (
    "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; "
    "PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;"
)
"""Rows can't outlive their session, a checkpoint fits into the cache, and no content gets into other files."""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """The connection of the writer; makes the file and its directory where they are missing, private to the user.

    Raises ``StoreUnavailable``.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreUnavailable(
            f"SQLite {sqlite3.sqlite_version} is too old for the store: it needs {oldest} or newer. "
            "Install a newer Python, which brings one."
        )
    try:
        private_directory(path.parent)
        if not path.exists():
            path.touch(mode=0o600)
    except OSError as problem:
        raise unusable(problem, path) from problem
    return opened(path, "mode=rw", _prepare_patiently)


def opened(
    path: Path, mode: str, prepare: Callable[[sqlite3.Connection, Path], object]
) -> sqlite3.Connection:
    try:
        database = connect(path, mode)
        try:
            prepare(database, path)
        except BaseException:
            database.close()
            raise
    except sqlite3.Error as problem:
        raise failure(problem, path) from problem
    return database


def make_tables(database: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new database, in one transaction.

    Raises ``StoreUnavailable`` for a database of another version or of another program.
    """
    if version_of(database) == VERSION and _application(database) == APPLICATION:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        check_version(database, path)
        if version_of(database) == 0:
            _run(database, schema())
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _prepare_patiently(database: sqlite3.Connection, path: Path) -> None:
    """Again while another process prepares the same file, from which one can be turned away at once.

    The change to WAL wants the file alone, and where two want that neither waits: SQLite calls no busy handler that
    could end in a deadlock (https://www.sqlite.org/c3ref/busy_handler.html).
    """
    end = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            return _prepare(database, path)
        except sqlite3.OperationalError as problem:
            if primary_code(problem) != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
        time.sleep(0.01)


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    check_version(database, path)
    if not os.access(path, os.W_OK):
        raise StoreUnavailable(
            f"The database {path} may not be written. Allow it, or point ULLAGE_DATA elsewhere."
        )
    if database.execute("PRAGMA page_count").fetchone()[0] == 0:
        database.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        # Deleted sessions give their space back, a few megabytes at a time.
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")
        # Before the log is in use, so that the file itself says from its first moment whose it is.
        database.execute(f"PRAGMA application_id = {APPLICATION}")
    mode = database.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreUnavailable(
            f"The place of {path} can't hold a database that several programs use (its journal is {mode!r}, not WAL; "
            "network file systems are like that). Point ULLAGE_DATA to a directory on a local disk."
        )
    # FULL where an acknowledgement must survive a power cut: the writer's groups. Without fullfsync macOS syncs only to
    # the drive's cache.
    database.executescript(
        "PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON; PRAGMA journal_size_limit = 16777216;"
        f"PRAGMA wal_autocheckpoint = {LOG_PAGES};"
    )
    make_tables(database, path)


def connect(path: Path, how: str) -> sqlite3.Connection:
    """A connection to the file as it is: nothing of it is checked. Raises ``sqlite3.Error``."""
    database = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?{how}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    # A text that is no UTF-8 is shown as far as it can be, and stops nothing else.
    database.text_factory = partial(str, encoding="utf-8", errors="replace")
    try:
        database.executescript(_FOR_ALL)
    except UnicodeDecodeError as problem:  # SQLite's message quotes what is damaged
        database.close()
        damage = sqlite3.DatabaseError("database disk image is malformed")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage from problem
    return database


def check_version(database: sqlite3.Connection, path: Path) -> None:
    """Raises ``StoreUnavailable`` for a store of another Ullage, or of another program."""
    version = version_of(database)
    if version not in (0, VERSION) and _application(database) == APPLICATION:
        raise other_version(str(path), version, VERSION)
    has_tables = bool(
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    )
    if has_tables and _application(database) != APPLICATION:
        raise StoreUnavailable(
            f"{path} is the database of another program. Point ULLAGE_DATA to another directory. Nothing was changed."
        )


def _run(database: sqlite3.Connection, script: str) -> None:
    """Every statement of a script within the transaction; ``executescript`` would commit first."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            database.execute(statement)
            statement = ""


def failure_of(
    problem: sqlite3.Error, database: sqlite3.Connection | None, path: Path
) -> UllageError:
    """Our error for one of SQLite's in an open database, which another Ullage may have remade meanwhile."""
    if database is not None and primary_code(problem) == sqlite3.SQLITE_ERROR:
        try:
            check_version(database, path)
        except StoreUnavailable as other:
            return other
    return failure(problem, path)


def version_of(database: sqlite3.Connection) -> int:
    """The version of the schema; 0 for a file without one."""
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _application(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA application_id").fetchone()[0])
