"""The rules for Landlock: which rights a command gets below which place.

Landlock only grants. Granting everything around a place hides it inside readable places; inside writable places it
can't be hidden at all. https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ullage.tools.file_access import FileAccess

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, REFER, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 13, 1 << 14, 1 << 15
"""LANDLOCK_ACCESS_FS_… of <linux/landlock.h>."""

OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READING: Final = EXECUTE | READ_FILE | READ_DIR
FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many of the rights each version of the interface knows; later ones know no more of those used here."""
SEES_TRUNCATION: Final = 3
"""From this version on Landlock sees that a file is emptied by its path."""
GUARDS_SIGNALS: Final = 6
"""From this version on (Linux 6.12) a command can't send signals to processes outside."""

DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
PROC: Final = ("cpuinfo", "meminfo", "stat", "version", "filesystems", "uptime", "loadavg", "sys")
"""The readable files of /proc: nothing that belongs to a process, as other processes' files would be readable too."""

_CREATE_RULESET: Final = 444
_VERSION: Final = 1  # a flag: give the version and make nothing


def landlock_version() -> int:
    """The version of the kernel's interface; 0 without one."""
    try:
        call = ctypes.CDLL(None).syscall
    except (AttributeError, OSError, TypeError):  # no C library of this kind
        return 0
    return max(0, int(call(_CREATE_RULESET, None, 0, _VERSION)))


def landlock_rules(access: FileAccess, temp: Path, version: int, *, has_network: bool) -> dict[str, Any]:
    """The rules for the launcher. Hidden and protected paths inside a writable place stay open to the command."""
    known = (1 << FILE_RIGHTS[min(version, max(FILE_RIGHTS))]) - 1
    writing = known & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
    grants: list[tuple[str, int]] = [(str(temp), writing)]
    for place in access.places:
        rights = writing if place.is_dir() else writing & OF_FILES
        grants.append((str(place), rights))
    for readable in access.readable:
        grants += [(str(place), _reading(place)) for place in _around(readable, access.hidden)]
    devices = known & (READ_FILE | WRITE_FILE | IOCTL_DEV)
    grants += [(f"/dev/{name}", devices) for name in DEVICES]
    grants += [(f"/proc/{name}", _reading(Path("/proc", name))) for name in PROC]
    return {
        "files": known,
        "network": 0b11 if version >= 4 and not has_network else 0,
        "scoped": 0b11 if version >= GUARDS_SIGNALS else 0,
        "grants": grants,
    }


def _reading(place: Path) -> int:
    return READING if place.is_dir() else READING & OF_FILES


def _around(place: Path, holes: tuple[Path, ...]) -> Iterator[Path]:
    """The largest places inside this one that hold none of the holes."""
    inside = tuple(hole for hole in holes if hole.is_relative_to(place))
    if not inside:
        yield place
        return
    if place in inside:
        return
    for name in os.listdir(place):
        yield from _around(place / name, inside)
