"""Reads and replaces small files: regular files only, and never waiting for the other end of a pipe."""

from __future__ import annotations

import os
from json import dumps, loads
from stat import S_ISREG

from ullage_programs.fields import mapping
from ullage_programs.replacement import Replacement

OBJECT_AT_MOST = 1024 * 1024
"""Bytes of a JSON object that ``read_object`` reads at the most."""

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotRegular(OSError):
    """A file that can't be read, or is none; its text says why."""


def open_regular(path: str) -> int | None:
    """The descriptor of a regular file, opened without waiting; ``None`` for anything else."""
    try:
        if not S_ISREG(os.stat(path).st_mode):
            return None  # to open a device can have an effect
        descriptor = os.open(path, _OPEN)
    except (OSError, ValueError):
        return None
    if S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def read_regular(path: str, *, most: int) -> bytes:
    """All bytes of a regular file. Raises ``NotRegular`` for anything else, and for a file with more than ``most``."""
    descriptor = open_regular(path)
    if descriptor is None:
        raise NotRegular("it can't be opened, or is no regular file")
    try:
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(most + 1)
    except OSError as problem:
        raise NotRegular(problem.strerror or str(problem)) from None
    if len(data) > most:
        raise NotRegular(f"it has more than {most:,} bytes")
    return data


def read_object(path: str) -> dict[str, object]:
    """The JSON object in a small regular file; empty when there is none."""
    try:
        return mapping(loads(read_regular(path, most=OBJECT_AT_MOST)))
    except (OSError, ValueError, RecursionError):
        return {}


def write_object(path: str, value: dict[str, object]) -> None:
    """Replace the file by a JSON object at once. A directory that can't be written leaves it as it is."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with Replacement(path, is_lasting=False) as file:
            file.write(dumps(value).encode())
    except OSError:
        return
