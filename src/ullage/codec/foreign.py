"""Foreign values made plain: SDK objects, mappings and JSON bytes become dicts, lists and scalars."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ullage.bounds import json_excess
from ullage.envelope import JSON_DEPTH

_TOO_DEEP = f"<nested deeper than {JSON_DEPTH} levels>"


def as_plain(value: Any, depth: int = 0) -> Any:
    """The value as dicts, lists, strings, numbers, booleans and None, whatever object it came as.

    SDK objects are read through ``model_dump`` (pydantic), ``to_dict`` (protobuf wrappers, older SDKs) or their
    attributes. A value with none of these becomes its ``str``. Never raises on a well-behaved object.
    """
    if depth > JSON_DEPTH:
        return _TOO_DEEP
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "surrogateescape")
    if isinstance(value, Sequence):
        return [as_plain(item, depth + 1) for item in value]
    for method in ("model_dump", "to_dict"):
        dump = getattr(value, method, None)
        if callable(dump):
            return as_plain(dump(), depth + 1)
    attributes = getattr(value, "__dict__", None)
    if attributes:
        return {key: as_plain(item, depth + 1) for key, item in attributes.items() if not key.startswith("_")}
    return str(value)


def parse_json(data: bytes | str) -> Any:
    """JSON as Python's own reader takes it: NaN and Infinity are let through.

    Raises ``ValueError``, also for JSON that is nested too deep or holds too many values.
    """
    if excess := json_excess(data):
        raise ValueError(excess)
    return json.loads(data)


def to_raw(value: Any) -> msgspec.Raw:
    """The value as JSON that any reader takes: what JSON can't hold (NaN, huge numbers, lone surrogates) is spelt.

    What lies deeper than ``JSON_DEPTH`` levels is named, not read.
    """
    return msgspec.Raw(msgspec.json.encode(_jsonable(value)))


def _jsonable(value: Any, depth: int = 0) -> Any:
    if depth > JSON_DEPTH:
        return _TOO_DEEP
    match value:
        case str():
            return value if _is_unicode(value) else value.encode("utf-8", "backslashreplace").decode()
        case bool() | None:
            return value
        case int():
            return value if -(2**63) <= value < 2**63 else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {_jsonable(str(key)): _jsonable(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_jsonable(item, depth + 1) for item in value]
        case _:
            return str(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
