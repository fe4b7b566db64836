"""Files that are one JSON value as a whole, also when their end is missing."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ullage.bounds import TOO_DEEP, TOO_MANY
from ullage.envelope import DOCUMENT_VALUES
from ullage.importers.fields import Unusable, decode_line

_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
"""Strings, also one without an end, and the characters that open, close and separate."""

_CLOSER = {b"{": b"}", b"[": b"]"}


class Document(NamedTuple):
    """The value, and whether its end was missing."""

    value: Any
    torn: bool


def read_document(data: bytes) -> Document:
    """The JSON value of a whole file. Of a file that is cut short, what is complete of it.

    The cut is made behind the last complete element, whose containers are closed. Raises ``Unusable`` when nothing of
    it can be read.
    """
    try:
        return Document(decode_line(data, values=DOCUMENT_VALUES), False)
    except Unusable as why:
        if str(why) in (TOO_DEEP, TOO_MANY):
            raise
    complete = _complete_part(data.strip(b"\0 \t\r\n"))
    if complete is None:
        raise Unusable("torn: no complete JSON value")
    return Document(decode_line(complete, values=DOCUMENT_VALUES), True)


def _complete_part(data: bytes) -> bytes | None:
    """The data up to its last complete element, closed; ``None`` for what does not begin like a container."""
    if data[:1] not in (b"{", b"["):
        return None
    open_now: list[bytes] = []
    cut, closers = 0, b""
    for token in _TOKENS.finditer(data):
        kind = token[0]
        if kind in (b"{", b"["):
            open_now.append(kind)
        elif kind in (b"}", b"]"):
            if not open_now or _CLOSER[open_now.pop()] != kind:
                break
            cut, closers = token.end(), _closing(open_now)
        elif kind == b"," and open_now:
            cut, closers = token.start(), _closing(open_now)
    return data[:cut] + closers if cut else None


def _closing(open_now: list[bytes]) -> bytes:
    return b"".join(_CLOSER[kind] for kind in reversed(open_now))
