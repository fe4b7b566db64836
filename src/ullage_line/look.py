"""A look at a session log: only the lines that are new since the last look are read.

A log that is seen for the first time can take too long to read whole. It is read twice: from a place near its end,
which gives a line at once, and from its start, a piece at each look, until that has caught up.
"""

from __future__ import annotations

import os
from json import dumps, loads
from stat import S_ISREG

from ullage_line.fields import count, mapping, text
from ullage_line.fold import SessionSize
from ullage_line.places import session_file
from ullage_line.replacement import Replacement

VERSION = 3

PIECE = 256 * 1024
"""Bytes that one look reads near the end, and again from the start. ``bench/statusline.py`` shows what it costs."""

LINE_AT_MOST = 2 * 1024 * 1024
"""A longer line is passed over. Claude Code cuts tool results below that; an image in full may be longer."""

STATE_AT_MOST = 1024 * 1024
"""A larger state file is not ours: ours hold about 50 KB."""

CHECKED = 64
"""The last bytes that were read are compared at the next look, which shows a log that was written anew."""

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class LogFile:
    """An open log."""

    def __init__(self, descriptor: int, end: int) -> None:
        self.descriptor = descriptor
        self.end = end

    def read(self, at: int, length: int) -> bytes:
        os.lseek(self.descriptor, at, os.SEEK_SET)
        return os.read(self.descriptor, max(0, min(length, self.end - at)))

    def before(self, at: int) -> str:
        start = max(0, at - CHECKED)
        return self.read(start, at - start).hex()


class LogPosition:
    """How far one reading of a log has come, and what it has found."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.is_inside_line = at > 0
        """Whether ``at`` lies in a line that is passed over: one cut by the start, or a very long one."""
        self.before = ""
        self.size = SessionSize()

    def to_json(self) -> dict[str, object]:
        return {
            "at": self.at,
            "inside": self.is_inside_line,
            "before": self.before,
            "size": vars(self.size),
        }

    @classmethod
    def restored(cls, kept: dict[str, object], log: LogFile) -> LogPosition | None:
        """``None`` when nothing was kept, or the log no longer holds what was read of it."""
        size = SessionSize.restored(mapping(kept, "size"))
        position = cls(count(kept, "at"))
        position.before = text(kept, "before")
        position.is_inside_line = kept.get("inside") is True
        if size is None or position.at > log.end:
            return None
        if log.before(position.at) != position.before:
            return None
        position.size = size
        return position

    def advance(self, log: LogFile, length: int) -> None:
        """Fold at most this much. A last line without an end is left for the next look."""
        data = log.read(self.at, length)
        if b"\n" not in data and len(data) == length:
            data = log.read(self.at, LINE_AT_MOST)
        complete = data.rfind(b"\n") + 1
        if not complete and len(data) == LINE_AT_MOST:
            self.is_inside_line = True
            complete = len(data)
        lines = data[:complete].split(b"\n")
        if self.is_inside_line:
            del lines[0]
            self.is_inside_line = not lines and complete > 0
        for line in lines:
            if line:
                self.size.feed(line)
        self.at += complete
        self.before = log.before(self.at)


def open_regular(path: str) -> int | None:
    """The descriptor of a regular file, opened without waiting; ``None`` for anything else."""
    try:
        descriptor = os.open(path, _OPEN)
    except (OSError, ValueError):
        return None
    if S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def look(path: str) -> SessionSize | None:
    """What the log says now; ``None`` when it can't be read. Writes what the next look continues from."""
    descriptor = open_regular(path)
    if descriptor is None:
        return None
    try:
        end = os.fstat(descriptor).st_size
        return _look(LogFile(descriptor, end), path)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _look(log: LogFile, path: str) -> SessionSize:
    state = session_file(path, ".json")
    kept = read_object(state)
    if kept.get("version") != VERSION or kept.get("log") != path:
        kept = {}
    start = LogPosition.restored(mapping(kept, "start"), log) or LogPosition()
    if start.at and log.end == start.at:
        return start.size
    if log.end - start.at <= 2 * PIECE:
        start.advance(log, 2 * PIECE)
        near = None
    else:
        start.advance(log, PIECE)
        near = LogPosition.restored(mapping(kept, "near"), log)
        if near is None or log.end - near.at > PIECE:
            near = LogPosition(log.end - PIECE)
        near.advance(log, PIECE)
    found: dict[str, object] = {"version": VERSION, "log": path, "start": start.to_json()}
    if near is not None:
        found["near"] = near.to_json()
    write_object(state, found)
    return (near or start).size


def read_object(path: str) -> dict[str, object]:
    """The JSON object in a small regular file; empty when there is none."""
    descriptor = open_regular(path)
    if descriptor is None:
        return {}
    try:
        if os.fstat(descriptor).st_size > STATE_AT_MOST:
            return {}
        return mapping(loads(os.read(descriptor, STATE_AT_MOST)))
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        os.close(descriptor)


def write_object(path: str, value: dict[str, object]) -> None:
    """Replace the file by a JSON object."""
    write_text(path, dumps(value))


def write_text(path: str, content: str) -> None:
    """Replace the file at once. A directory that can't be written leaves it as it is: the next look reads more."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with Replacement(path, is_lasting=False) as file:
            file.write(content.encode())
    except OSError:
        return
