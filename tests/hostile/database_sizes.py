"""OpenCode's databases that take much memory for their size: big values, many of them, and values inside of values."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tests.importers.opencode_database import SCHEMA

USER = b'{"role":"user","time":{"created":1}}'
TEXT = b'{"type":"text","text":"%b"}'


class SizedDatabase(NamedTuple):
    """``messages`` and ``parts`` are what the columns ``data`` hold."""

    messages: Sequence[bytes] = ()
    parts: Sequence[bytes] = ()
    sessions: int = 1
    title: str = "t"

    def write(self, path: Path) -> None:
        """All parts are those of the first message; the last of the sessions has it all."""
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(SCHEMA)
            database.executemany(
                "INSERT INTO session (id, title, time_updated) VALUES (?, ?, ?)",
                ((f"s{at}", self.title, at) for at in range(self.sessions)),
            )
            name = f"s{self.sessions - 1}"
            for at, data in enumerate(self.messages):
                values = (f"m{at:07}", name, data.decode())
                database.execute("INSERT INTO message VALUES (?, ?, 1, 1, ?)", values)
            for at, data in enumerate(self.parts):
                values = (f"p{at:07}", name, data.decode())
                database.execute(
                    "INSERT INTO part VALUES (?, 'm0000000', ?, 1, ?)", values
                )


def _wide(size: int) -> bytes:
    return "😀".encode() + b"x" * size


def _lists(size: int) -> SizedDatabase:
    part = b'{"type":"text","text":"t","a":[%b[]]}' % (b"[]," * 120_000)
    return SizedDatabase([USER], [part] * (size // len(part)))


DATABASES: dict[str, Callable[[int], SizedDatabase]] = {
    "a huge part": lambda size: SizedDatabase([USER], [TEXT % (b"x" * size)]),
    "a huge wide part": lambda size: SizedDatabase([USER], [TEXT % _wide(size)]),
    "a huge wide title": lambda size: SizedDatabase(
        [USER], [TEXT % b"hi"], title=_wide(size).decode()
    ),
    "many parts": lambda size: SizedDatabase([USER], [TEXT % b"x"] * (size // 80)),
    "parts of many values": _lists,
    "many messages": lambda size: SizedDatabase([USER] * (size // 80), [TEXT % b"hi"]),
    "many sessions": lambda size: SizedDatabase(
        [USER], [TEXT % b"hi"], sessions=size // 30
    ),
}
"""By what they hold: a session of about so many bytes."""
