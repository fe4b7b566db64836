"""Opens and reads files of other programs: regular files only, in bounded pieces."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from ullage.envelope import LOG_BYTES, LOG_LINE_BYTES, LOG_LINES
from ullage.errors import UnreadableInput

PIECE_BYTES: Final = 1 << 20
"""Bytes read at a time while a line is skipped or lines are counted."""

NEWEST_LINES: Final = (
    f"To read its newest lines alone: tail -n {LOG_LINES // 4} LOG > newest.jsonl"
)
"""What to do about a log that is too long. A line may give four events."""

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, *, most: int = LOG_BYTES) -> BinaryIO:
    """Opens the file for reading. Never waits for the other end of a pipe.

    Raises ``UnreadableInput`` for a file that can't be opened, is no regular file, or has more than ``most`` bytes.
    The opened file is checked, so exchanging the file meanwhile has no effect.
    """
    try:
        _check_kind(
            path, path.stat().st_mode
        )  # before opening: that alone can have an effect on a device
        descriptor = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        )
    except (OSError, ValueError) as problem:  # a name with a NUL in it
        raise _unreadable(path, "opened", problem) from problem
    file = os.fdopen(descriptor, "rb")
    try:
        status = os.fstat(descriptor)
        _check_kind(path, status.st_mode)
        if status.st_size > most:
            advice = f" If it is a log: {NEWEST_LINES}" if most == LOG_BYTES else ""
            raise UnreadableInput(
                f"{path} has {status.st_size:,} bytes; the most that is read of such a file is {most:,}.{advice}"
            )
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, *, most: int) -> bytes:
    """All bytes of the file. Raises as ``open_regular`` does."""
    with open_regular(path, most=most) as file, reading(path):
        data = file.read(most + 1)
    if (
        len(data) > most
    ):  # it has grown, or is one of those whose size is not known before
        raise UnreadableInput(
            f"{path} has more than {most:,} bytes, the most that is read of such a file. Remove what it does not need."
        )
    return data


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Inside, the file is read: what the system refuses becomes ``UnreadableInput``."""
    try:
        yield
    except OSError as problem:
        raise _unreadable(path, "read", problem) from problem


def lines_of(file: BinaryIO, *, longest: int = LOG_LINE_BYTES) -> Iterator[bytes]:
    """The lines of a file. A line that is too long is cut to ``longest + 1`` bytes, by which the reader recognises it.

    At most ``LOG_BYTES`` are read, even if the file grows meanwhile.
    """
    read = 0
    while read < LOG_BYTES and (line := file.readline(longest + 1)):
        read += len(line)
        is_cut = len(line) > longest and not line.endswith(b"\n")
        given = [line]
        del line
        yield given.pop()  # so that this generator does not hold the line meanwhile
        if is_cut:
            read += pass_over_line(file)


def pass_over_line(file: BinaryIO) -> int:
    """Skips the rest of a line; returns its bytes."""
    passed = 0
    while passed < LOG_BYTES and (piece := file.readline(PIECE_BYTES)):
        passed += len(piece)
        if piece.endswith(b"\n"):
            break
    return passed


def _check_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next(
            (name for is_kind, name in _KINDS if is_kind(mode)), "no regular file"
        )
        raise UnreadableInput(
            f"{path} is {kind}, and only regular files are read. Write its content to a file first."
        )


def _unreadable(path: Path, done: str, problem: OSError | ValueError) -> UnreadableInput:
    why = (problem.strerror if isinstance(problem, OSError) else "") or str(problem)
    return UnreadableInput(f"{path} can't be {done}: {why}.")
