"""Our own sessions, as ``ullage.store.export`` writes them: a header, then one event of ``ullage.events`` a line.

docs/store.md describes the format. Lines with kept data (``{"kept": …}``) are no part of the conversation. Lines that
hold no event are skipped, and the others numbered anew. Whether these fit together is nothing that is asked here: what
folds them takes any order.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

import ullage.importers.fields as f
from ullage.bounds import json_excess
from ullage.directories import data_directory
from ullage.encoding import UndecodableRow, decode_event
from ullage.envelope import LOG_LINE_BYTES
from ullage.errors import FormatMiss, NotASession, UnreadableInput
from ullage.event_words import EVENT_WORDS
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    ModelChanged,
    Renamed,
    SessionStarted,
    UnknownEvent,
)
from ullage.importers.database import (
    Database,
    StoredSession,
    as_text,
    open_database,
    queries,
    unpacked,
)
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.importers.reader import TOO_LONG, ImportedSession, Reader
from ullage.messages import TextPart
from ullage.turns.standing import standing_now, standing_of
from ullage_programs.settings import PROXY_FILE

FORMAT = "ullage-session"
"""What the header's ``format`` says."""


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    session: str = ""
    title: str = ""


_of_header: Final = msgspec.json.Decoder(_Header)


class UllageReader(Reader):
    """Reads the events of one session."""

    format = "ullage"

    def __init__(self) -> None:
        super().__init__()
        self._events: list[Event] = []
        self._seq = 0
        self._open: dict[str, CallStarted] = {}

    def feed(self, lines: Iterable[bytes]) -> list[Event]:
        for line in lines:
            self.lines += 1
            self.size_bytes += len(line)
            self._check_length()
            text = line
            if not (line.startswith(b"{") and line.endswith(b"}\n")):
                text = line.strip(b"\0 \t\r\n")  # a copy, which a long line is spared
            if not text:
                continue
            try:
                self.line(text)
            except Unusable as why:
                self.skip(str(why))
        return self._taken()

    def line(self, text: bytes) -> None:
        """Read one line. Raises ``Unusable``."""
        if len(text) > LOG_LINE_BYTES:
            raise Unusable(TOO_LONG)
        if excess := json_excess(text):
            raise Unusable(excess)
        if text.startswith(b'{"kept":'):
            return
        if text.startswith(b'{"format":'):
            self._header(text)
            return
        try:
            event = decode_event(text)
        except UndecodableRow:
            raise Unusable(
                "torn, or no event: no JSON object, or a field with a value it can't have"
            ) from None
        self._note(event)
        self._put(event)

    def settle(self) -> list[Event]:
        self.close()
        return self._taken()

    def read(self, entry: JsonObject) -> None:
        self.line(msgspec.json.encode(entry))

    def close(self) -> None:
        for call in list(self._open.values()):
            self._put(
                CallEnded(
                    call=call.call, outcome="dropped", purpose=call.purpose, at=call.at
                )
            )
        self._open.clear()

    # -- inside --

    def _header(self, text: bytes) -> None:
        try:
            header = _of_header.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise Unusable("a header that can't be read") from None
        self.rows.session = header.session or self.rows.session
        if header.title:
            self.titles["program"] = header.title

    def _taken(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _put(self, event: Event) -> None:
        self._seq += 1
        place: dict[str, object] = {"session": self.rows.session, "seq": self._seq}
        if isinstance(event, UnknownEvent):
            fields = msgspec.json.decode(event.raw, type=dict[str, msgspec.Raw])
            place["raw"] = msgspec.Raw(msgspec.json.encode({**fields, **place}))
        self._events.append(msgspec.structs.replace(event, **place))

    def _note(self, event: Event) -> None:
        """What an event says about the session, and whether a call is open."""
        rows = self.rows
        match event:
            case SessionStarted():
                rows.model, rows.wire = event.model, event.wire
                rows.provider = event.provider
                rows.cwd = event.cwd or rows.cwd
                rows.program = event.program or rows.program
                if event.title:
                    self.titles["person"] = event.title
            case Renamed():
                self.titles["person"] = event.title
            case ModelChanged():
                rows.model = event.model
            case MessageAdded(message=message):
                if message.role == "user" and message.origin == "said":
                    texts = message.of_type(TextPart)
                    self.prompted(
                        next((each.text for each in texts if not each.name), "")
                    )
            case CallStarted():
                self._open[event.call] = event
            case CallEnded():
                self._open.pop(event.call, None)


def is_header(entry: JsonObject) -> bool:
    """Whether a line is the header of an exported session."""
    return entry.get("format") == FORMAT


# -- the database --

FILE = "sessions.db"

APPLICATION = b"Ullg"
"""Bytes 68 to 71 of the file, its application id (https://www.sqlite.org/fileformat.html#application_id)."""

VERSION = 1
"""Of the schema that is read here."""


PROXY_CHILD: Final = ".child-"
CHILD_MARKS: Final = ("/", PROXY_CHILD)
"""What stands in the id of a subagent's session behind that of the session it works for: of an agent, of a proxy."""


def _rows(database: Database, query: str, *values: str) -> Iterator[JsonObject]:
    """The rows that the query of this name finds, see ``Database``."""
    return database.rows(queries("ullage.importers", "ullage.sql")[query], *values)


def is_own_database(head: bytes) -> bool:
    """Whether a file that begins so is a database of our sessions."""
    return head[68:72] == APPLICATION


def own_files(environment: Mapping[str, str], home: Path) -> list[Path]:
    """The databases that sessions are stored in where none is named: of the agent's own, and of those it metered."""
    directory = data_directory({**environment, "HOME": str(home)})
    proxied = directory / PROXY_FILE
    own = [directory / FILE]
    return [*own, proxied] if proxied.exists() else own


def own_sessions(path: Path) -> list[StoredSession]:
    """The sessions of a database without a proxy's subagents, the one changed last first.

    Raises ``UnreadableInput``.
    """
    with _opened(path) as database:
        found: list[StoredSession] = []
        for row in _rows(database, "sessions"):
            session = _session(row)
            origin = _text(row, "origin")
            if not origin or not session.id.startswith(origin + PROXY_CHILD):
                found.append(session)
        return found


def _every_session(path: Path) -> list[StoredSession]:
    with _opened(path) as database:
        return [_session(row) for row in _rows(database, "sessions")]


def read_own_database(path: Path, session: str = "") -> ImportedSession:
    """A session of a database: the one asked for, else the one that was changed last.

    Raises ``UnreadableInput`` for a database that is damaged or of a newer version, ``NotASession`` when it holds none.
    """
    stored = _every_session(path) if session else own_sessions(path)
    chosen = next((each for each in stored if session in ("", each.id)), None)
    if chosen is None:
        what = f"no session {session}" if session else "no session at all"
        raise NotASession(
            str(path), (FormatMiss("ullage", f"a database with {what} in it"),)
        )
    reader = UllageReader()
    reader.rows.session = chosen.id
    reader.titles["program"] = chosen.title
    with _opened(path) as database:
        events = reader.feed(
            _line(chosen.id, row) for row in _rows(database, "events", chosen.id, "0")
        )
        _find_children(database, reader)
        size = database.read_bytes
    others = len(stored) - 1
    return reader.imported([*events, *reader.settle()], str(path), others, size)


def _find_children(database: Database, reader: UllageReader) -> None:
    reader.subagents.update(_children_of(database, reader.rows.session))


def _children_of(database: Database, session: str) -> list[str]:
    found: list[str] = []
    for mark in CHILD_MARKS:
        for row in _rows(database, "children", session + mark):
            found.append(_text(row, "id"))
    return found


def child_lines(path: Path, session: str) -> Iterator[bytes]:
    """The events of the subagents of a session, as lines. Raises ``UnreadableInput``."""
    with _opened(path) as database:
        for child in _children_of(database, session):
            for row in _rows(database, "events", child, "0"):
                line = _line(child, row)
                if not json_excess(line):
                    yield line


class GrowingRows:
    """Follows one session of a database: only events that were added are read."""

    def __init__(self, path: Path, session: str) -> None:
        self.reader = UllageReader()
        self.reader.rows.session = session
        self._path = path
        self._session = session
        self._seq = 0
        self._last = b""
        """The last event that was read; the next look compares it."""

    def new_events(self) -> list[Event] | None:
        """What was added; ``None`` where the session is no longer the one that was read.

        Raises ``UnreadableInput``.
        """
        lines: list[bytes] = []
        seq = self._seq
        with _opened(self._path) as database:
            for row in _rows(database, "events", self._session, str(seq)):
                lines.append(_line(self._session, row))
                seq = f.count(row, "seq") or seq
            _find_children(database, self.reader)
        if self._last and lines[:1] != [self._last]:
            return None
        if self._last:
            lines = lines[1:]
        if lines:
            self._seq, self._last = seq, lines[-1]
        return self.reader.feed(lines)


def _session(row: JsonObject) -> StoredSession:
    """A session's row; a column of another type is as good as empty."""
    first = _first(row.get("body"))
    return StoredSession(
        _text(row, "id"),
        _text(row, "title"),
        f.text(first, "cwd"),
        f.number(row, "changed") or 0.0,
        standing_now(
            standing_of(_text(row, "standing")),
            now=time.time(),
            held_by=_text(row, "held_by"),
            due_at=f.number(row, "due_at"),
            place=_text(row, "place"),
            changed=f.number(row, "changed") or 0.0,
        ),
    )


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
    envelope = msgspec.json.encode(
        {"session": session, "seq": seq, "id": _text(row, "name") or f"e{seq}", "at": at}
    )
    return text.rstrip()[:-1] + b"," + envelope[1:]


def _unpacked(body: object) -> bytes:
    """The bytes of an event's column; none for a column of another type. Raises ``zlib.error``."""
    data = body if isinstance(body, bytes) else b""
    return unpacked(data, EVENT_WORDS) if data[:1] == b"\x78" else data


def _first(body: object) -> JsonObject:
    try:
        value: Any = decode_line(_unpacked(body))
    except (Unusable, zlib.error):
        return {}
    return value if isinstance(value, dict) else {}


@contextmanager
def _opened(path: Path) -> Iterator[Database]:
    """The database, of a version that is read here. Raises ``UnreadableInput``."""
    with open_database(
        path, whose="one of Ullage's (docs/store.md says how to restore it)"
    ) as database:
        version = next(database.rows("PRAGMA user_version"), {}).get("user_version", 0)
        if version != VERSION:
            raise UnreadableInput(
                f"{path} was written by another Ullage: its tables are of version {version}, and this one reads "
                f"version {VERSION}. Export its sessions as JSON lines with that one, and name the files."
            )
        yield database
