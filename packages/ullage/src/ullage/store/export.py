"""A session as a file of JSON lines, and such a file as a session.

The first line says what the file is. Then comes one event a line, as ``ullage.encoding`` writes it, in order; then the
kept bytes in pieces, as base64. A line can be read without the others, so a file that was cut short loses its end and
nothing else. docs/store.md describes the format.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import stat
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from ullage.bounds import json_excess
from ullage.display.text import quoted
from ullage.encoding import UndecodableRow, decode_event, encode
from ullage.envelope import LOG_LINE_BYTES, SESSION_FILE_BYTES
from ullage.errors import FormatMiss, NotASession, UnreadableInput
from ullage.events import Event, Imported
from ullage.store.copies import SettingsToKeep, closing, keep_nothing
from ullage.store.failures import unusable
from ullage.store.refusals import check_new_id
from ullage.store.store import AT_ONCE, PLACE_PATTERN, SessionStore, handle_of
from ullage_programs.replacement import Replacement

FORMAT = "ullage-session"
VERSION = 1

PACKED: Final = ".gz"
"""The end of the name of a compressed file."""

LEVEL: Final = 6
"""Of the compression."""

PIECE_BYTES = 512 * 1024
"""Of kept data on one line."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line. ``events`` and ``kept`` say how many of each follow, so that a cut file is told from a whole."""

    format: str
    version: int
    session: str
    title: str = ""
    origin: str = ""
    events: int = 0
    kept: int = 0
    place: str = ""


class KeptPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A line with a piece of kept data: ``number`` of ``of``, counted from 0."""

    kept: str
    number: int
    of: int
    data: bytes


_KEPT: Final = b'{"kept":'
_GZIP: Final = b"\x1f\x8b"
_HEADER_BYTES: Final = 100_000  # of the first line
_of_header: Final = msgspec.json.Decoder(Header)
_of_piece: Final = msgspec.json.Decoder(KeptPiece)
_UNDECODABLE: Final = (UndecodableRow, msgspec.MsgspecError, UnicodeDecodeError)
"""Errors of a line that is none of ours."""


class Taken(NamedTuple):
    """What importing gave. ``skipped`` are lines that could not be used, by their number, each with its reason.

    ``dropped`` names, for a person, what the file says and the session does not have: unfinished work, settings.
    """

    session: str
    events: int
    kept: int
    skipped: tuple[tuple[int, str], ...] = ()
    dropped: tuple[str, ...] = ()


def one_line(event: Event) -> bytes:
    """An event's JSON without a line break: opaque data of a provider may have come with some between its values."""
    encoded = encode(event)
    return (
        msgspec.json.format(encoded, indent=-1)
        if b"\n" in encoded or b"\r" in encoded
        else encoded
    )


async def export_lines(store: SessionStore, session: str) -> AsyncIterator[bytes]:
    """The lines of the file, each with its end. Raises ``SessionNotFound``, ``StoreUnavailable``.

    What is written to the session meanwhile is not in it.
    """
    about = await store.about(session)
    handles = await store.handles(session)
    header = Header(
        format=FORMAT,
        version=VERSION,
        session=session,
        title=about.title,
        origin=about.origin,
        events=about.seq,
        kept=len(handles),
        place=about.place,
    )
    yield msgspec.json.encode(header) + b"\n"
    seq = 0
    while seq < about.seq:
        for event in await store.read(
            session, after=seq, limit=min(AT_ONCE, about.seq - seq)
        ):
            seq = event.seq
            yield one_line(event) + b"\n"
    for handle in handles:
        data = await store.kept(session, handle)
        starts = range(0, max(len(data), 1), PIECE_BYTES)
        for number, start in enumerate(starts):
            piece = KeptPiece(
                kept=handle,
                number=number,
                of=len(starts),
                data=data[start : start + PIECE_BYTES],
            )
            yield msgspec.json.encode(piece) + b"\n"


async def export_file(store: SessionStore, session: str, path: Path) -> None:
    """Write the session to a file, in the place of one that is there once all of it is written and on the disk.

    A name that ends with ``.gz`` gets a compressed file. Raises as ``export_lines`` does; the file that was there is
    then as it was.
    """
    await store.about(session)
    try:
        with Replacement(str(path), is_lasting=False) as whole:
            is_packed = path.suffix == PACKED
            file = gzip.GzipFile("", "wb", LEVEL, whole) if is_packed else whole
            waiting: list[bytes] = []
            async for line in export_lines(store, session):
                waiting.append(line)
                if len(waiting) >= AT_ONCE:
                    await asyncio.to_thread(file.writelines, waiting)
                    waiting = []
            await asyncio.to_thread(file.writelines, waiting)
            if is_packed:
                file.close()
            await asyncio.to_thread(_on_the_disk, whole)
    except OSError as problem:
        raise unusable(problem, path, "file") from problem


def _on_the_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


async def import_file(
    store: SessionStore,
    path: Path,
    session: str = "",
    *,
    keep: SettingsToKeep = keep_nothing,
    place: str | None = None,
    keeps_names: bool = True,
) -> Taken:
    """Make a session of an exported file, under its own id or another, at its own place or another.

    The session is at rest, whatever the file says: unfinished work is closed, queued messages leave the queue, and of
    its own settings it has those that ``keep`` gives back. Nothing runs before a person sends a message. Without
    ``keeps_names`` nobody is named as the one who said or approved something.

    Lines that can't be used, such as a torn last one, are skipped and named; the events are numbered anew without
    them. Raises ``NotASession`` for a file that no export wrote, ``UnreadableInput`` for one that can't be opened or
    was written in a newer format, ``CommandRefused`` when the session's id is taken or can't be one.
    """
    try:
        read = await asyncio.to_thread(_read_file, path)
    except OSError as problem:
        raise _unopened(path, problem) from problem
    name = session or read.header.session
    check_new_id(name)
    events = read.events if keeps_names else [*map(_unnamed, read.events)]
    resting = await asyncio.to_thread(closing, events, keep)
    imported = Imported(origin=read.header.session, dropped=resting.dropped)
    await store.create(
        name,
        [*events, *resting.events, imported],
        origin=read.header.origin,
        place=read.header.place if place is None else place,
    )
    skipped, kept = read.skipped, 0
    for handle, pieces in read.kept.items():
        data = _whole(pieces)
        if data is not None:
            await store.keep(name, data)
            kept += 1
        else:
            skipped.append((0, f"kept data {handle} is not whole"))
    lost_events = max(read.header.events - len(read.events), 0)
    lost_kept = max(read.header.kept - len(read.kept), 0)
    if lost_events or lost_kept:
        lacks = f"the file lacks {lost_events} events and {lost_kept} kept values"
        skipped.append((0, lacks))
    return Taken(name, len(read.events), kept, tuple(skipped), resting.dropped)


def _unnamed(event: Event) -> Event:
    if message := getattr(event, "message", None):
        event = replace(event, message=replace(message, who=""))
    return replace(event, who="")


def id_in(path: Path) -> str:
    """The id of the session in an exported file. Raises as ``import_file`` does for the file."""
    try:
        with _opened(path) as file:
            return _header(file, path).session
    except OSError as problem:
        raise _unopened(path, problem) from problem


def check_file(path: Path) -> None:
    """Read an exported file back. Raises ``UnreadableInput`` unless the whole session is in it."""
    read = _read_file(path)
    whole = [
        data for pieces in read.kept.values() if (data := _whole(pieces)) is not None
    ]
    if (len(read.events), len(whole)) != (read.header.events, read.header.kept):
        raise UnreadableInput(f"{path} does not hold the whole session. Export it again.")


def _whole(pieces: Sequence[KeptPiece]) -> bytes | None:
    """The kept data of these pieces; ``None`` where it is not whole."""
    data = b"".join(piece.data for piece in pieces)
    is_whole = [piece.number for piece in pieces] == [*range(len(pieces))]
    is_whole = is_whole and pieces[0].of == len(pieces)
    return data if is_whole and handle_of(data) == pieces[0].kept else None


def _unopened(path: Path, problem: OSError) -> UnreadableInput:
    return UnreadableInput(f"{path} can't be opened: {problem.strerror or problem}.")


class _ExportFile(NamedTuple):
    header: Header
    events: list[Event]
    kept: dict[str, list[KeptPiece]]
    skipped: list[tuple[int, str]]


def _read_file(path: Path) -> _ExportFile:
    with _opened(path) as file:
        header = _header(file, path)
        events: list[Event] = []
        kept: dict[str, list[KeptPiece]] = {}
        skipped: list[tuple[int, str]] = []
        for number, line in _numbered(file):
            try:
                excess = "too long" if len(line) > LOG_LINE_BYTES else json_excess(line)
                if excess:
                    skipped.append((number, excess))
                elif line.startswith(_KEPT):
                    piece = _of_piece.decode(line)
                    kept.setdefault(piece.kept, []).append(piece)
                else:
                    events.append(decode_event(line))
            except _UNDECODABLE as problem:
                torn = (
                    "" if line.endswith(b"\n") else "torn: the end of the line is missing"
                )
                skipped.append((number, torn or str(problem)))
    return _ExportFile(header, events, kept, skipped)


def _opened(path: Path) -> IO[bytes]:
    """The file, if it is a regular one that is not too large. Raises ``OSError``, ``UnreadableInput``."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    file = os.fdopen(descriptor, "rb")
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= SESSION_FILE_BYTES:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        return cast(IO[bytes], _Unpacked(file)) if is_packed else file
    file.close()
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableInput(
            f"{path} is no regular file. Write its content to one first."
        )
    raise UnreadableInput(
        f"{path} has {status.st_size:,} bytes; the most that is imported is {SESSION_FILE_BYTES:,}."
    )


class _Unpacked(gzip.GzipFile):
    """The content of a compressed file, up to the most that is imported."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(fileobj=file)
        self.myfileobj = file  # type: ignore[assignment]  # so that closing this closes it
        self._given = 0

    def readline(self, size: int | None = -1) -> bytes:
        """See ``io.IOBase.readline``. Raises ``UnreadableInput`` for too much, and for a damaged file."""
        try:
            line = super().readline(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
            raise UnreadableInput(
                f"The compressed file is damaged: {problem}. Use another copy of it."
            ) from problem
        self._given += len(line)
        if self._given > SESSION_FILE_BYTES:
            raise UnreadableInput(
                f"The compressed file holds more than {SESSION_FILE_BYTES:,} bytes, the most that is imported. "
                "Use a smaller one."
            )
        return line


def _numbered(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines after the first, from 2. Of one that is too long comes the beginning, one byte more than is taken."""
    number = 1
    while line := file.readline(LOG_LINE_BYTES + 1):
        number += 1
        if line.strip():
            yield number, line
        while line and not line.endswith(b"\n"):
            line = file.readline(PIECE_BYTES)


def _header(file: IO[bytes], path: Path) -> Header:
    try:
        header = _of_header.decode(file.readline(_HEADER_BYTES))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        header = None
    if header is None or header.format != FORMAT:
        missed = FormatMiss(FORMAT, f'no first line with "format": "{FORMAT}"')
        raise NotASession(str(path), (missed,))
    if header.version > VERSION:
        raise UnreadableInput(
            f"{path} is of a newer format (version {header.version}, this Ullage reads {VERSION}). Update Ullage."
        )
    if header.place and re.search(PLACE_PATTERN, header.place) is None:
        raise UnreadableInput(
            f"{path} names the place {quoted(header.place)} in its first line, which is no name of a place: it has at "
            "most 40 of a-z, 0-9, - and _, a letter or digit first. Correct or remove `place`."
        )
    return header
