"""Our own sessions in their database, as ``ullage.store`` keeps them (docs/store.md)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

import ullage.importers.fields as f
from ullage.errors import FormatMiss, NotASession, UnreadableInput
from ullage.importers.database import Database, StoredSession, as_text, open_database, unpacked
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.importers.imported import ImportedSession
from ullage.importers.ullage import UllageReader

FILE = "sessions.db"

APPLICATION = b"Ullg"
"""Bytes 68 to 71 of the file, its application id (https://www.sqlite.org/fileformat.html#application_id)."""

VERSION = 2
"""The newest schema that is read here."""


def is_own_database(head: bytes) -> bool:
    """Whether a file that begins so is a database of our sessions."""
    return head[68:72] == APPLICATION


def own_sessions(path: Path) -> list[StoredSession]:
    """The sessions of a database, the one changed last first. Raises ``UnreadableInput``."""
    with _opened(path) as database:
        return [_session(row) for row in database.rows(_queries()["sessions"])]


def read_own_database(path: Path, session: str = "") -> ImportedSession:
    """A session of a database: the one asked for, else the one that was changed last.

    Raises ``UnreadableInput`` for a database that is damaged or of a newer version, ``NotASession`` when it holds none.
    """
    stored = own_sessions(path)
    chosen = next((each for each in stored if session in ("", each.id)), None)
    if chosen is None:
        what = f"no session {session}" if session else "no session at all"
        raise NotASession(str(path), (FormatMiss("ullage", f"a database with {what} in it"),))
    reader = UllageReader(chosen.id)
    reader.titles["program"] = chosen.title
    with _opened(path) as database:
        events = reader.feed(_line(chosen.id, row) for row in database.rows(_queries()["events"], chosen.id))
    return reader.imported([*events, *reader.settle()], str(path), len(stored) - 1)


def _session(row: JsonObject) -> StoredSession:
    """A session's row; a column of another type is as good as empty."""
    first = _first(row.get("body"))
    return StoredSession(_text(row, "id"), _text(row, "title"), f.text(first, "cwd"), f.number(row, "changed") or 0.0)


def _text(row: JsonObject, column: str) -> str:
    return f.text({column: as_text(row.get(column))}, column)


def _line(session: str, row: JsonObject) -> bytes:
    """The event as a line of an exported file; an empty object for bytes that are none."""
    try:
        text = _unpacked(row.get("body"))
    except zlib.error:
        return b"{}"
    seq = f.count(row, "seq") or 0
    at = f.number(row, "at") or 0.0
    envelope = msgspec.json.encode({"session": session, "seq": seq, "id": _text(row, "name") or f"e{seq}", "at": at})
    return text.rstrip()[:-1] + b"," + envelope[1:]


def _unpacked(body: object) -> bytes:
    """The bytes of an event's column; none for a column of another type. Raises ``zlib.error``."""
    data = body if isinstance(body, bytes) else b""
    return unpacked(data) if data[:1] == b"\x78" else data


def _first(body: object) -> JsonObject:
    try:
        value: Any = decode_line(_unpacked(body))
    except (Unusable, zlib.error):
        return {}
    return value if isinstance(value, dict) else {}


@contextmanager
def _opened(path: Path) -> Iterator[Database]:
    """The database, of a version that is read here. Raises ``UnreadableInput``."""
    with open_database(path, whose="one of Ullage's (docs/store.md says how to restore it)") as database:
        version = next(database.rows(_queries()["version"]), {}).get("user_version", 0)
        if not isinstance(version, int) or version > VERSION:
            raise UnreadableInput(f"{path} was written by a newer Ullage (its version is {version}). Update Ullage.")
        yield database


@cache
def _queries() -> dict[str, str]:
    text = files("ullage.importers").joinpath("ullage.sql").read_text()
    named = (piece.partition("\n") for piece in text.split("-- name: ")[1:])
    return {name.strip(): query for name, _, query in named}
