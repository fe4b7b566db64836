"""One frame of a stream, or one whole body, as an object. A damaged one is told from one that says nothing."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from ullage.envelope import SLOW_JSON_BYTES
from ullage.errors import DamagedAnswer

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


def read_frame(data: bytes) -> dict[str, Any] | None:
    """The object; ``None`` for what is no JSON object, is cut or holds invalid UTF-8.

    Lone surrogates, written as escapes, and NaN are let through: a server may cut an emoji between two deltas.
    """
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        value = _read_slowly(data)
    return value if isinstance(value, dict) else None


def damaged(what: str, data: bytes = b"") -> DamagedAnswer:
    """The error for a frame that can't be right: ``what`` says what is wrong with it."""
    shown = f" It begins: {data[:80].decode('utf-8', 'replace')!r}." if data else ""
    return DamagedAnswer(f"The answer came damaged: {what}.{shown} Try again.")


def _read_slowly(data: bytes) -> object:
    if len(data) > SLOW_JSON_BYTES:
        return None
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        return None
