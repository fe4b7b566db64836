"""Foreign values: SDK objects made plain, and JSON read fast where it is good and carefully where it is not."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

import msgspec

from ullage.bounds import UNREADABLE, json_excess
from ullage.envelope import DENSE_ABOVE_BYTES, DENSE_MARKS, JSON_DEPTH, SLOW_JSON_BYTES
from ullage.errors import DamagedAnswer

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
        return {
            key: as_plain(item, depth + 1)
            for key, item in attributes.items()
            if not key.startswith("_")
        }
    return str(value)


def as_wire_json(value: Any) -> Any:
    """The value as ``as_plain`` gives it, with the names that the wire has for its fields.

    google-genai's objects name fields in Python's way: ``usage_metadata`` where the wire has ``usageMetadata``.
    """
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return as_plain(value)
    try:
        named = dump(mode="json", by_alias=True, exclude_none=True)
    except TypeError:  # no object of pydantic's
        return as_plain(value)
    return as_plain(named)


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
            return value.encode("utf-8", "backslashreplace").decode()
        case bool() | None:
            return value
        case int():
            return value if -(2**63) <= value < 2**63 else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {
                _jsonable(str(key)): _jsonable(item, depth + 1)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_jsonable(item, depth + 1) for item in value]
        case _:
            return str(value)


Fields = dict[str, msgspec.Raw]
"""An object whose values are still the bytes they came in."""

_plain = msgspec.json.Decoder()
_fields = msgspec.json.Decoder(Fields)
_items = msgspec.json.Decoder(list[msgspec.Raw])
_encode = msgspec.json.Encoder().encode


def is_dense(data: bytes) -> bool:
    """Whether large JSON holds so many marks that reading it would take long or exhaust memory."""
    if len(data) <= DENSE_ABOVE_BYTES:
        return False
    return sum(data.count(mark) for mark in (b'"', b",", b"\\", b"[", b"{")) > DENSE_MARKS


def parse(data: bytes | msgspec.Raw) -> Any:
    """The value, lone surrogates, NaN and broken UTF-8 let through.

    ``None`` for what is no JSON, is nested too deep or holds too many values.
    """
    if json_excess(data):
        return None
    try:
        return _plain.decode(data)
    except UNREADABLE:
        pass
    try:
        return parse_json(bytes(data))
    except ValueError:
        pass
    try:
        return parse_json(bytes(data).decode("utf-8", "replace"))
    except ValueError:
        return None


def parse_object(data: bytes | msgspec.Raw) -> dict[str, Any]:
    """The object; an empty one for anything else."""
    value = parse(data)
    return value if isinstance(value, dict) else {}


def fields_of(data: bytes | msgspec.Raw | None) -> Fields:
    """The object with its values as they came; an empty one for anything that is no object."""
    if data is None or json_excess(data):
        return {}
    try:
        return _fields.decode(data)
    except UNREADABLE:
        value = parse_object(data)
        return {key: to_raw(item) for key, item in value.items()}


def items_of(data: bytes | msgspec.Raw | None) -> list[msgspec.Raw]:
    """The items of a list as they came; none for anything that is no list."""
    if data is None or json_excess(data):
        return []
    try:
        return _items.decode(data)
    except UNREADABLE:
        value = parse(data)
        return [to_raw(item) for item in value] if isinstance(value, list) else []


def text_of(fields: Mapping[str, msgspec.Raw], key: str) -> str:
    """A field that is text; empty for anything else."""
    raw = fields.get(key)
    value = None if raw is None else parse(raw)
    return value if isinstance(value, str) else ""


def written(value: object) -> msgspec.Raw:
    """JSON of a value; ``Raw`` inside it stays as it came, what JSON can't hold is spelt."""
    try:
        data = _encode(value)
        data.decode()
    except (TypeError, ValueError, UnicodeError):
        return to_raw(value)
    return msgspec.Raw(data)


def get_text(fields: Mapping[str, Any], key: str) -> str:
    """A field of a parsed object that is text; empty for anything else."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def are_objects(value: object) -> TypeGuard[list[dict[str, Any]]]:
    """Whether it is a list of objects."""
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def get_object(fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A field of a parsed object that is an object; an empty one for anything else."""
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


def read_frame(data: bytes) -> dict[str, Any] | None:
    """The object; ``None`` for what is no JSON object, is cut or holds invalid UTF-8.

    Lone surrogates, written as escapes, and NaN are let through: a server may cut an emoji between two deltas.
    """
    try:
        return _decode(data)
    except UNREADABLE:
        pass
    try:
        value = None if len(data) > SLOW_JSON_BYTES else json.loads(data.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def damaged(what: str, data: bytes = b"") -> DamagedAnswer:
    """The error for a frame that can't be right: ``what`` says what is wrong with it."""
    shown = f" It begins: {data[:80].decode('utf-8', 'replace')!r}." if data else ""
    return DamagedAnswer(f"The answer came damaged: {what}.{shown} Try again.")
