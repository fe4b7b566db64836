"""Our own sessions in their database, as ``ullage.store`` keeps them (docs/store.md)."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

import ullage.importers.fields as f
from ullage.errors import FormatMiss, NotASession, UnreadableInput
from ullage.importers.fields import Fields, Unusable, decode_line
from ullage.importers.imported import Imported
from ullage.importers.ullage import UllageReader

FILE = "sessions.db"

APPLICATION = b"Ullg"
"""Bytes 68 to 71 of the file, its application id (https://www.sqlite.org/fileformat.html#application_id)."""

VERSION = 1
"""The newest schema that is read here."""

BUSY_TIMEOUT_S = 2.0


class OwnSession(NamedTuple):
    """A session of the database. ``updated`` is seconds since 1970."""

    id: str
    title: str
    directory: str
    updated: float


def is_own_database(head: bytes) -> bool:
    """Whether a file that begins so is a database of our sessions."""
    return head[68:72] == APPLICATION


def own_directory(environment: Mapping[str, str], home: Path, platform: str) -> Path:
    """Where the database lies, by the same rules as ``ullage.store.calibration.data_directory``."""
    if own := environment.get("ULLAGE_DATA"):
        return Path(own).expanduser()
    shared = environment.get("XDG_DATA_HOME", "")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "ullage"
    if platform == "darwin":
        return home / "Library" / "Application Support" / "ullage"
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ullage"
    return home / ".local" / "share" / "ullage"


def own_sessions(path: Path) -> list[OwnSession]:
    """The sessions of a database, the one changed last first. Raises ``UnreadableInput``."""
    try:
        with closing(_open(path)) as database:
            rows = database.execute(_queries()["sessions"]).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        raise _unreadable(path, problem) from problem
    return [OwnSession(name, title, f.text(_first(body), "cwd"), changed) for name, title, changed, body in rows]


def read_own_database(path: Path, session: str = "") -> Imported:
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
    try:
        with closing(_open(path)) as database:
            events = reader.feed(_line(chosen.id, *row) for row in database.execute(_queries()["events"], (chosen.id,)))
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        raise _unreadable(path, problem) from problem
    return reader.imported([*events, *reader.settle()], str(path), len(stored) - 1)


def _line(session: str, seq: int, name: str | None, at: float, body: bytes) -> bytes:
    """The event as a line of an exported file; an empty object for bytes that are none."""
    try:
        text = _unpacked(body)
    except zlib.error:
        return b"{}"
    envelope = msgspec.json.encode({"session": session, "seq": seq, "id": name or f"e{seq}", "at": at})
    return text.rstrip()[:-1] + b"," + envelope[1:]


def _unpacked(body: bytes) -> bytes:
    return zlib.decompress(body) if body[:1] == b"\x78" else body


def _first(body: bytes | None) -> Fields:
    try:
        value: Any = decode_line(_unpacked(body or b"{}"))
    except (Unusable, zlib.error):
        return {}
    return value if isinstance(value, dict) else {}


def _open(path: Path) -> sqlite3.Connection:
    """Open for reading only. Where its log can't be shared (a read-only directory) it is read as it stands on disk."""
    where = f"file:{quote(str(path.absolute()))}"
    try:
        database = sqlite3.connect(f"{where}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)
        try:
            version = database.execute(_queries()["version"]).fetchone()[0]
        except sqlite3.Error:
            database.close()
            raise
    except sqlite3.OperationalError:
        database = sqlite3.connect(f"{where}?mode=ro&immutable=1", uri=True)
        version = database.execute(_queries()["version"]).fetchone()[0]
    if version > VERSION:
        database.close()
        raise UnreadableInput(f"{path} was written by a newer Ullage (its version is {version}). Update Ullage.")
    return database


def _unreadable(path: Path, problem: Exception) -> UnreadableInput:
    return UnreadableInput(f"The database {path} can't be read: {problem}. docs/store.md says how to restore it.")


@cache
def _queries() -> dict[str, str]:
    text = files("ullage.importers").joinpath("ullage.sql").read_text()
    named = (piece.partition("\n") for piece in text.split("-- name: ")[1:])
    return {name.strip(): query for name, _, query in named}
