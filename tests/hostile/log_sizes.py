"""Logs that take much memory for their size: shapes of JSON, alone and behind a session that some program logged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.places import CLIENT_LOGS
from ullage.importers.detect import formats

FIXTURES = CLIENT_LOGS

SESSIONS = {
    path.parent.name: path
    for path in sorted(FIXTURES.glob("*/*.jsonl"), reverse=True)
    if path.stem in ("session", "events", "exchanges")
}
"""A log of lines of each program that writes lines."""

DOCUMENTS = {
    path.parent.name: path
    for path in sorted(FIXTURES.glob("*/*.json"), reverse=True)
    if path.parent.name in ("cline", "continue_cli", "mini_swe_agent")
}
"""A log of each program that writes one JSON document, with a text that is replaced by a huge one."""

IN_DATABASES = frozenset({"opencode"})
"""OpenCode keeps its sessions in a database (``database_sizes.py``), and writes a document just when asked for one."""

HUGE = (
    ("a huge text", b"x"),
    ("a huge text of words", b"word "),
    ("a huge text of digits", b"9"),
    ("a huge text of escapes", b"\\n"),
)
COPIED = (
    ("a huge text with an accent", "é".encode()),
    ("a huge wide text", b"\\ud83d\\ude00"),
)

_TEXT = re.compile(rb'"(?:text|content|thinking|output|arguments)"\s*:\s*"([^"\\]+)"')
_ID = re.compile(rb'"(\w*[iI]d|uuid|parentUuid|call)"(\s*:\s*)"([^"]*)"')
_SAME = (b"sessionId", b"session_id")


class SizedLog(NamedTuple):
    """``holds`` is what is in it."""

    holds: str
    data: bytes


def shapes(size: int) -> Iterator[SizedLog]:
    """One JSON value or many, of about so many bytes."""
    yield SizedLog("one long line", b'{"a":"' + b"x" * size + b'"}\n')
    yield SizedLog("one long line without an end", b'{"a":"' + b"x" * size)
    yield SizedLog("many short lines", b"{}\n" * (size // 3))
    yield SizedLog("many lines of no JSON", b"x\n" * (size // 2))
    yield SizedLog("open lists", b"[" * size)
    yield SizedLog("open objects", b'{"a":' * (size // 5))
    keys = b",".join(b'"k%d":""' % at for at in range(size // 13))
    yield SizedLog("many keys", b"{" + keys + b"}\n")
    yield SizedLog("many empty lists", b'{"a":[' + b"[]," * (size // 3) + b"[]]}\n")
    yield SizedLog("many empty texts", b'{"a":[' + b'"",' * (size // 3) + b'""]}\n')
    yield SizedLog("many objects without an end", b'{"a":[' + b'{"b":1},' * (size // 8))
    yield SizedLog("escaped quotes without an end", b'{"a":"' + b'\\"' * (size // 2))
    yield SizedLog("backslashes", b'{"a":"' + b"\\" * size + b'"}\n')
    yield SizedLog("escapes", b'{"a":"' + b"\\u00e9" * (size // 6) + b'"}\n')
    yield SizedLog("wide text", b'{"a":"\\ud83d\\ude00' + b"x" * size + b'"}\n')
    yield SizedLog("halves of pairs", b'{"a":"' + b"\\ud83d" * (size // 6) + b'"}\n')
    yield SizedLog("a long number", b'{"a":' + b"9" * size + b"}\n")
    yield SizedLog("no UTF-8", b'{"a":"' + b"\xff" * size + b'"}\n')
    yield SizedLog("commas", b"[" + b"," * size)


def logs_of(program: str, size: int) -> Iterator[SizedLog]:
    """A session of the program, with a shape behind it, with a huge text in it, and again and again."""
    lines = _lines_of(program)
    log = b"\n".join(lines) + b"\n"
    for shape in shapes(size):
        yield SizedLog(shape.holds, log + shape.data)
    for what, text in HUGE:
        yield SizedLog(what, with_longest_text(log, text * (size // len(text))))
    yield from logs_of_copies(program, size)
    log += repeated([densest_line(program)], size)
    yield SizedLog("the line again and again that gives the most events", log)
    yield SizedLog("its lines again and again", repeated(lines, size))


def documents_of(program: str, size: int) -> Iterator[SizedLog]:
    """A document of the program with a huge text in it."""
    document = DOCUMENTS[program].read_bytes()
    for what, text in HUGE:
        yield SizedLog(what, with_longest_text(document, text * (size // len(text))))
    for what, begin in COPIED:
        yield SizedLog(what, with_longest_text(document, begin + b"x" * size))


def densest_line(program: str) -> bytes:
    """The line of the program's session that gives the most events for each of its bytes."""
    lines = _lines_of(program)
    reader = next(
        each.reader for each in formats() if each.name == program.replace("_", "-")
    )

    def density(line: bytes) -> float:
        more = repeated([line], 50 * len(line))
        made = reader()
        events = made.feed([*lines, *more.splitlines()]) + made.settle()
        return len(events) / len(more)

    return max(lines, key=density)


def logs_of_copies(program: str, size: int) -> Iterator[SizedLog]:
    """A session with a text of which a copy, or one in lower case, takes several times its bytes."""
    log = b"\n".join(_lines_of(program)) + b"\n"
    for what, begin in COPIED:
        yield SizedLog(what, with_longest_text(log, begin + b"x" * size))


def _lines_of(program: str) -> list[bytes]:
    return [
        line for line in SESSIONS[program].read_bytes().splitlines() if _is_json(line)
    ]


def with_longest_text(log: bytes, text: bytes) -> bytes:
    """The log with another text in the place of its longest."""
    longest = max(_TEXT.findall(log), key=len)
    return log.replace(b'"' + longest + b'"', b'"' + text + b'"', 1)


def repeated(lines: list[bytes], size: int) -> bytes:
    """The lines, as messages of their own each time."""
    made: list[bytes] = []
    length = 0
    while length < size:
        number = b"-%d" % length
        for line in lines:
            made.append(_ID.sub(lambda found: _renamed(found, number), line))  # noqa: B023
            length += len(made[-1]) + 1
    return b"\n".join(made) + b"\n"


def _renamed(found: re.Match[bytes], number: bytes) -> bytes:
    key, between, value = found.groups()
    if key in _SAME:
        return found[0]
    return b'"%s"%s"%s%s"' % (key, between, value, number)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
