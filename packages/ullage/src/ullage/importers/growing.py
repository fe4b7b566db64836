"""Follows a session log that another program writes: each look returns what is new.

Of a log of lines only new lines are read. A last line without a line break may be incomplete, so its events are kept
apart, with those that the reader holds back; certain and held events together equal what ``read`` returns for the file.
So are new events of a session in a database of ours. Other databases and files without lines are read completely
after each change.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, TypeVar, cast

import msgspec

from ullage.envelope import LOG_BYTES, LOG_LINE_BYTES
from ullage.errors import NotASession, UnreadableInput
from ullage.events import Event
from ullage.importers.detect import (
    SAMPLE_BYTES,
    SAMPLE_LINES,
    SQLITE_MAGIC,
    read,
    reader_for,
)
from ullage.importers.reader import ImportedSession, Reader
from ullage.importers.regular import (
    PIECE_BYTES,
    lines_of,
    open_regular,
    pass_over_line,
    reading,
)
from ullage.importers.ullage import GrowingRows, is_own_database

T = TypeVar("T")

SAMPLE_HEAD_BYTES: Final = 100
"""The header of an SQLite file (https://www.sqlite.org/fileformat.html#the_database_header)."""

TAIL_BYTES: Final = 256
"""Bytes at the end of what was read; they are compared to recognise that the file was replaced."""


LONGEST_TAIL_BYTES: Final = 16 * 1024 * 1024
"""The most that is read of the end of a large log, where long lines hide the calls in less of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The result of a look. ``certain`` are new events that stay; ``held`` follow them if no further line comes.

    Each look replaces the ``held`` events of the look before. ``is_whole``: ``certain`` begins with the log's
    first event, and what earlier looks gave no longer counts; ``restarted`` says why, where that is worth saying.
    ``imported`` describes the log without its events. ``is_behind``: the next look reads on, even if the log does not
    grow; until then nothing is ``held``.
    """

    certain: tuple[Event, ...]
    held: tuple[Event, ...]
    imported: ImportedSession
    is_whole: bool
    restarted: str = ""
    is_behind: bool = False


class LogEnds(NamedTuple):
    """How much of a large log is read: bytes at its start, and at its end as it was at the first look."""

    head_bytes: int
    tail_bytes: int


class _Stamp(NamedTuple):
    """Differs as soon as a file has changed."""

    inode: int
    size: int
    modified: int


class GrowingLog:
    """Follows one log. Holds no file open between two looks.

    With ``ends`` the middle of a large log is left out, and ``leaves_out`` is true. A look reads whole lines until it
    has read ``most`` bytes.
    """

    def __init__(
        self,
        path: Path,
        session: str = "",
        *,
        ends: LogEnds | None = None,
        most: int = LOG_BYTES,
    ) -> None:
        self.path = path
        self._session = session
        self._ends = ends
        self._most = most
        self.leaves_out = False
        """Whether the middle of the log was left out."""
        self._stamps: tuple[_Stamp, ...] = ()
        self._reader: Reader | None = None
        self._inode = 0
        self._offset = 0
        """Bytes of whole lines that were read."""
        self._looked_at = 0
        """Bytes that this look has read."""
        self._partial = b""
        self._tail = b""
        self._is_behind = False
        self._is_inside_long_line = False
        """The unfinished line is too long, and was already reported."""
        self._has_begun = False
        self._rows: GrowingRows | None = None
        self._sessions: dict[Path, str] = {}
        """Whose subagents' logs those beside this one are."""
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
        if not growth.is_behind:
            self._stamps = stamps
        self._has_begun = True
        return growth

    @property
    def reader(self) -> Reader | None:
        """What reads the lines; ``None`` for a log without lines."""
        return self._reader

    @property
    def modified(self) -> float:
        """When the log, or what is read beside it, was last written to: seconds since 1970, by the last look."""
        return max((stamp.modified for stamp in self._stamps), default=0) / 1e9

    # -- which way to read --

    def _grown(self) -> Growth:
        if self.path.is_dir() or self.path.suffix == ".json":  # rewritten as a whole
            return self._read_whole()
        if self._session and self._is_own_database():
            return self._read_rows()
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
                    restarted = (
                        restarted or f"its begin now is that of a {reader.format} log"
                    )
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
        with reading(self.path):
            stat = self.path.stat()
            if stat.st_size < self._offset:
                return "the log was cut"
            if self._inode and stat.st_ino != self._inode:
                return "the log was replaced by another file"
            with open_regular(self.path) as file:
                file.seek(self._offset - len(self._tail))
                same = file.read(len(self._tail)) == self._tail
        return "" if same else "the log was replaced"

    def _forget(self) -> None:
        self._reader, self._offset, self._partial, self._tail = None, 0, b"", b""
        self._is_inside_long_line = self._is_behind = self.leaves_out = False

    # -- lines --

    def _read_on(self, restarted: str) -> Growth:
        assert self._reader is not None
        is_whole = not self._reader.lines
        try:
            certain = self._reader.feed(self._new_lines())
        except OSError as problem:
            self._forget()
            raise UnreadableInput(
                f"{self.path} can't be read: {problem.strerror or problem}."
            ) from problem
        restarted = restarted if self._has_begun else ""
        if self._is_behind:
            return Growth(
                certain=tuple(certain),
                held=(),
                imported=self._reader.imported((), str(self.path)),
                restarted=restarted,
                is_whole=is_whole,
                is_behind=True,
            )
        branch = branched(self._reader)
        held = branch.feed([self._partial]) if self._partial else []
        for child in branch.subagent_logs(self.path, self._sessions):
            branch.subagents.add(child.name)
            branch.feed_subagent(self._usages_of(child))
        held += branch.settle()
        return Growth(
            certain=tuple(certain),
            held=tuple(held),
            imported=branch.imported((), str(self.path)),
            restarted=restarted,
            is_whole=is_whole,
        )

    def _new_lines(self) -> Iterator[bytes]:
        """The lines that are whole by now; what follows them is kept in ``_partial``."""
        self._partial, self._is_behind = b"", False
        self._looked_at = 0
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
                if self._looked_at >= self._most:
                    self._is_behind = True
                    return
                self._leave_out_middle(file)

    def _leave_out_middle(self, file: BinaryIO) -> None:
        """Go on near the end of a large log, once enough of its start was read."""
        if self._ends is None or self.leaves_out:
            return
        if self._offset < self._ends.head_bytes:
            return
        size = os.fstat(file.fileno()).st_size
        tail_bytes = self._ends.tail_bytes
        begin = self._seek_tail(file, size - tail_bytes)
        while begin > size - tail_bytes // 2 and tail_bytes < LONGEST_TAIL_BYTES:
            tail_bytes *= 4  # a long line takes most of it
            begin = self._seek_tail(file, size - tail_bytes)
        if begin <= self._offset:
            self._ends = None
            file.seek(self._offset)
            return
        self._offset, self._tail = begin, b""
        self.leaves_out = True
        if self._reader is not None:
            self._reader.leave_out()

    def _seek_tail(self, file: BinaryIO, at: int) -> int:
        """Where the first line behind ``at`` begins; the present offset where that is not before ``at``."""
        if at <= self._offset:
            return self._offset
        file.seek(at)
        pass_over_line(file)
        return file.tell()

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
        self._looked_at += len(data)
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

    # -- rows --

    def _is_own_database(self) -> bool:
        with open_regular(self.path) as file:
            head = file.read(SAMPLE_HEAD_BYTES)
        return head.startswith(SQLITE_MAGIC) and is_own_database(head)

    def _read_rows(self) -> Growth:
        """The new events of a session in a database of ours."""
        restarted = ""
        rows = self._rows
        certain = None if rows is None else rows.new_events()
        is_whole = certain is None
        if rows is not None and is_whole:
            restarted = "the session was replaced"
        if rows is None or certain is None:
            rows = GrowingRows(self.path, self._session)
            certain = rows.new_events() or []
        if not rows.reader.lines:
            return self._read_whole()  # which says what is wrong
        self._rows = rows
        branch = branched(rows.reader)
        return Growth(
            certain=tuple(certain),
            held=tuple(branch.settle()),
            imported=branch.imported((), str(self.path)),
            restarted=restarted,
            is_whole=is_whole,
        )

    # -- as a whole --

    def _read_whole(self) -> Growth:
        imported = read(self.path, session=self._session)
        self._session = self._session or (
            imported.session if imported.other_sessions else ""
        )
        return Growth(certain=imported.events, held=(), imported=imported, is_whole=True)

    # -- changes --

    def _stamped(self) -> tuple[_Stamp, ...]:
        """What the file, and what is read beside it, look like from outside."""
        try:
            self.path.stat()  # from Python 3.14 on, exists() is False where reading is forbidden
        except PermissionError:
            raise
        except (OSError, ValueError):
            self._stamps = ()
            raise UnreadableInput(
                f"{self.path} does not exist. Check its name."
            ) from None
        beside = [self.path.with_name(f"{self.path.name}-wal")]
        if self.path.is_dir():
            beside = [each for each in self.path.rglob("*") if each.is_file()]
        elif self._reader is not None:
            beside += self._reader.subagent_logs(self.path, self._sessions)
        return tuple(_stamp(each) for each in (self.path, *beside))


def _stamp(path: Path) -> _Stamp:
    try:
        stat = path.stat()
    except OSError:
        return _Stamp(0, 0, 0)
    return _Stamp(stat.st_ino, stat.st_size, stat.st_mtime_ns)


# -- a reader's copy, for lines that are read on trial --

_COLLECTIONS: Final = frozenset({dict, list, set, Counter})
"""Other kinds of them remember what they have counted; that is shared."""

_MODULES: Final = ("ullage.importers.", "ullage_programs.", "ullage.codec.parts")
"""Where the classes are whose objects say how far a log was read."""

_PLAIN: Final = frozenset({str, int, float, bool, bytes, type(None), frozenset, type})


def branched(value: T) -> T:
    """A copy of a reader that reads on independently of it.

    Collections and the objects that hold them are copied. Messages, events and functions are shared. Time and memory
    grow with the number of messages, not their size.
    """
    return cast(T, _copy(value, {}))


def _copy(value: Any, done: dict[int, Any]) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, tuple):
        items = [_copy(item, done) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return getattr(kind, "_make", kind)(items)
    if kind not in _COLLECTIONS and not _changes(kind):
        return value
    made = done[id(value)] = copy(value)
    if isinstance(made, dict):
        for key, item in value.items():
            if type(item) not in _PLAIN:
                made[key] = _copy(item, done)
    elif isinstance(made, list):
        made[:] = [_copy(item, done) for item in value]
    elif kind not in _COLLECTIONS:
        names = vars(value) if hasattr(value, "__dict__") else kind.__slots__
        for name in names:
            object.__setattr__(made, name, _copy(getattr(value, name), done))
    return made


def _changes(kind: type) -> bool:
    """Whether objects of a class say how far a log was read."""
    is_ours = kind.__module__.startswith(_MODULES)
    return is_ours and not issubclass(kind, msgspec.Struct | type)
