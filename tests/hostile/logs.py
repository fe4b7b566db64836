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


def log(build: Build) -> Build:
    """A decorator that adds a log to the table, under the name of its function."""
    LOGS.append(Log(getattr(build, "__name__", "").replace("_", "-"), build))
    return build


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


@log
def huge_line(directory: Path, scale: float) -> Path:
    return lines(directory / "log.jsonl", claude("a" * int(50_000_000 * scale)))


@log
def endless_line(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.write_bytes(b'{"type":"user","message":"' + b"a" * int(200_000_000 * scale))
    return path


@log
def many_lines(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.write_bytes(b"{}\n" * int(1_000_000 * scale))
    return path


@log
def many_messages(directory: Path, scale: float) -> Path:
    count = int(200_000 * scale)
    return lines(
        directory / "log.jsonl",
        *(claude(f"text {at}", uuid=f"u{at}") for at in range(count)),
    )


@log
def dense_line(directory: Path, scale: float) -> Path:
    return lines(
        directory / "log.jsonl",
        claude(),
        b'{"type":"user","x":[' + b"[]," * int(5_000_000 * scale) + b"[]]}",
    )


@log
def fifo(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    os.mkfifo(path)
    return path


@log
def zeros(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.symlink_to("/dev/zero")
    return path


@log
def random_bytes(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.symlink_to("/dev/urandom")
    return path


@log
def link_loop(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.symlink_to("log.jsonl")
    return path


@log
def directory_loop(directory: Path, scale: float) -> Path:
    path = directory / "logs"
    path.mkdir()
    (path / "logs").symlink_to(path)
    return path


@log
def sparse(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    with path.open("wb") as file:
        file.truncate(100_000_000_000)
    return path


@log
def dense_document(directory: Path, scale: float) -> Path:
    path = directory / "log.json"
    path.write_bytes(b'{"messages":[' + b"[]," * int(5_000_000 * scale) + b"[]]}")
    return path


@log
def deep_document(directory: Path, scale: float) -> Path:
    path = directory / "log.json"
    path.write_bytes(b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    return path


@log
def broken_database(directory: Path, scale: float) -> Path:
    path = directory / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 20_000)
    return path


@log
def hostile_database(directory: Path, scale: float) -> Path:
    path = directory / "opencode.db"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS data FROM n"
    with sqlite3.connect(path) as database:
        for table in ("session", "message", "part", "sessions", "events"):
            database.execute(f"CREATE VIEW {table} AS {endless}")
    database.close()
    return path
