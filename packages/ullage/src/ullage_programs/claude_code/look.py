"""A look at a session log: only the lines that are new since the last look are read.

Of a long log that is seen for the first time, or that grew much, the end alone is read: then nothing is known of the
session before, such as the size of its system prompt, until the next report.
"""

from __future__ import annotations

import os

from ullage_programs.claude_code.size import SessionSize
from ullage_programs.fields import count, mapping, text
from ullage_programs.files import open_regular, read_object, write_object
from ullage_programs.line.places import session_file

VERSION = 7

MOST = 2 * 1024 * 1024
"""Bytes that one look reads, and so of a line: a longer one is passed over. Claude Code cuts tool results below that;
an image in full may be longer."""

NEAR = 512 * 1024
"""Bytes near the end of a longer log that are read at first. ``bench/statusline.py`` shows what they cost."""

CHECKED = 64
"""The last bytes that were read are compared at the next look, which shows a log that was written anew."""


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
        return {**vars(self), "size": vars(self.size)}

    @classmethod
    def restored(cls, kept: dict[str, object], log: LogFile) -> LogPosition | None:
        """``None`` when nothing was kept, or the log no longer holds what was read of it."""
        size = SessionSize.restored(mapping(kept, "size"))
        position = cls(count(kept, "at"))
        position.before = text(kept, "before")
        position.is_inside_line = kept.get("is_inside_line") is True
        if size is None or position.at > log.end:
            return None
        if log.before(position.at) != position.before:
            return None
        position.size = size
        return position

    def advance(self, log: LogFile) -> None:
        """Fold what is new. A last line without an end is left for the next look."""
        data = log.read(self.at, MOST)
        complete = data.rfind(b"\n") + 1
        if not complete and len(data) == MOST:
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
    is_known = kept.get("version") == VERSION and kept.get("log") == path
    position = LogPosition.restored(kept, log) if is_known else None
    if position is None or log.end - position.at > MOST:
        position = LogPosition(log.end - NEAR if log.end > MOST else 0)
    elif position.at == log.end:
        return position.size
    position.advance(log)
    write_object(state, {"version": VERSION, "log": path, **position.to_json()})
    return position.size
