"""Recognises by its content which program wrote a log, and reads it with that program's reader."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from ullage.envelope import DOCUMENT_BYTES, JSON_VALUES, VALUE_BYTES
from ullage.errors import FormatMiss, NotASession, UnreadableInput
from ullage.events import Event
from ullage.importers.database import DatabaseFormat
from ullage.importers.fields import Unusable, decode_line
from ullage.importers.plain import PlainReader, is_plain
from ullage.importers.reader import ImportedSession, LogFormat, Reader
from ullage.importers.regular import lines_of, open_regular, read_regular, reading
from ullage.importers.ullage import (
    UllageReader,
    is_header,
    is_own_database,
    own_files,
    own_sessions,
    read_own_database,
)
from ullage_programs.programs import FOLDERS
from ullage_programs.refused import refused

SAMPLE_LINES = 60
SAMPLE_BYTES = 4 * 1024 * 1024
"""The sample of a file: programs name themselves in the first lines, but a line may contain an image."""

_COMPRESSED = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"\x1f\x8b": "gunzip",
    b"PK\x03\x04": "unzip",
    b"\xfd7zXZ": "xz -d",
}


FIRST = LogFormat(
    "ullage", is_header, 'no line with "format": "ullage-session"', UllageReader
)
LAST = LogFormat(
    "plain",
    is_plain,
    "no object whose messages, input or contents hold a message, and no message with a role and content",
    PlainReader,
    takes_lists=True,
)


@cache
def formats() -> tuple[LogFormat, ...]:
    """In the order they are tried: formats that name themselves first, plain JSON last."""
    found = _of_programs("FORMAT")
    found.sort(key=lambda each: not each.is_tried_first)
    return (FIRST, *found, LAST)


@cache
def databases() -> tuple[DatabaseFormat, ...]:
    """In the order they are tried. OpenCode's do not name themselves: its tables are looked for in any other one."""
    own = DatabaseFormat(
        "ullage", is_own_database, read_own_database, own_sessions, own_files
    )
    return (own, *_of_programs("DATABASE"))


def _of_programs(name: str) -> list[Any]:
    """What the readers of the programs have under this name."""
    logs = [import_module(f"ullage_programs.{folder}.log") for folder in FOLDERS]
    return [getattr(log, name) for log in logs if hasattr(log, name)]


SQLITE_MAGIC = b"SQLite format 3\0"


def read(path: str | Path, *, session: str = "") -> ImportedSession:
    """Read a session log, whichever program wrote it.

    ``path`` is a log file, a database of ours or of OpenCode, or the directory of the latter; ``session`` chooses one
    of several sessions in a database.

    Raises ``UnreadableInput`` for a file that can't be opened, is compressed or is a damaged database, and
    ``NotASession`` for one that no format fits. Unusable lines never raise: the result lists them.
    """
    where = Path(path)
    if os.path.isdir(where):
        return _read_directory(where, session)
    head = _head(where)
    for database in databases():
        if head.startswith(SQLITE_MAGIC) and database.is_one(head):
            return database.read(where, session)
    for magic, command in _COMPRESSED.items():
        if head.startswith(magic):
            raise UnreadableInput(
                f"{where} is compressed. Unpack it first, for example with: {command} {where.name}"
            )
    known = refused(head)
    if known is not None:
        raise UnreadableInput(f"{where} is {known.what}. {known.instead}")
    imported = _read_text(where, head)
    if not imported.session.endswith(session):
        raise UnreadableInput(
            f"{where} has one session, {imported.session}, and none whose id ends in {session}. Leave out --session."
        )
    return imported


def reader_for(path: str | Path, format_: str = "") -> Reader:
    """A reader for a log of lines that grows; it has read nothing yet.

    The format is chosen by the file's present content, unless it is given. Raises as ``read`` does.
    """
    where = Path(path)
    known = [each for each in formats() if each.name == format_]
    chosen, tried = (known[0], ()) if known else _recognise(_sample(where))
    if chosen is None:
        raise NotASession(str(where), tried)
    return _reader_of(chosen, where)


NAMED_ALIKE = frozenset({"events.jsonl", "api_conversation_history.json"})
"""Logs of these names lie in a directory each, which has the session's id."""


def name_of(path: Path) -> str:
    """The name of the session in a file, as its place tells it."""
    if path.name in NAMED_ALIKE:
        return path.parent.name
    return path.name.partition(".")[0] or path.stem


def _reader_of(chosen: LogFormat, where: Path) -> Reader:
    reader = chosen.reader()
    reader.rows.session = name_of(where)
    if reader.is_undated:
        with open_regular(where) as file:
            reader.rows.at = os.fstat(file.fileno()).st_mtime
    return reader


def _read_directory(where: Path, session: str) -> ImportedSession:
    """OpenCode's data directory; any other directory is no session."""
    for database in databases():
        files = sorted(where.glob(database.pattern)) if database.pattern else []
        if files:
            return database.read(files[-1], session)
    raise UnreadableInput(
        f"No session that was begun in the directory {where} is found. `ullage sessions` lists those that are; "
        "of an older OpenCode, name the file that `opencode export` writes."
    )


def _head(where: Path) -> bytes:
    with open_regular(where) as file, reading(where):
        return file.read(65_536)


def _read_text(where: Path, head: bytes) -> ImportedSession:
    chosen, tried = _recognise(_sample(where))
    if chosen is None:
        return _read_document(where, head, tried)
    reader = _reader_of(chosen, where)
    with open_regular(where) as file, reading(where):
        events = reader.feed(lines_of(file))
    return _read_to_end(reader, where, events)


def _read_to_end(reader: Reader, where: Path, events: list[Event]) -> ImportedSession:
    """The result, with the content of other files that belong to the log."""
    for child in reader.subagent_logs(where):
        reader.subagents.add(child.name)
        reader.feed_subagent(lines_beside(child))
    return reader.imported([*events, *reader.settle()], str(where))


def lines_beside(where: Path) -> Iterator[bytes]:
    """The lines of a file that is read beside another; one that can't be opened has none."""
    try:
        with open_regular(where) as file:
            yield from lines_of(file)
    except (OSError, UnreadableInput):
        return


def _read_document(
    where: Path, head: bytes, tried: tuple[FormatMiss, ...]
) -> ImportedSession:
    """A file that is one JSON value, written over several lines."""
    if head.strip(b"\0 \t\r\n\xef\xbb\xbf")[:1] not in (b"{", b"["):
        what = "it is empty" if not head.strip(b"\0 \t\r\n") else "it holds no JSON"
        raise NotASession(f"{where} ({what})", ())
    data = read_regular(where, most=DOCUMENT_BYTES)
    try:
        document = decode_line(data, values=JSON_VALUES + len(data) // VALUE_BYTES)
    except Unusable as why:
        raise NotASession(
            f"{where} (it holds no JSON that can be read: {why})", tried
        ) from None
    chosen, tried = _recognise([document])
    if chosen is None:
        raise NotASession(str(where), tried)
    reader = _reader_of(chosen, where)
    reader.lines = 1
    try:
        reader.accept(document)
    except Unusable as why:
        reader.skip(str(why))
    return _read_to_end(reader, where, [])


def _sample(where: Path) -> list[object]:
    """The JSON values among the first lines of a file."""
    found: list[object] = []
    size = 0
    with open_regular(where) as file, reading(where):
        for line in islice(lines_of(file), SAMPLE_LINES):
            size += len(line)
            with suppress(Unusable):
                found.append(decode_line(line))
            if size > SAMPLE_BYTES:
                break
    return found


def _recognise(sample: list[object]) -> tuple[LogFormat | None, tuple[FormatMiss, ...]]:
    """The first format that fits, and what the sample lacked for the formats before it."""
    missed: list[FormatMiss] = []
    objects = [entry for entry in sample if isinstance(entry, dict)]
    for format_ in formats():
        entries = sample if format_.takes_lists else objects
        if any(format_.fits(entry) for entry in entries):
            return format_, tuple(missed)
        missed.append(FormatMiss(format_.name, format_.lacks))
    return None, tuple(missed)
