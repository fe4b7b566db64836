"""Reads SQLite databases of other programs: read-only, each query within limits.

What a damaged or hostile database can hold (huge values, views that never end, columns of other types) ends in
``UnreadableInput``. https://www.sqlite.org/security.html lists these precautions.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from time import thread_time
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from ullage.envelope import (
    DATABASE_CELL_BYTES,
    DATABASE_READ_BYTES,
    DATABASE_ROW_S,
    DATABASE_STEPS,
)
from ullage.errors import UnreadableInput
from ullage.importers.reader import ImportedSession
from ullage.importers.regular import open_regular
from ullage.turns.standing import Standing

BUSY_TIMEOUT_S: Final = 2.0
_STEPS_BETWEEN: Final = 50
"""Steps of SQLite's machine between two looks: each may write a value of the largest size into a temporary file."""


class StoredSession(NamedTuple):
    """A session that a database or a directory holds. ``updated`` is seconds since 1970.

    ``standing`` is how one of our own stands.
    """

    id: str
    title: str
    directory: str
    updated: float
    standing: Standing | None = None


class DatabaseFormat(NamedTuple):
    """Sessions in an SQLite file: everything that is asked of such a format, also where its program keeps the files."""

    name: str
    is_one: Callable[[bytes], bool]
    """Whether a file that begins so is one of these."""
    read: Callable[[Path, str], ImportedSession]
    """Reads one session, the newest if none is named."""
    sessions: Callable[[Path], list[StoredSession]]
    """The sessions in a file."""
    files: Callable[[Mapping[str, str], Path], list[Path]]
    """Where the files are, by the environment and the user's home; the usual place where there is none."""
    pattern: str = ""
    """The names of the files in the program's own directory, which then stands for the newest of them."""


class Database:
    """An open database; ``rows`` gives what a query finds, column by column."""

    def __init__(self, connection: sqlite3.Connection, work: _Work) -> None:
        self._connection = connection
        self._work = work
        self._left = DATABASE_READ_BYTES

    @property
    def read_bytes(self) -> int:
        """How much was read of it so far, as SQLite stores it."""
        return DATABASE_READ_BYTES - self._left

    def rows(self, query: str, *values: str) -> Iterator[dict[str, Any]]:
        """The rows of a query, by column; text as it was stored, with what is no UTF-8 replaced.

        Raises ``sqlite3.Error``, also for more bytes than are read of a database.
        """
        self._work.begin()
        cursor = self._connection.execute(query, values)
        names = [str(column[0]) for column in cursor.description]
        for row in cursor:
            self._left -= sum(len(value) for value in row if isinstance(value, bytes))
            if self._left < 0:
                raise sqlite3.DataError(
                    f"it holds more than {DATABASE_READ_BYTES >> 20:,} MB"
                )
            yield dict(zip(names, row, strict=True))
            self._work.begin()


class _Work:
    """What SQLite does for the next row. Sorting writes temporary files, which a small database can make huge."""

    def __init__(self) -> None:
        self._steps = 0
        self.begin()

    def begin(self) -> None:
        self._since = thread_time()

    def is_too_much(self) -> bool:
        """Called each ``_STEPS_BETWEEN`` steps."""
        self._steps += _STEPS_BETWEEN
        is_slow = thread_time() - self._since > DATABASE_ROW_S
        return is_slow or self._steps > DATABASE_STEPS


@contextmanager
def open_database(path: Path, *, whose: str) -> Iterator[Database]:
    """The database, open for reading. Raises ``UnreadableInput``, also for what goes wrong inside the block."""
    open_regular(path).close()
    try:
        work = _Work()
        with closing(_connected(path, work)) as connection:
            yield Database(connection, work)
    except (sqlite3.Error, MemoryError, UnicodeDecodeError) as problem:
        raise UnreadableInput(
            f"The database {path} can't be read: {_why(problem)}. Check that it is {whose} and not damaged."
        ) from problem


def _why(problem: Exception) -> str:
    said = str(problem)
    if isinstance(
        problem, UnicodeDecodeError
    ):  # Python's, of a message about a table with a damaged name
        return "the names of its tables are damaged"
    if isinstance(problem, MemoryError):
        return "it needs more memory than there is"
    if "interrupted" in said:
        return "its queries do not end"
    return (
        f"it holds a value of more than {DATABASE_CELL_BYTES >> 20} MB"
        if "too big" in said
        else said
    )


@cache
def queries(package: str, file: str) -> dict[str, str]:
    """The statements of a package's SQL file by their names: ``-- name: …`` begins each."""
    text = files(package).joinpath(file).read_text()
    pieces = (piece.partition("\n") for piece in text.split("-- name: ")[1:])
    return {name.strip(): query for name, _, query in pieces}


def as_text(value: object) -> object:
    """The text in a column; what is no text as it is."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def unpacked(body: bytes, words: bytes = b"") -> bytes:
    """The bytes of a compressed value, perhaps against these words.

    Raises ``zlib.error``, also for one that grows beyond its limit.
    """
    inflate = zlib.decompressobj(zdict=words)
    data = inflate.decompress(body, DATABASE_CELL_BYTES)
    if inflate.unconsumed_tail:
        raise zlib.error(f"more than {DATABASE_CELL_BYTES >> 20} MB when decompressed")
    return data


def _connected(path: Path, work: _Work) -> sqlite3.Connection:
    """Open for reading only. Where its log can't be shared (a read-only directory) the file alone is read."""
    where = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        return _guarded(sqlite3.connect(where, uri=True, timeout=BUSY_TIMEOUT_S), work)
    except sqlite3.OperationalError:
        return _guarded(sqlite3.connect(f"{where}&immutable=1", uri=True), work)


def _guarded(connection: sqlite3.Connection, work: _Work) -> sqlite3.Connection:
    try:
        connection.text_factory = bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, DATABASE_CELL_BYTES)
        connection.set_progress_handler(work.is_too_much, _STEPS_BETWEEN)
        for pragma in (
            "trusted_schema = OFF",
            "query_only = ON",
            "cell_size_check = ON",
            "mmap_size = 0",
        ):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
