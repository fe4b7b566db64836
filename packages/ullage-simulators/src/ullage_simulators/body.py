"""Reads a request body as strictly as the providers' parsers do, and says where it is wrong."""

from __future__ import annotations

import json
import re
from typing import Any

_ESCAPE = re.compile(rb"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


class BadBody(ValueError):
    """A body that is no JSON, or no valid Unicode; the message is orjson's, which Anthropic passes on."""


def parse(body: bytes) -> Any:
    """The body's JSON value. Raises ``BadBody`` for bad JSON, invalid UTF-8 and lone surrogates."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadBody("str is not valid UTF-8: surrogates not allowed: line 1 column 1 (char 0)") from None
    _refuse_lone_surrogates(body)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno} column {problem.colno} (char {problem.pos})"
        raise BadBody(f"{problem.msg[0].lower()}{problem.msg[1:]}: {where}") from None
    except RecursionError:
        raise BadBody("recursion limit reached: line 1 column 1 (char 0)") from None


def _refuse_constant(name: str) -> None:
    raise BadBody(f"unexpected character: line 1 column 1 (char 0): {name}")


def _refuse_lone_surrogates(body: bytes) -> None:
    high_until = -1
    for match in _ESCAPE.finditer(body):
        code = int(match[1][1:], 16) if match[1][:1] == b"u" and len(match[1]) == 5 else 0
        if high_until >= 0:
            if match.start() == high_until and 0xDC00 <= code < 0xE000:
                high_until = -1
                continue
            raise BadBody(_at("no low surrogate in string", high_until))
        if 0xD800 <= code < 0xDC00:
            high_until = match.end()
        elif 0xDC00 <= code < 0xE000:
            raise BadBody(_at("invalid high surrogate in string", match.start()))
    if high_until >= 0:
        raise BadBody(_at("no low surrogate in string", high_until))


def _at(what: str, position: int) -> str:
    return f"{what}: line 1 column {position + 1} (char {position})"
