"""A session log that another program is writing: each look gives what it has gained since the last one.

Of a log of lines only the new ones are read. A last line without its line break may still be written, so what it says
is held apart, together with what its reader holds back; both together are what ``read`` makes of the file as it is.
Files without lines and databases are read whole when they have changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from ullage.envelope import LOG_LINE_BYTES
from ullage.errors import NotASession, UnreadableInput
from ullage.events import Event
from ullage.importers.branching import branched
from ullage.importers.claude_code import ClaudeCodeReader, subagent_logs
from ullage.importers.detect import SAMPLE_BYTES, SAMPLE_LINES, read, reader_for
from ullage.importers.reader import ImportedSession, Reader
from ullage.importers.regular import PIECE_BYTES, lines_of, open_regular

TAIL_BYTES: Final = 256
"""Of what was read, how much is compared to see whether the file is still the same one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a look found. ``certain`` are new events that stay; ``held`` those that follow if nothing more comes.

    ``held`` is given anew with each look, in place of the one before. ``is_whole``: ``certain`` begins with the log's
    first event, and what earlier looks gave no longer counts; ``restarted`` says why, where that is worth saying.
    ``imported`` describes the log without its events.
    """

    certain: tuple[Event, ...]
    held: tuple[Event, ...]
    imported: ImportedSession
    is_whole: bool
    restarted: str = ""


class _Stamp(NamedTuple):
    """What tells that a file has changed."""

    inode: int
    size: int
    modified: int


class GrowingLog:
    """Follows one log. Holds no file open between two looks."""

    def __init__(self, path: Path, session: str = "") -> None:
        self.path = path
        self._session = session
        self._stamps: tuple[_Stamp, ...] = ()
        self._reader: Reader | None = None
        self._inode = 0
        self._offset = 0
        """Bytes of whole lines that were read."""
        self._partial = b""
        self._tail = b""
        self._is_inside_long_line = False
        """The line that is being written is longer than one may be, and was told as such."""
        self._has_begun = False
        self._children: dict[Path, tuple[_Stamp, list[bytes]]] = {}

    def look(self) -> Growth | None:
        """What is new; ``None`` when nothing has changed.

        Raises ``UnreadableInput`` while the file is not there or can't be read, and ``NotASession`` while what it holds
        is no session of a known program; the next look tries again.
        """
        stamps = self._stamped()
        if stamps == self._stamps:
            return None
        self._stamps = ()  # until this look has succeeded
        growth = self._grown()
        self._stamps = stamps
        self._has_begun = True
        return growth

    # -- which way to read --

    def _grown(self) -> Growth:
        if self.path.is_dir():
            return self._read_whole()
        restarted = self._moved()
        if restarted:
            self._forget()
        if self._reader is None or not self._is_sampled():
            try:
                reader = reader_for(self.path)
            except NotASession:
                self._forget()
                return self._read_whole()
            if type(reader) is not type(self._reader):
                if self._reader is not None:
                    restarted = restarted or f"its begin now is that of a {reader.format} log"
                self._forget()
                self._reader = reader
        return self._read_on(restarted)

    def _is_sampled(self) -> bool:
        """Whether as much was read as decides which program wrote it."""
        assert self._reader is not None
        return self._reader.lines >= SAMPLE_LINES or self._offset > SAMPLE_BYTES

    def _moved(self) -> str:
        """Why the file is another one than the one that was read; empty when it only grew."""
        if self._reader is None:
            return ""
        try:
            stat = self.path.stat()
            if stat.st_size < self._offset:
                return "the log was cut"
            if self._inode and stat.st_ino != self._inode:
                return "the log was replaced by another file"
            with open_regular(self.path) as file:
                file.seek(self._offset - len(self._tail))
                same = file.read(len(self._tail)) == self._tail
        except OSError as problem:
            raise UnreadableInput(f"{self.path} can't be read: {problem.strerror or problem}.") from problem
        return "" if same else "the log was written anew"

    def _forget(self) -> None:
        self._reader, self._offset, self._partial, self._tail = None, 0, b"", b""
        self._is_inside_long_line = False

    # -- lines --

    def _read_on(self, restarted: str) -> Growth:
        assert self._reader is not None
        is_whole = not self._reader.lines
        try:
            certain = self._reader.feed(self._new_lines())
        except OSError as problem:
            self._forget()
            raise UnreadableInput(f"{self.path} can't be read: {problem.strerror or problem}.") from problem
        branch = branched(self._reader)
        held = branch.feed([self._partial]) if self._partial else []
        if isinstance(branch, ClaudeCodeReader):
            for child in subagent_logs(self.path, branch.rows.session):
                branch.feed_subagent(self._usages_of(child))
        held += branch.settle()
        return Growth(
            certain=tuple(certain),
            held=tuple(held),
            imported=branch.imported((), str(self.path)),
            restarted=restarted if self._has_begun else "",
            is_whole=is_whole,
        )

    def _new_lines(self) -> Iterator[bytes]:
        """The lines that are whole by now; what follows them is kept in ``_partial``."""
        self._partial = b""
        with open_regular(self.path) as file:
            self._inode = os.fstat(file.fileno()).st_ino
            file.seek(self._offset)
            if self._is_inside_long_line and not self._passes_over(file):
                return
            while line := file.readline(LOG_LINE_BYTES + 1):
                is_whole = line.endswith(b"\n")
                if not is_whole and len(line) <= LOG_LINE_BYTES:
                    self._partial = line
                    return
                self._was_read(line)
                yield line
                if not is_whole and not self._passes_over(file):
                    return

    def _passes_over(self, file: BinaryIO) -> bool:
        """Read on to the end of a line that is too long; False where its end is not written yet."""
        while piece := file.readline(PIECE_BYTES):
            self._was_read(piece)
            if piece.endswith(b"\n"):
                break
        self._is_inside_long_line = not piece
        return bool(piece)

    def _was_read(self, data: bytes) -> None:
        self._offset += len(data)
        self._tail = (self._tail + data[-TAIL_BYTES:])[-TAIL_BYTES:]

    def _usages_of(self, child: Path) -> list[bytes]:
        """The lines of a subagent's log that say what it used."""
        stamp = _stamp(child)
        known = self._children.get(child)
        if known is not None and known[0] == stamp:
            return known[1]
        try:
            with open_regular(child) as file:
                lines = [line for line in lines_of(file) if b'"usage"' in line]
        except (OSError, UnreadableInput):
            lines = []
        self._children[child] = (stamp, lines)
        return lines

    # -- as a whole --

    def _read_whole(self) -> Growth:
        imported = read(self.path, session=self._session)
        self._session = self._session or (imported.session if imported.other_sessions else "")
        return Growth(certain=imported.events, held=(), imported=imported, is_whole=True)

    # -- changes --

    def _stamped(self) -> tuple[_Stamp, ...]:
        """What the file, and what is read beside it, look like from outside."""
        if not self.path.exists():
            self._stamps = ()
            raise UnreadableInput(f"{self.path} does not exist.")
        beside = [self.path.with_name(f"{self.path.name}-wal")]
        if self.path.is_dir():
            beside = [each for each in self.path.rglob("*") if each.is_file()]
        elif isinstance(self._reader, ClaudeCodeReader):
            beside += subagent_logs(self.path, self._reader.rows.session)
        return tuple(_stamp(each) for each in (self.path, *beside))


def _stamp(path: Path) -> _Stamp:
    try:
        stat = path.stat()
    except OSError:
        return _Stamp(0, 0, 0)
    return _Stamp(stat.st_ino, stat.st_size, stat.st_mtime_ns)
