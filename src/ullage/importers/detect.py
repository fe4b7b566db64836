"""Recognises by its content which program wrote a log, and reads it with that program's reader."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ullage.envelope import DOCUMENT_BYTES
from ullage.errors import FormatMiss, NotASession, UnreadableInput
from ullage.events import Event
from ullage.importers.claude_code import ClaudeCodeReader, subagent_logs
from ullage.importers.claude_code import recognise as recognise_claude_code
from ullage.importers.codex import CodexReader
from ullage.importers.codex import recognise as recognise_codex
from ullage.importers.copilot_cli import CopilotCliReader
from ullage.importers.copilot_cli import recognise as recognise_copilot_cli
from ullage.importers.database import StoredSession
from ullage.importers.fields import Unusable, decode_line, read_document
from ullage.importers.gemini_cli import GeminiCliReader
from ullage.importers.gemini_cli import recognise as recognise_gemini_cli
from ullage.importers.opencode_storage import (
    opencode_databases,
    read_database,
    stored_in_database,
)
from ullage.importers.pi import PiReader
from ullage.importers.pi import recognise as recognise_pi
from ullage.importers.plain import PlainReader
from ullage.importers.plain import recognise as recognise_plain
from ullage.importers.qwen_code import QwenCodeReader
from ullage.importers.qwen_code import recognise as recognise_qwen_code
from ullage.importers.reader import ImportedSession, Reader
from ullage.importers.regular import lines_of, open_log, open_regular, read_regular
from ullage.importers.ullage import (
    UllageReader,
    is_own_database,
    own_files,
    own_sessions,
    read_own_database,
)
from ullage.importers.ullage import recognise as recognise_ullage

SAMPLE_LINES = 60
SAMPLE_BYTES = 4 * 1024 * 1024
"""The sample of a file: programs name themselves in the first lines, but a line may contain an image."""

_COMPRESSED = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"\x1f\x8b": "gunzip",
    b"PK\x03\x04": "unzip",
    b"\xfd7zXZ": "xz -d",
}


class Format(NamedTuple):
    """A log format: its reader, and a function that names what a sample lacks to be of this format (empty if it is)."""

    name: str
    recognise: Callable[[list[object]], str]
    reader: type[Reader]


FORMATS = (
    Format("ullage", recognise_ullage, UllageReader),
    Format("qwen-code", recognise_qwen_code, QwenCodeReader),
    Format("claude-code", recognise_claude_code, ClaudeCodeReader),
    Format("codex", recognise_codex, CodexReader),
    Format("pi", recognise_pi, PiReader),
    Format("gemini-cli", recognise_gemini_cli, GeminiCliReader),
    Format("copilot-cli", recognise_copilot_cli, CopilotCliReader),
    Format("plain", recognise_plain, PlainReader),
)
"""In the order they are tried: formats that name themselves first, plain JSON last. qwen-code's records have the ids of
Claude Code's, so that they are looked at first."""


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


SQLITE_MAGIC = b"SQLite format 3\0"

DATABASES = (
    DatabaseFormat("ullage", is_own_database, read_own_database, own_sessions, own_files),
    DatabaseFormat(
        "opencode",
        lambda head: True,
        read_database,
        stored_in_database,
        opencode_databases,
    ),
)
"""In the order they are tried. OpenCode's do not name themselves: its tables are looked for in any other database."""


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
    for database in DATABASES:
        if head.startswith(SQLITE_MAGIC) and database.is_one(head):
            return database.read(where, session)
    for magic, command in _COMPRESSED.items():
        if head.startswith(magic):
            raise UnreadableInput(
                f"{where} is compressed. Unpack it first, for example with: {command} {where.name}"
            )
    return _read_text(where, head)


def reader_for(path: str | Path) -> Reader:
    """A reader for a log of lines that grows, chosen by the file's present content; it has read nothing yet.

    Raises as ``read`` does.
    """
    where = Path(path)
    sample = _sample(where)
    chosen, tried = _recognise(sample)
    if chosen is None:
        raise NotASession(str(where), tried)
    return chosen.reader(where.stem)


def _read_directory(where: Path, session: str) -> ImportedSession:
    """OpenCode's data directory; any other directory is no session."""
    databases = sorted(where.glob("opencode*.db"))
    if databases:
        return read_database(databases[-1], session)
    missed = FormatMiss("opencode", "a directory without opencode.db")
    raise NotASession(f"The directory {where}", (missed,))


def _head(where: Path) -> bytes:
    with open_regular(where) as file:
        try:
            return file.read(65_536)
        except OSError as problem:
            raise UnreadableInput(
                f"{where} can't be read: {problem.strerror or problem}."
            ) from problem


def _read_text(where: Path, head: bytes) -> ImportedSession:
    chosen, tried = _recognise(_sample(where))
    if chosen is None:
        return _read_document(where, head, tried)
    reader = chosen.reader(where.stem)
    return _read_to_end(reader, where, _feed(reader, where))


def _read_to_end(reader: Reader, where: Path, events: list[Event]) -> ImportedSession:
    """The result, with the content of other files that belong to the log."""
    if isinstance(reader, ClaudeCodeReader):
        for child in subagent_logs(where, reader.rows.session):
            reader.subagents.add(child.name)
            reader.feed_subagent(lines_beside(child))
    return reader.imported([*events, *reader.settle()], str(where))


def _feed(reader: Reader, where: Path) -> list[Event]:
    with open_log(where) as file:
        try:
            return reader.feed(lines_of(file))
        except OSError as problem:
            raise UnreadableInput(
                f"{where} can't be read: {problem.strerror or problem}."
            ) from problem


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
    """A file that is one JSON value, written over several lines or cut short."""
    if head.strip(b"\0 \t\r\n\xef\xbb\xbf")[:1] not in (b"{", b"["):
        what = "it is empty" if not head.strip(b"\0 \t\r\n") else "it holds no JSON"
        raise NotASession(f"{where} ({what})", tried)
    try:
        document = read_document(read_regular(where, most=DOCUMENT_BYTES))
    except Unusable as why:
        raise NotASession(
            f"{where} (it holds no JSON that can be read: {why})", tried
        ) from None
    chosen, tried = _recognise([document.value])
    if chosen is None:
        raise NotASession(str(where), tried)
    reader = chosen.reader(where.stem)
    reader.lines = 1
    if document.torn:
        reader.skip("torn: the end of the file is missing")
    try:
        reader.accept(document.value)
    except Unusable as why:
        reader.skip(str(why))
    return _read_to_end(reader, where, [])


def _sample(where: Path) -> list[object]:
    """The JSON values among the first lines of a file."""
    found: list[object] = []
    size = 0
    with open_regular(where) as file:
        try:
            for line in islice(lines_of(file), SAMPLE_LINES):
                size += len(line)
                found += _decoded([line])
                if size > SAMPLE_BYTES:
                    break
        except OSError as problem:
            raise UnreadableInput(
                f"{where} can't be read: {problem.strerror or problem}."
            ) from problem
    return found


def _decoded(lines: Iterable[bytes]) -> Iterator[object]:
    for line in lines:
        try:
            yield decode_line(line)
        except Unusable:
            continue


def _recognise(sample: list[object]) -> tuple[Format | None, tuple[FormatMiss, ...]]:
    """The first format that fits, and what the sample lacked for the formats before it."""
    missed: list[FormatMiss] = []
    for format_ in FORMATS:
        lacks = format_.recognise(sample)
        if not lacks:
            return format_, tuple(missed)
        missed.append(FormatMiss(format_.name, lacks))
    return None, tuple(missed)
