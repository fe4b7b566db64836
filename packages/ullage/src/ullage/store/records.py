"""Small records beside the sessions, by kind and key: what is learnt, grants, and a service's tokens.

They are files of the user's data directory, or one table of a database that several machines share
(``ullage_cluster.postgres.records``). Every method blocks until it is done; call it outside of the event loop.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote, unquote

from ullage.directories import data_directory
from ullage.store.private_file import (
    UnwritableStore,
    delete_files,
    locked,
    read_file,
    write_bytes,
)

RecordChange = Callable[[bytes | None], bytes | None]
"""The new content of a record, by the present one; ``None`` is no record. It may be called several times."""

MOST_RECORDS: Final = 10_000
"""Of one kind: no more are read or stored."""

LARGEST_RECORD: Final = 1_000_000
"""Bytes of one record."""

LEFTOVER_S: Final = 3_600.0
"""Seconds after which the file of a writer that was killed is removed."""

SETTLED_S: Final = 0.1
"""Seconds after a change of a directory in which another one may have the same time."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.~%-]{1,200}")
"""What a quoted key may be as the name of a file, without its ending."""


class RecentRecords(NamedTuple):
    """The records of a kind as they were a moment ago. Another ``version``: they have changed."""

    version: object
    bodies: Mapping[str, bytes]


class Records(Protocol):
    """See the head of the file. Each method raises ``UllageError`` where the place can't be read or written."""

    @property
    def shown(self) -> str:
        """The place, for messages."""
        ...

    def all(self, kind: str) -> dict[str, bytes]:
        """The content of each record of this kind, by its key. One that can't be read is empty."""
        ...

    def recent(self, kind: str) -> RecentRecords:
        """The same as it was at most some seconds ago; only the first call of a kind waits for the place."""
        ...

    def change(self, kind: str, key: str, change: RecordChange) -> None:
        """Replace one record by what ``change`` makes of it; of two callers at once, the second sees the first one's.

        Raises what ``change`` raises, and then changes nothing.
        """
        ...


def _check_own(directory: Path) -> None:
    found = directory.stat()
    if not hasattr(os, "getuid"):  # Windows
        return
    if found.st_uid not in (0, os.getuid()) or found.st_mode & 0o022:
        raise UnwritableStore(
            f"Other users may change what is in {directory}, so it is not used: make it yours alone with `chmod 700`, "
            "then check its files."
        )


class FileRecords:
    """Records as files ``KIND/KEY.json`` in the user's data directory; a key is quoted as in a URL.

    One writer changes them at a time, on Windows the last writer's change stays.
    """

    def __init__(
        self, directory: Path | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._data = data_directory() if directory is None else directory
        self._clock = clock
        self._recent: dict[str, RecentRecords] = {}

    @property
    def shown(self) -> str:
        """See ``Records.shown``."""
        return str(self._data)

    def directory(self, kind: str) -> Path:
        """Where the records of a kind are."""
        return self._data / kind

    def all(self, kind: str) -> dict[str, bytes]:
        """See ``Records.all``. Files of other names are no records.

        Raises ``UnwritableStore`` for a directory that other users may write to, or that another user owns.
        """
        directory = self.directory(kind)
        try:
            _check_own(directory)
            names = sorted(os.listdir(directory))
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise UnwritableStore(
                f"{directory} can't be read ({problem.strerror}). Check who may read it, or point ULLAGE_DATA to "
                "another directory."
            ) from problem
        found: dict[str, bytes] = {}
        for name in names:
            key, dot, ending = name.rpartition(".")
            if (dot, ending) == (".", "json") and _NAME.fullmatch(key):
                found[unquote(key)] = self._content(directory / name)
            if len(found) == MOST_RECORDS:
                break
        return found

    def recent(self, kind: str) -> RecentRecords:
        """See ``Records.recent``: read anew where the directory has changed, or changed a moment ago."""
        try:
            found = self.directory(kind).stat()
        except OSError:
            return RecentRecords((), self.all(kind))
        seen = (found.st_mtime_ns, found.st_ino, found.st_mode, found.st_uid)
        known = self._recent.get(kind)
        if known is None or known.version != seen:
            known = RecentRecords(seen, self.all(kind))
            if abs(self._clock() - found.st_mtime) < SETTLED_S:
                return RecentRecords(known.bodies, known.bodies)
            self._recent[kind] = known
        return known

    def change(self, kind: str, key: str, change: RecordChange) -> None:
        """See ``Records.change``. A key that can't name a file has no record, and gets none."""
        name = quote(key, safe="")
        if not _NAME.fullmatch(name):
            return
        path = self.directory(kind) / f"{name}.json"
        try:
            with locked(path):
                self._change(kind, path, change)
        except OSError as problem:
            raise UnwritableStore(
                f"A record of {kind} can't be written to {path} ({problem.strerror}). "
                "Allow writing there, or point ULLAGE_DATA to another directory."
            ) from problem

    def _change(self, kind: str, path: Path, change: RecordChange) -> None:
        old = self._content(path) if path.exists() else None
        new = change(old)
        if new is None:
            delete_files([path])
        elif old is None or new != old.strip():
            write_bytes(path, new + b"\n", f"A record of {kind}")
            delete_files(self._leftovers(path.parent))

    def _content(self, path: Path) -> bytes:
        try:
            return b"" if path.is_symlink() else read_file(path, most=LARGEST_RECORD)
        except OSError:
            return b""

    def _leftovers(self, directory: Path) -> list[Path]:
        """Files of writers that were killed before they had renamed them."""
        found: list[Path] = []
        for path in directory.glob(".*.json.*"):
            try:
                if self._clock() - path.stat().st_mtime > LEFTOVER_S:
                    found.append(path)
            except OSError:
                continue
        return found
