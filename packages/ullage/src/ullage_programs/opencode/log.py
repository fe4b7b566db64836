"""OpenCode's sessions in its SQLite database, which has taken over the files of earlier versions, and one exported.

Source: https://github.com/anomalyco/opencode, ``packages/core/src/session/sql.ts`` (tables ``session``, ``message`` and
``part`` with JSON in ``data``). 1.18.33 writes to ``session_message`` only behind the flag of an experiment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import ullage.importers.fields as f
from ullage.bounds import TOO_MANY, json_values
from ullage.envelope import (
    DATABASE_CELL_BYTES,
    JSON_VALUES,
    LINE_BYTES,
    LOG_LINES,
    VALUE_BYTES,
)
from ullage.errors import FormatMiss, NotASession
from ullage.importers.database import (
    Database,
    DatabaseFormat,
    StoredSession,
    as_text,
    open_database,
    queries,
)
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.importers.reader import ImportedSession, LogFormat
from ullage_programs.opencode.facts import FACTS
from ullage_programs.opencode.log_messages import OpenCodeReader

DatabaseRow = dict[str, Any]

FILES: Final = "opencode*.db"

NAME_BYTES: Final = 10_000
"""Of a title, a directory or an id. A database may hold any number of sessions, of which each is looked at."""

_JSON: Final = frozenset({"data", "message", "revert"})
"""Columns with JSON, which is decoded as it is stored."""


def read_database(path: Path, session: str = "") -> ImportedSession:
    """A session of a database: the one asked for, else the one that was used last.

    Raises ``UnreadableInput`` for a database that can't be opened or is damaged, ``NotASession`` when it holds none.
    """
    with open_database(path, whose="OpenCode's") as database:
        return _read(database, path, session)


def opencode_databases(environment: Mapping[str, str], home: Path) -> list[Path]:
    """The databases there; more than one where several channels of the program are installed."""
    data = Path(FACTS.logs.directories(environment, str(home))[0])
    try:
        found = sorted(data.glob(FILES))
    except OSError:
        found = []
    return found or [data / "opencode.db"]


def stored_in_database(path: Path) -> list[StoredSession]:
    """The sessions of a database, newest first, without those of subagents. Raises ``UnreadableInput``."""
    with open_database(path, whose="OpenCode's") as database:
        found = [
            _stored(row, row.get("time_updated"))
            for row in _sessions(database)
            if not row.get("parent_id")
        ]
    return sorted(found, key=lambda each: each.updated, reverse=True)


def _select(
    database: Database, query: str, *values: str, longest: int = DATABASE_CELL_BYTES
) -> Iterator[DatabaseRow]:
    """The rows of a named query, one after the other; JSON in them as bytes, text up to its ``longest``.

    Raises ``sqlite3.Error``.
    """
    for row in database.rows(
        queries("ullage_programs.opencode", "log.sql")[query], *values
    ):
        for name in row.keys() - _JSON:
            value = row[name]
            row[name] = as_text(value[:longest] if isinstance(value, bytes) else value)
        yield row


def _sessions(database: Database) -> Iterator[DatabaseRow]:
    return _select(database, "sessions", longest=NAME_BYTES)


def _data(
    database: Database, query: str, session: str
) -> Iterator[tuple[DatabaseRow, bytes]]:
    """The rows of what a session holds, and the JSON of each, which the row has no more.

    Raises ``sqlite3.Error``, also for more rows than a log of as many bytes has lines.
    """
    for number, row in enumerate(_select(database, query, session)):
        if number > LOG_LINES + database.read_bytes // LINE_BYTES:
            raise sqlite3.DataError("it holds too many rows for its size")
        data = row.pop("data")
        yield row, data if isinstance(data, bytes) else b""


def _read(database: Database, path: Path, wanted: str) -> ImportedSession:
    tables = {f.text(row, "name") for row in _select(database, "tables")}
    if not tables >= {"session", "message"}:
        missed = FormatMiss(
            "opencode", "a database without the tables session and message"
        )
        raise NotASession(str(path), (missed,))
    chosen, others = _chosen(database, wanted)
    if chosen is None:
        what = f"no session {wanted}" if wanted else "no session at all"
        raise NotASession(
            str(path), (FormatMiss("opencode", f"a database with {what} in it"),)
        )
    of_all = database.read_bytes
    session = OpenCodeReader()
    session.read(_info(chosen))
    name = session.rows.session
    _read_messages(database, session)
    own = database.read_bytes - of_all
    for row in _sessions(database):
        if row.get("parent_id") == name:
            before = database.read_bytes
            child = f.text(row, "id")
            session.subagents.add(child)
            _spend(database, session, child)
            own += database.read_bytes - before
    return session.imported(session.settle(), str(path), others, own)


def _chosen(database: Database, wanted: str) -> tuple[DatabaseRow | None, int]:
    """The session that is asked for, else the one that was used last; how many others there are beside subagents'."""
    chosen: dict[bool, DatabaseRow] = {}
    count = {True: 0, False: 0}
    for row in _sessions(database):
        is_child = bool(row.get("parent_id"))
        count[is_child] += 1
        best = chosen.get(is_child, row)
        if row.get("id") == wanted or (not wanted and _updated(row) >= _updated(best)):
            chosen[is_child] = row
    has_heads = count[False] > 0
    found = chosen.get(False) or (chosen.get(True) if wanted or not has_heads else None)
    return found, count[not has_heads] - 1


def _updated(row: DatabaseRow) -> float:
    return f.seconds(row.get("time_updated"))


def _info(row: DatabaseRow) -> JsonObject:
    """A row of ``session`` as the session's own object."""
    return {**row, "revert": _value(row.get("revert"))}


def _value(data: object) -> JsonObject:
    """The JSON object in a column; an empty one for what is none."""
    if not isinstance(data, bytes) or not data:
        return {}
    try:
        value = decode_line(data)
    except Unusable:
        return {}
    return value if isinstance(value, dict) else {}


def _read_messages(database: Database, session: OpenCodeReader) -> None:
    """The messages with their parts, which come in the same order."""
    name = session.rows.session
    parts = groupby(
        _data(database, "parts", name), lambda part: f.text(part[0], "message_id")
    )
    next_parts = next(parts, None)
    for row, data in _data(database, "messages", name):
        message = _value(data)
        own: list[JsonObject] = []
        if next_parts is not None and next_parts[0] == row.get("id"):
            own = _parts(next_parts[1], session)
            next_parts = next(parts, None)
        if message:
            _add(session, {**message, "id": row.get("id")}, own)
        else:
            session.skips.add(0, "torn: a message that is no complete JSON")


def _parts(
    rows: Iterable[tuple[DatabaseRow, bytes]], session: OpenCodeReader
) -> list[JsonObject]:
    """The parts of a message, which hold together as many values as one JSON text may."""
    parts = []
    left = JSON_VALUES
    for row, data in rows:
        left += len(data) // VALUE_BYTES - json_values(data)
        if left < 0:
            session.skips.add(0, TOO_MANY)
            break
        value = _value(data)
        if value:
            parts.append({**value, "id": row.get("id")})
        else:
            session.skips.add(0, "torn: a part that is no complete JSON")
    return parts


def _add(session: OpenCodeReader, message: JsonObject, parts: list[JsonObject]) -> None:
    try:
        session.message(message, parts)
    except Unusable as why:
        session.skip(str(why))


def _spend(database: Database, session: OpenCodeReader, child: str) -> None:
    """The calls of a subagent: spend of this session, never in its window."""
    rows = session.rows
    now = rows.at
    for number, (row, data) in enumerate(_data(database, "finished_steps", child)):
        step, message = _value(data), _value(row.get("message"))
        if f.text(step, "type") != "step-finish":
            continue
        time = f.mapping(message, "time")
        ended = f.seconds(time.get("completed")) or f.seconds(time.get("created"))
        rows.at = ended or now
        rows.call(
            f"child-{child}-{number}",
            None,
            session.usage(f.mapping(step, "tokens")),
            purpose="child",
            model=f.text(message, "modelID"),
        )
    rows.at = now


def _stored(info: JsonObject, updated: object) -> StoredSession:
    return StoredSession(
        f.text(info, "id"),
        f.text(info, "title"),
        f.text(info, "directory"),
        f.seconds(updated),
    )


DATABASE = DatabaseFormat(
    "opencode",
    lambda head: True,
    read_database,
    stored_in_database,
    opencode_databases,
    pattern=FILES,
)


class ExportReader(OpenCodeReader):
    """Reads what ``opencode export`` writes: the session's own object, and its messages with their parts."""

    def read(self, entry: JsonObject) -> None:
        super().read(f.mapping(entry, "info"))
        for each in f.objects(entry, "messages"):
            _add(self, f.mapping(each, "info"), f.objects(each, "parts"))


def is_export(entry: JsonObject) -> bool:
    """Whether an object is a session with its messages: ``packages/opencode/src/cli/cmd/export.ts``."""
    messages = f.objects(entry, "messages")
    return "info" in entry and any(each.keys() >= {"info", "parts"} for each in messages)


FORMAT = LogFormat(
    "opencode",
    is_export,
    "no object of an `info` and of messages with parts",
    ExportReader,
)
