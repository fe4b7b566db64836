"""Reading foreign JSON without trusting it: lines, documents, and fields, where a wrong type is as good as none."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any, Final

import msgspec

from ullage.bounds import (
    TOO_DEEP,
    json_excess,
    may_be_deep,
    may_be_many,
    value_excess,
)
from ullage.codec.foreign import get_object, get_text
from ullage.envelope import CAREFUL_BYTES, JSON_VALUES
from ullage.messages import clean_text

JsonObject = dict[str, Any]
"""A JSON object of a foreign log. ``Any`` ends here: the functions below give back one type each."""

text: Final = get_text
mapping: Final = get_object

_decode = msgspec.json.Decoder().decode


class Unusable(Exception):
    """An unusable line; its text is the reason, equal for equal causes.

    It never leaves this package: a reader turns it into one ``Skipped``.
    """


def decode_line(line: bytes, *, values: int = JSON_VALUES) -> Any:
    """The JSON value of one line. Raises ``Unusable`` for what is none: torn, cut short, NUL bytes.

    A line that is nested deeper than ``JSON_DEPTH`` or holds more than so many ``values`` is unusable too.
    A lone surrogate, NaN or a byte that is no UTF-8 does not make a line unusable: Python's own reader takes them.
    """
    if may_be_many(line, values) and (excess := json_excess(line, values=values)):
        raise Unusable(excess)
    try:
        value = _decode(line)
    except RecursionError:
        raise Unusable(TOO_DEEP) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_carefully(line.strip(b"\0 \t\r\n"), values)
    if may_be_deep(line) and (
        excess := value_excess(value)
    ):  # a value is quicker to judge than its text
        raise Unusable(excess)
    return value


def _decode_carefully(text: bytes, values: int) -> Any:
    """The value of text that the fast decoder refuses. Raises ``Unusable``."""
    if not text:
        raise Unusable("NUL bytes instead of a line")
    if excess := json_excess(text, values=values):
        raise Unusable(excess)
    if len(text) > CAREFUL_BYTES:
        raise Unusable("torn: no complete JSON value")
    try:
        return _joined(json.loads(text.decode("utf-8", "replace")))
    except ValueError:
        raise Unusable("torn: no complete JSON value") from None


_CONTENT = frozenset({"text", "content", "thinking", "output", "arguments"})
"""Fields with message content: their parts keep the original bytes of altered text."""


def _joined(value: Any, key: str = "") -> Any:
    """The value without lone surrogates in its names and ids, which nothing could store."""
    if isinstance(value, str):
        return value if key in _CONTENT else clean_text(value).text
    if isinstance(value, dict):
        return {
            clean_text(name).text: _joined(each, name) for name, each in value.items()
        }
    if isinstance(value, list):
        return [_joined(each, key if isinstance(each, str) else "") for each in value]
    return value


def number(fields: JsonObject, key: str) -> float | None:
    """A finite number field, else ``None``."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def count(fields: JsonObject, key: str) -> int | None:
    """A whole number of at least 1 that a token count or a limit can be, else ``None``."""
    value = number(fields, key)
    return int(value) if value is not None and 1 <= value < 1e12 else None


def items(fields: JsonObject, key: str) -> list[Any]:
    """A list field, else an empty one."""
    value = fields.get(key)
    return value if isinstance(value, list) else []


def objects(fields: JsonObject, key: str) -> list[JsonObject]:
    """The objects in a list field."""
    return [item for item in items(fields, key) if isinstance(item, dict)]


def texts(fields: JsonObject, key: str) -> list[str]:
    """The strings in a list field."""
    return [item for item in items(fields, key) if isinstance(item, str)]


def as_json(value: object) -> str:
    """A foreign value as compact JSON text."""
    return raw_json(value).decode("utf-8", "replace")


def raw_json(value: object) -> bytes:
    """A foreign value as compact JSON bytes, its keys in their order.

    A lone surrogate, which UTF-8 can't hold, is written as its escape, as it was read.
    """
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError):
        return json.dumps(value, separators=(",", ":"), default=str).encode()


def seconds(value: object) -> float:
    """A timestamp as seconds since 1970: ISO 8601 text, or a number of seconds or milliseconds; 0 for anything else."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0
    found = number({"at": value}, "at")
    if found is None or found <= 0:
        return 0.0
    return found / 1000 if found > 1e11 else found
