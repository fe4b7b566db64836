"""Where OpenCode keeps sessions: a directory of small JSON files (version 1) or an SQLite database (since 2026).

Source: https://github.com/anomalyco/opencode, ``packages/opencode/src/storage/storage.ts`` (``session/<project>/<id>``,
``message/<session>/<id>``, ``part/<message>/<id>``) and ``packages/core/src/session/sql.ts`` (tables ``session``,
``message``, ``part`` with the same objects as JSON in ``data``, and the newer ``session_message``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ullage.importers.fields as f
from ullage.codec.dialects import normalise
from ullage.envelope import DATABASE_CELL_BYTES
from ullage.errors import FormatMiss, NotASession, UnreadableInput
from ullage.importers.database import (
    Database,
    StoredSession,
    as_text,
    open_database,
    queries,
)
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.importers.opencode import OpenCodeReader
from ullage.importers.reader import ImportedSession
from ullage.importers.regular import read_regular
from ullage.messages import SystemBlock, clean_text

DatabaseRow = dict[str, Any]


# -- a directory of JSON files --


def read_beside(path: Path, session: OpenCodeReader) -> None:
    """The messages and parts of a session, which are files beside its own, ``storage/session/<project>/<id>.json``."""
    storage = path.parents[2] if len(path.parents) > 2 else path.parent
    name = session.rows.session
    for message_file in sorted((storage / "message" / name).glob("*.json")):
        message = _load(message_file)
        if message is None:
            session.skips.add(0, "torn: a message that is no complete JSON")
            continue
        parts = []
        for part_file in sorted((storage / "part" / message_file.stem).glob("*.json")):
            part = _load(part_file)
            if part is None:
                session.skips.add(0, "torn: a part that is no complete JSON")
            else:
                parts.append(part)
        _add(session, message, parts)
    for child in _children_of(path, name):
        session.subagents.add(child)
        _spend(session, child, _finished_steps(storage, child))


def stored_in_directory(storage: Path) -> list[tuple[Path, StoredSession]]:
    """The sessions of a storage directory, without those of subagents."""
    found = []
    for path in storage.glob("session/*/*.json"):
        info = _load(path)
        if info is not None and not f.text(info, "parentID"):
            found.append((path, _stored(info, f.mapping(info, "time").get("updated"))))
    return found


def _load(path: Path) -> JsonObject | None:
    try:
        value = decode_line(read_regular(path, most=DATABASE_CELL_BYTES))
    except (UnreadableInput, Unusable):
        return None
    return value if isinstance(value, dict) else None


def _children_of(path: Path, name: str) -> list[str]:
    """The sessions of the same project that are subagents of this one."""
    return [
        f.text(info, "id")
        for sibling in sorted(path.parent.glob("*.json"))
        if sibling != path
        and (info := _load(sibling)) is not None
        and f.text(info, "parentID") == name
    ]


def _finished_steps(
    storage: Path, session: str
) -> Iterator[tuple[JsonObject, JsonObject]]:
    for message_file in sorted((storage / "message" / session).glob("*.json")):
        message = _load(message_file) or {}
        for part_file in sorted((storage / "part" / message_file.stem).glob("*.json")):
            part = _load(part_file) or {}
            if f.text(part, "type") == "step-finish":
                yield message, part


# -- a database --


def read_database(path: Path, session: str = "") -> ImportedSession:
    """A session of a database: the one asked for, else the one that was used last.

    Raises ``UnreadableInput`` for a database that can't be opened or is damaged, ``NotASession`` when it holds none.
    """
    with open_database(path, whose="OpenCode's") as database:
        return _read(database, path, session)


def opencode_directory(environment: Mapping[str, str], home: Path) -> Path:
    """The XDG data directory: https://github.com/anomalyco/opencode, ``packages/opencode/src/global``."""
    data = environment.get("XDG_DATA_HOME") or home / ".local" / "share"
    return Path(data) / "opencode"


def opencode_databases(environment: Mapping[str, str], home: Path) -> list[Path]:
    """The databases there; more than one where several channels of the program are installed."""
    data = opencode_directory(environment, home)
    try:
        found = sorted(data.glob("opencode*.db"))
    except OSError:
        found = []
    return found or [data / "opencode.db"]


def stored_in_database(path: Path) -> list[StoredSession]:
    """The sessions of a database, newest first, without those of subagents. Raises ``UnreadableInput``."""
    with open_database(path, whose="OpenCode's") as database:
        rows = [row for row in _select(database, "sessions") if not row.get("parent_id")]
    found = [_stored(row, row.get("time_updated")) for row in rows]
    return sorted(found, key=lambda each: each.updated, reverse=True)


def _select(database: Database, query: str, *values: str) -> Iterator[DatabaseRow]:
    """The rows of a named query, one after the other. Raises ``sqlite3.Error``."""
    for row in database.rows(queries("opencode.sql")[query], *values):
        yield {name: as_text(value) for name, value in row.items()}


def _read(database: Database, path: Path, wanted: str) -> ImportedSession:
    tables = {f.text(row, "name") for row in _select(database, "tables")}
    if "session" not in tables or not tables & {"message", "session_message"}:
        missed = FormatMiss(
            "opencode", "a database without the tables session and message"
        )
        raise NotASession(str(path), (missed,))
    rows = list(_select(database, "sessions"))
    of_all = database.read_bytes
    heads = [row for row in rows if not row.get("parent_id")] or rows
    chosen = (
        [row for row in rows if row.get("id") == wanted]
        if wanted
        else sorted(heads, key=_updated)[-1:]
    )
    if not chosen:
        what = f"no session {wanted}" if wanted else "no session at all"
        raise NotASession(
            str(path), (FormatMiss("opencode", f"a database with {what} in it"),)
        )
    session = OpenCodeReader()
    session.read(_info(chosen[0]))
    name = session.rows.session
    if "session_context_epoch" in tables:
        baselines = [
            f.text(row, "baseline") for row in _select(database, "baseline", name)
        ]
        session.rows.use_system(
            [SystemBlock(text=clean_text(text).text) for text in baselines if text]
        )
    if _newer_form(database, tables, name):
        _read_rows(database, session)
    else:
        _read_messages(database, session)
    children = (
        [f.text(row, "id") for row in rows if row.get("parent_id") == name]
        if "part" in tables
        else []
    )
    for child in children:
        session.subagents.add(child)
        _spend(session, child, _child_steps(database, child))
    own = database.read_bytes - of_all
    return session.imported(session.settle(), str(path), len(heads) - 1, own)


def _updated(row: DatabaseRow) -> float:
    return f.seconds(row.get("time_updated"))


def _info(row: DatabaseRow) -> JsonObject:
    """A row of ``session`` as the object that the JSON files hold."""
    info = dict(row)
    for column in ("revert", "model"):
        info[column] = _value(row.get(column))
    return info


def _value(text: object) -> JsonObject:
    """The JSON object in a column; an empty one for what is none."""
    if not isinstance(text, str) or not text:
        return {}
    try:
        value = decode_line(text.encode("utf-8", "surrogatepass"))
    except Unusable:
        return {}
    return value if isinstance(value, dict) else {}


def _newer_form(database: Database, tables: set[str], session: str) -> bool:
    """Whether ``session_message`` tells more of this session than ``message`` with ``part``."""
    newest = {
        table: max(
            (f.seconds(row.get("newest")) for row in _select(database, query, session)),
            default=0.0,
        )
        for table, query in (
            ("message", "newest_message"),
            ("session_message", "newest_row"),
        )
        if table in tables
    }
    return newest.get("session_message", 0) > newest.get("message", 0)


def _read_messages(database: Database, session: OpenCodeReader) -> None:
    parts: dict[str, list[JsonObject]] = {}
    for row in _select(database, "parts", session.rows.session):
        data = _value(row.get("data"))
        if data:
            parts.setdefault(f.text(row, "message_id"), []).append(
                {**data, "id": row.get("id")}
            )
        else:
            session.skips.add(0, "torn: a part that is no complete JSON")
    for row in _select(database, "messages", session.rows.session):
        data = _value(row.get("data"))
        if data:
            _add(session, {**data, "id": row.get("id")}, parts.get(f.text(row, "id"), []))
        else:
            session.skips.add(0, "torn: a message that is no complete JSON")


def _read_rows(database: Database, session: OpenCodeReader) -> None:
    for row in _select(database, "rows", session.rows.session):
        data = _value(row.get("data"))
        try:
            if not data:
                raise Unusable("torn: a message that is no complete JSON")
            session.row({**data, "id": row.get("id"), "type": row.get("type")})
        except Unusable as why:
            session.skip(str(why))


def _child_steps(
    database: Database, session: str
) -> Iterator[tuple[JsonObject, JsonObject]]:
    messages = {
        f.text(row, "id"): _value(row.get("data"))
        for row in _select(database, "messages", session)
    }
    for row in _select(database, "finished_steps", session):
        part = _value(row.get("data"))
        if f.text(part, "type") == "step-finish":
            yield messages.get(f.text(row, "message_id"), {}), part


# -- both --


def _add(session: OpenCodeReader, message: JsonObject, parts: list[JsonObject]) -> None:
    try:
        session.message(message, parts)
    except Unusable as why:
        session.skip(str(why))


def _spend(
    session: OpenCodeReader, child: str, steps: Iterator[tuple[JsonObject, JsonObject]]
) -> None:
    """The calls of a subagent: spend of this session, never in its window."""
    rows = session.rows
    now = rows.at
    for number, (message, step) in enumerate(steps):
        time = f.mapping(message, "time")
        ended = f.seconds(time.get("completed")) or f.seconds(time.get("created"))
        rows.at = ended or now
        usage = normalise("opencode-v1", f.mapping(step, "tokens"))
        rows.call(
            f"child-{child}-{number}",
            None,
            usage,
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


def recognise(sample: list[object]) -> str:
    """What a JSON object lacks to be an OpenCode session's own file; empty when it fits."""
    for entry in sample:
        if (
            isinstance(entry, dict)
            and str(entry.get("id", "")).startswith("ses_")
            and "time" in entry
        ):
            return ""
    return "no session object with an id ses_… (for a database: no SQLite file)"
