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
    """A hostile log. ``holds`` completes "a log that …"; ``build`` makes it in a directory, its size times a scale."""

    name: str
    holds: str
    build: Build


LOGS: list[Log] = []
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b31m\u202egnp"


def log(holds: str) -> Callable[[Build], Build]:
    """A decorator that adds a log to the table, under the name of its function."""

    def add(build: Build) -> Build:
        LOGS.append(Log(getattr(build, "__name__", "").replace("_", "-"), holds, build))
        return build

    return add


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


def simple(name: str, holds: str, *rows: object) -> None:
    """Adds a log of these lines."""

    def build(directory: Path, scale: float) -> Path:
        return lines(directory / f"{name}.jsonl", *rows)

    LOGS.append(Log(name, holds, build))


DEEP = (
    json.dumps(claude()).encode()[:-1] + b',"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
)
NESTED = b"[" * 800 + b"]" * 800
CALL = json.dumps(
    answer([{"type": "tool_use", "id": "t", "name": "f", "input": {"a": "HERE"}}])
).encode()

simple("empty", "is empty")
simple("one-newline", "has nothing but ends of lines", b"", b"", b"")
simple("nul", "is made of NUL bytes", b"\0" * 10_000)
simple("not-utf8", "is no UTF-8", b"\xff\xfe" * 5_000)
simple("utf16", "is UTF-16", json.dumps(claude()).encode("utf-16"))
simple(
    "mark",
    "begins with a mark and has marks in between",
    b"\xef\xbb\xbf" + json.dumps(claude()).encode(),
    b"\xef\xbb\xbf{}",
)
simple(
    "deep",
    "has a line nested 200,000 deep",
    claude(),
    DEEP,
    answer([{"type": "text", "text": "a"}]),
)
simple(
    "deep-open",
    "has a line of a million brackets that are never closed",
    claude(),
    b"[" * 1_000_000,
)
simple(
    "deep-input",
    "nests a call's input 800 deep",
    claude(),
    CALL.replace(b'"HERE"', NESTED),
)
simple(
    "deep-content",
    "nests a message's content 800 deep",
    claude([[[{"type": "text"}]]]),
    NESTED,
)
simple(
    "types",
    "has every field of another type",
    claude(7),
    claude({"a": 1}),
    answer("x"),
    answer(None),
    answer([[1]]),
)
simple(
    "not-objects",
    "has lines that are no objects",
    b"[]",
    b"null",
    b"1",
    b'"a"',
    b"{",
    b"}",
    b"tru",
)
simple(
    "escapes",
    "has escape sequences in every text",
    claude(ESCAPES, cwd=ESCAPES, version=ESCAPES, sessionId=ESCAPES),
)
simple(
    "escaped-names",
    "has escape sequences in names of tools",
    claude(),
    CALL.replace(b'"f"', json.dumps(ESCAPES).encode()),
)
simple(
    "usage-huge",
    "reports 10^40 tokens",
    claude(),
    answer([{"type": "text", "text": "a"}], input_tokens=10**40),
)
simple(
    "usage-digits",
    "reports a number of 50,000 digits",
    claude(),
    CALL.replace(b": 9,", b": " + b"9" * 50_000 + b","),
)
simple(
    "usage-negative",
    "reports negative tokens",
    claude(),
    answer([{"type": "text", "text": "a"}], output_tokens=-(10**9)),
)
simple(
    "usage-nan",
    "reports NaN",
    claude(),
    answer([{"type": "text", "text": "a"}], input_tokens=float("nan")),
)
simple(
    "loop",
    "has messages that are each other's parents",
    claude(uuid="a", parentUuid="b"),
    claude(uuid="b", parentUuid="a"),
)
simple(
    "own-parent",
    "has a message that is its own parent",
    claude(uuid="a", parentUuid="a"),
    claude(uuid="a", parentUuid="a"),
)
simple(
    "times",
    "has times that were never",
    claude(timestamp="0000-00-00"),
    claude(timestamp=1e300),
    claude(timestamp=-1),
)
simple(
    "surrogates",
    "has halves of surrogate pairs",
    claude(),
    b'{"type":"user","message":{"role":"user","content":"\\ud83d"}}',
)
simple(
    "image",
    "has an image that is none",
    claude([{"type": "image", "source": {"type": "base64", "data": "%%%"}}]),
)
simple(
    "session-export",
    "is an export with commands in it",
    {"format": "ullage-session", "version": 1, "session": "s"},
    b"{}",
)


@log("is one line of 50 MB")
def huge_line(directory: Path, scale: float) -> Path:
    return lines(directory / "log.jsonl", claude("a" * int(50_000_000 * scale)))


@log("is one line without an end, of 200 MB")
def endless_line(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.write_bytes(b'{"type":"user","message":"' + b"a" * int(200_000_000 * scale))
    return path


@log("has a million lines of nothing")
def many_lines(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.write_bytes(b"{}\n" * int(1_000_000 * scale))
    return path


@log("has two hundred thousand messages")
def many_messages(directory: Path, scale: float) -> Path:
    count = int(200_000 * scale)
    return lines(
        directory / "log.jsonl",
        *(claude(f"text {at}", uuid=f"u{at}") for at in range(count)),
    )


@log("has a line of a million empty lists")
def dense_line(directory: Path, scale: float) -> Path:
    return lines(
        directory / "log.jsonl",
        claude(),
        b'{"type":"user","x":[' + b"[]," * int(5_000_000 * scale) + b"[]]}",
    )


@log("is a FIFO nobody writes to")
def fifo(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    os.mkfifo(path)
    return path


@log("is a link to endless zeros")
def zeros(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.symlink_to("/dev/zero")
    return path


@log("is a link to endless random bytes")
def random_bytes(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.symlink_to("/dev/urandom")
    return path


@log("is a link to itself")
def link_loop(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    path.symlink_to("log.jsonl")
    return path


@log("is a directory full of links to itself")
def directory_loop(directory: Path, scale: float) -> Path:
    path = directory / "logs"
    path.mkdir()
    (path / "logs").symlink_to(path)
    return path


@log("is a sparse file of 100 GB")
def sparse(directory: Path, scale: float) -> Path:
    path = directory / "log.jsonl"
    with path.open("wb") as file:
        file.truncate(100_000_000_000)
    return path


@log("is a JSON document of 5,000,000 empty lists")
def dense_document(directory: Path, scale: float) -> Path:
    path = directory / "log.json"
    path.write_bytes(b'{"messages":[' + b"[]," * int(5_000_000 * scale) + b"[]]}")
    return path


@log("is a JSON document nested 100,000 deep")
def deep_document(directory: Path, scale: float) -> Path:
    path = directory / "log.json"
    path.write_bytes(b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    return path


@log("is a database that is none")
def broken_database(directory: Path, scale: float) -> Path:
    path = directory / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 20_000)
    return path


@log("is a database whose tables are endless views")
def hostile_database(directory: Path, scale: float) -> Path:
    path = directory / "opencode.db"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS data FROM n"
    with sqlite3.connect(path) as database:
        for table in ("session", "message", "part", "sessions", "events"):
            database.execute(f"CREATE VIEW {table} AS {endless}")
    database.close()
    return path
