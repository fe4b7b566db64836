"""Session logs of other programs, written or replaced by somebody hostile: what `ullage context FILE` may meet."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Build = Callable[[Path, float], Path]


class Log(NamedTuple):
    """A hostile log. ``build`` makes it in a directory, its size times a scale."""

    name: str
    build: Build


LOGS: list[Log] = []
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b31m\u202egnp"


def claude(text: object = "hi", **more: object) -> dict[str, object]:
    """A line of Claude Code's log."""
    return {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": "s",
        "cwd": "/",
        "version": "2.0",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": "user", "content": text},
        **more,
    }


def answer(content: object, **usage: object) -> dict[str, object]:
    """An answer in Claude Code's log."""
    told = {"input_tokens": 9, "output_tokens": 3, **usage}
    message = {
        "id": "m",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "usage": told,
    }
    return claude(type="assistant", uuid="u2", parentUuid="u1", message=message)


def lines(path: Path, *rows: object) -> Path:
    written = [
        row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows
    ]
    path.write_bytes(b"\n".join(written) + b"\n")
    return path


def simple(name: str, *rows: object) -> None:
    """Adds a log of these lines."""

    def build(directory: Path, scale: float) -> Path:
        return lines(directory / f"{name}.jsonl", *rows)

    LOGS.append(Log(name, build))


def sized(name: str, data: Callable[[float], bytes], file: str = "log.jsonl") -> None:
    """Adds a log of bytes, as many as the scale says."""

    def build(directory: Path, scale: float) -> Path:
        path = directory / file
        path.write_bytes(data(scale))
        return path

    LOGS.append(Log(name, build))


def made(name: str, make: Callable[[Path], object], file: str = "log.jsonl") -> None:
    """Adds a log that is made at its path."""

    def build(directory: Path, scale: float) -> Path:
        make(directory / file)
        return directory / file

    LOGS.append(Log(name, build))


def line(row: object) -> bytes:
    return json.dumps(row).encode() + b"\n"


def many_messages(scale: float) -> bytes:
    count = int(200_000 * scale)
    return b"".join(line(claude(f"text {at}", uuid=f"u{at}")) for at in range(count))


def directory_loop(path: Path) -> None:
    path.mkdir()
    (path / "logs").symlink_to(path)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100_000_000_000)


def hostile_database(path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS data FROM n"
    with sqlite3.connect(path) as database:
        for table in ("session", "message", "part", "sessions", "events"):
            database.execute(f"CREATE VIEW {table} AS {endless}")
    database.close()


DEEP = (
    json.dumps(claude()).encode()[:-1] + b',"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
)
NESTED = b"[" * 800 + b"]" * 800
CALL = json.dumps(
    answer([{"type": "tool_use", "id": "t", "name": "f", "input": {"a": "HERE"}}])
).encode()

simple("empty")
simple("one-newline", b"", b"", b"")
simple("nul", b"\0" * 10_000)
simple("not-utf8", b"\xff\xfe" * 5_000)
simple("utf16", json.dumps(claude()).encode("utf-16"))
simple("mark", b"\xef\xbb\xbf" + json.dumps(claude()).encode(), b"\xef\xbb\xbf{}")
simple("deep", claude(), DEEP, answer([{"type": "text", "text": "a"}]))
simple("deep-open", claude(), b"[" * 1_000_000)
simple("deep-input", claude(), CALL.replace(b'"HERE"', NESTED))
simple("deep-content", claude([[[{"type": "text"}]]]), NESTED)
simple("types", claude(7), claude({"a": 1}), answer("x"), answer(None), answer([[1]]))
simple("not-objects", b"[]", b"null", b"1", b'"a"', b"{", b"}", b"tru")
simple("escapes", claude(ESCAPES, cwd=ESCAPES, version=ESCAPES, sessionId=ESCAPES))
simple("escaped-names", claude(), CALL.replace(b'"f"', json.dumps(ESCAPES).encode()))
simple("usage-huge", claude(), answer([{"type": "text", "text": "a"}], input_tokens=10**40))  # fmt: skip
simple("usage-digits", claude(), CALL.replace(b": 9,", b": " + b"9" * 50_000 + b","))
simple("usage-negative", claude(), answer([{"type": "text", "text": "a"}], output_tokens=-(10**9)))  # fmt: skip
simple("usage-nan", claude(), answer([{"type": "text", "text": "a"}], input_tokens=float("nan")))  # fmt: skip
simple("loop", claude(uuid="a", parentUuid="b"), claude(uuid="b", parentUuid="a"))
simple("own-parent", claude(uuid="a", parentUuid="a"), claude(uuid="a", parentUuid="a"))
simple("times", claude(timestamp="0000-00-00"), claude(timestamp=1e300), claude(timestamp=-1))  # fmt: skip
simple("surrogates", claude(), b'{"type":"user","message":{"role":"user","content":"\\ud83d"}}')  # fmt: skip
simple("image", claude([{"type": "image", "source": {"type": "base64", "data": "%%%"}}]))  # fmt: skip
simple("session-export", {"format": "ullage-session", "version": 1, "session": "s"}, b"{}")  # fmt: skip
EMPTY = b"[],"
DOCUMENT = b'{"messages":['
sized("huge-line", lambda scale: line(claude("a" * int(50_000_000 * scale))))
START = b'{"type":"user","message":"'
sized("endless-line", lambda scale: START + b"a" * int(200_000_000 * scale))
sized("many-lines", lambda scale: b"{}\n" * int(1_000_000 * scale))
sized("many-messages", many_messages)
DENSE = b'{"type":"user","x":['
sized("dense-line", lambda scale: line(claude()) + DENSE + EMPTY * int(5_000_000 * scale) + b"[]]}\n")  # fmt: skip
made("fifo", os.mkfifo)
made("zeros", lambda path: path.symlink_to("/dev/zero"))
made("random-bytes", lambda path: path.symlink_to("/dev/urandom"))
made("link-loop", lambda path: path.symlink_to("log.jsonl"))
made("directory-loop", directory_loop, "logs")
made("sparse", sparse)
sized("dense-document", lambda scale: DOCUMENT + EMPTY * int(5_000_000 * scale) + b"[]]}", "log.json")  # fmt: skip
sized("deep-document", lambda _: b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "log.json")  # fmt: skip
sized("broken-database", lambda _: b"SQLite format 3\0" + b"\xff" * 20_000, "opencode.db")
made("hostile-database", hostile_database, "opencode.db")
