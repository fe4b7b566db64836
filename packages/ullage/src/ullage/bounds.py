"""Checks that foreign JSON is within its limits, before any code that recurses or allocates reads it.

Every function that takes in foreign JSON checks it here first. A value that passes is not nested deeper than
``JSON_DEPTH``, so functions may walk it recursively.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Final

import msgspec

from ullage.envelope import JSON_DEPTH, JSON_VALUES

ANSWER_AT_MOST: Final = 32 * 1024 * 1024
"""Bytes of one answer that are kept for metering."""

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding foreign JSON may raise."""

TOO_DEEP: Final = "nested too deep"
TOO_MANY: Final = "too many values"

_SHORT: Final = (
    2 * JSON_DEPTH
)  # bytes in which no JSON that is whole can be nested deeper
_STRUCTURE: Final = b'"[]{},'
_NO_STRUCTURE: Final = bytes(set(range(256)) - set(_STRUCTURE))
_PIECE_BYTES: Final = 64 * 1024
"""Structure that is split at its quotes at a time: each piece between two quotes is an object of 33 bytes or more."""

_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def json_excess(data: bytes | str | msgspec.Raw, *, values: int = JSON_VALUES) -> str:
    """Why JSON text must not be decoded: ``TOO_DEEP``, ``TOO_MANY``, or empty where it may be.

    Text that is no JSON is judged too, by its brackets outside of strings, unless it is very short. Takes time and
    memory that grow with the length alone: 5 ms for a megabyte of text with many brackets, a tenth of that where
    there are few.
    """
    text = data if type(data) is bytes else _as_bytes(data)
    if len(text) <= _SHORT:
        return ""
    if not may_be_deep(text) and not may_be_many(text, values):
        return ""
    return _excess(_structure(text), values)


def may_be_deep(text: bytes) -> bool:
    """False where the text has too few brackets, strings included, to be nested too deep. Cheap."""
    return len(text) > _SHORT and text.count(b"[") + text.count(b"{") > JSON_DEPTH


def may_be_many(text: bytes, values: int = JSON_VALUES) -> bool:
    """False where the text, strings included, is too short to hold more than so many values. Cheap."""
    return (
        len(text) > values
        and text.count(b"[") + text.count(b"{") + text.count(b",") > values
    )


def json_values(text: bytes) -> int:
    """How many values JSON text holds, as ``json_excess`` counts them."""
    return _values(_structure(text))


def value_excess(value: object, *, most: int = JSON_DEPTH) -> str:
    """``TOO_DEEP`` for mappings and sequences nested deeper than ``most``, also where a value holds itself."""
    level = [value]
    for _ in range(most):
        level = _below(level)
        if not level:
            return ""
    return TOO_DEEP


def _as_bytes(data: bytes | str | msgspec.Raw) -> bytes:
    return data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)


def _structure(text: bytes) -> bytes:
    """The brackets and commas outside of strings."""
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text
    marks = bare.translate(None, _NO_STRUCTURE)
    outside = []
    quotes = 0
    for at in range(0, len(marks), _PIECE_BYTES):
        between = marks[at : at + _PIECE_BYTES].split(b'"')
        outside.append(b"".join(between[quotes % 2 :: 2]))
        quotes += len(between) - 1
    return b"".join(outside)


def _values(structure: bytes) -> int:
    return len(structure) - structure.count(b"]") - structure.count(b"}")


def _excess(structure: bytes, values: int) -> str:
    if _values(structure) > values:
        return TOO_MANY
    brackets = structure.translate(None, b",")
    deepest = max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)
    return TOO_DEEP if deepest > JSON_DEPTH else ""


def _below(level: list[object]) -> list[object]:
    """The containers inside these containers, each once: a value may hold one many times."""
    found: dict[int, object] = {}
    for container in level:
        members = container.values() if isinstance(container, Mapping) else container
        if isinstance(container, Mapping | list | tuple):
            for member in members:  # type: ignore[attr-defined]
                if isinstance(member, Mapping | list | tuple) and member:
                    found[id(member)] = member
    return list(found.values())
