"""Our own sessions, as ``ullage.store.export`` writes them: a header, then one event of ``ullage.events`` a line.

docs/store.md describes the format. Lines with kept data (``{"kept": …}``) are no part of the conversation. What is
left of a damaged file has to make sense by itself: an event that can't follow the ones before it is skipped, a call
whose beginning or end is missing gets one, and all are numbered anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

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
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    Pruned,
    Renamed,
    Rewound,
    SessionStarted,
    Uncompacted,
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
from ullage.messages import Message, TextPart
from ullage_programs.settings import PROXY_FILE

FORMAT = "ullage-session"
"""What the header's ``format`` says."""


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    session: str = ""
    title: str = ""


_of_header: Final = msgspec.json.Decoder(_Header)


class _PlacedSummary(NamedTuple):
    """The ids in view before and after a compaction, and the one that its summary stands behind."""

    before: list[str]
    after: list[str]
    behind: str


class UllageReader(Reader):
    """Reads the events of one session."""

    format: ClassVar[str] = "ullage"

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self._events: list[Event] = []
        self._seq = 0
        self._view: list[str] = []
        self._added: dict[str, Message] = {}
        self._parts: set[str] = set()
        self._open: dict[str, CallStarted] = {}
        self._calls: set[str] = set()
        self._epochs: dict[str, _PlacedSummary] = {}
        """For each compaction in force, the view before and after it."""
        self._follow: dict[type, Callable[..., Event | None]] = {
            SessionStarted: self._started,
            Renamed: self._renamed,
            ModelChanged: self._model,
            MessageAdded: self._add,
            MessageReplaced: self._replace,
            Pruned: self._prune,
            Rewound: self._rewind,
            CompactionCommitted: self._compact,
            Uncompacted: self._uncompact,
            CallStarted: self._call,
            CallEnded: self._end,
        }

    def feed(self, lines: Iterable[bytes]) -> list[Event]:
        for line in lines:
            self.lines += 1
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
        follow = self._follow.get(type(event))
        kept = event if follow is None else follow(event)
        if kept is None:
            raise Unusable(
                f"{event.__struct_config__.tag} does not follow from what was read before it"
            )
        self._put(kept)

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

    # -- what each kind of event needs before it, and does --

    def _started(self, event: SessionStarted) -> Event:
        rows = self.rows
        rows.model, rows.wire, rows.provider = event.model, event.wire, event.provider
        rows.cwd, rows.program = event.cwd or rows.cwd, event.program or rows.program
        if event.title:
            self.titles["person"] = event.title
        return event

    def _renamed(self, event: Renamed) -> Event:
        self.titles["person"] = event.title
        return event

    def _model(self, event: ModelChanged) -> Event:
        self.rows.model = event.model
        return event

    def _add(self, event: MessageAdded) -> Event | None:
        message = event.message
        # what was rewound may come again, and has the same id as it is the same
        if message.id in self._added and message.id in self._view:
            return None
        self._hold(message)
        self._view.append(message.id)
        if message.role == "user" and message.origin == "said":
            said = [part.text for part in message.of_type(TextPart) if not part.name]
            self.prompted(said[0] if said else "")
        return event

    def _replace(self, event: MessageReplaced) -> Event | None:
        held = self._added.get(event.message.id)
        if held is None or event.message.revision <= held.revision:
            return None
        self._hold(event.message)
        return event

    def _prune(self, event: Pruned) -> Event | None:
        parts = tuple(part for part in event.parts if part in self._parts)
        return msgspec.structs.replace(event, parts=parts) if parts else None

    def _rewind(self, event: Rewound) -> Event | None:
        if event.to and event.to not in self._view:
            return None
        self._view = self._view[: self._view.index(event.to) + 1] if event.to else []
        return event

    def _compact(self, event: CompactionCommitted) -> Event | None:
        summary = event.summary
        if event.compaction in self._epochs:
            return None
        summarised = tuple(each for each in event.summarised if each in self._view)
        dropped = tuple(each for each in event.dropped if each.id in self._view)
        replaced = tuple(each for each in event.replaced if each.id in self._view)
        before = self._view
        gone = {*summarised, *(each.id for each in dropped)}
        left = [each for each in before if each not in gone]
        # a message that is summed up may come back as the summary, and has the same id as it is the same
        if summary is not None and summary.id in left:
            return None
        self._view = left
        if summary is not None:
            self._hold(summary)
            front = 0
            if event.behind in self._view:
                front = self._view.index(event.behind) + 1
            self._view.insert(front, summary.id)
        for message in event.added:
            self._hold(message)
            self._view.append(message.id)
        self._epochs[event.compaction] = _PlacedSummary(
            before, list(self._view), event.behind
        )
        for message in replaced:
            self._hold(message)
        return msgspec.structs.replace(
            event, summarised=summarised, dropped=dropped, replaced=replaced
        )

    def _uncompact(self, event: Uncompacted) -> Event | None:
        epoch = self._epochs.pop(event.compaction, None)
        if epoch is None:
            return None
        if epoch.behind and epoch.behind not in self._view:
            return None
        known = {*epoch.after, *epoch.before}
        added = [each for each in self._view if each not in known]
        self._view = epoch.before + added
        return event

    def _call(self, event: CallStarted) -> Event | None:
        if event.call in self._calls:
            return None
        self._calls.add(event.call)
        self._open[event.call] = event
        return event

    def _end(self, event: CallEnded) -> Event | None:
        if self._open.pop(event.call, None) is None:
            if event.call in self._calls:
                return None
            self._calls.add(event.call)
            self._put(CallStarted(call=event.call, purpose=event.purpose, at=event.at))
        return event

    def _hold(self, message: Message) -> None:
        self._added[message.id] = message
        self._parts.update(part.id for part in message.parts)


def recognise(sample: list[object]) -> str:
    """What the first lines of a file lack to be a session of our own; empty when they fit."""
    if any(
        isinstance(entry, dict) and entry.get("format") == FORMAT for entry in sample[:1]
    ):
        return ""
    return f'no first line with "format": "{FORMAT}"'


# -- the database --

FILE = "sessions.db"

APPLICATION = b"Ullg"
"""Bytes 68 to 71 of the file, its application id (https://www.sqlite.org/fileformat.html#application_id)."""

VERSION = 1
"""Of the schema that is read here."""


PROXY_CHILD: Final = ".child-"
CHILD_MARKS: Final = ("/", PROXY_CHILD)
"""What stands in the id of a subagent's session behind that of the session it works for: of an agent, of a proxy."""


class _OwnDatabase:
    """A database of our sessions. ``rows`` gives what the query of a name finds, see ``Database``."""

    def __init__(self, database: Database, named: Mapping[str, str]) -> None:
        self._database = database
        self._queries = named

    @property
    def read_bytes(self) -> int:
        return self._database.read_bytes

    def rows(self, query: str, *values: str) -> Iterator[JsonObject]:
        return self._database.rows(self._queries[query], *values)


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
        for row in database.rows("sessions"):
            session = _session(row)
            origin = _text(row, "origin")
            if not origin or not session.id.startswith(origin + PROXY_CHILD):
                found.append(session)
        return found


def _every_session(path: Path) -> list[StoredSession]:
    with _opened(path) as database:
        return [_session(row) for row in database.rows("sessions")]


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
    reader = UllageReader(chosen.id)
    reader.titles["program"] = chosen.title
    with _opened(path) as database:
        events = reader.feed(
            _line(chosen.id, row) for row in database.rows("events", chosen.id, "0")
        )
        _find_children(database, reader)
        size = database.read_bytes
    others = len(stored) - 1
    return reader.imported([*events, *reader.settle()], str(path), others, size)


def _find_children(database: _OwnDatabase, reader: UllageReader) -> None:
    reader.subagents.update(_children_of(database, reader.rows.session))


def _children_of(database: _OwnDatabase, session: str) -> list[str]:
    found: list[str] = []
    for mark in CHILD_MARKS:
        for row in database.rows("children", session + mark):
            found.append(_text(row, "id"))
    return found


def child_lines(path: Path, session: str) -> Iterator[bytes]:
    """The events of the subagents of a session, as lines. Raises ``UnreadableInput``."""
    with _opened(path) as database:
        for child in _children_of(database, session):
            for row in database.rows("events", child, "0"):
                line = _line(child, row)
                if not json_excess(line):
                    yield line


class GrowingRows:
    """Follows one session of a database: only events that were added are read."""

    def __init__(self, path: Path, session: str) -> None:
        self.reader = UllageReader(session)
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
            for row in database.rows("events", self._session, str(seq)):
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
def _opened(path: Path) -> Iterator[_OwnDatabase]:
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
        yield _OwnDatabase(database, queries("ullage.importers", "ullage.sql"))
