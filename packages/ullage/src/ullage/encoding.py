"""Messages, events and usage as JSON and back, losing nothing.

Rows of this version take the fast path: a strict, typed decoder. A row that it refuses because it holds a tag or a
field of a newer version is read again, level by level: unknown fields are kept in ``extra``, unknown parts and events
whole, byte for byte, and both are written back where they were.
"""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any, TypeVar

import msgspec
import msgspec.structs

from ullage.errors import InputError
from ullage.events import VERSION, Event, UnknownEvent
from ullage.messages import UnknownPart

S = TypeVar("S", bound=msgspec.Struct)

RawObject = dict[str, msgspec.Raw]

_encoder = msgspec.json.Encoder()
_raw_object = msgspec.json.Decoder(RawObject)
_raw_list = msgspec.json.Decoder(list[msgspec.Raw])
_TAG = b'"~"'


class UndecodableRow(InputError):
    """Bytes that are no JSON, or JSON that is no event."""


def encode(word: msgspec.Struct) -> bytes:
    """One word as JSON. One line, unless opaque data of a provider came with line breaks, which are kept.

    Args:
        word: A message, an event, a usage, or a part of one.
    """
    plain = _encoder.encode(word)
    return _encoder.encode(_whole(word)) if _TAG in plain else plain


def shown_as(kind: type[S], value: object, **others: object) -> S:
    """What people and programs outside are told of a value: its fields that ``kind`` has too, and ``others``.

    Args:
        kind: The type of the answer.
        value: The value inside, which has a field for each one that is not among ``others``.
        others: Fields of the answer that differ from the value's, or that it lacks.
    """
    fields = dict(others)
    for name in kind.__struct_fields__:
        if name not in fields:
            fields[name] = getattr(value, name)
    return kind(**fields)


@cache
def _strict(kind: object) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


# While one thread imports, and not with the first row: msgspec hands out what it knows of a class before it knows all
# of it, and two threads that read the first row together would crash (docs/why/index.md#types-and-events).
_strict(Event)


def decode_event(row: bytes | str) -> Event:
    """One ledger row. A row of an unknown kind becomes ``UnknownEvent``.

    Args:
        row: JSON, as ``encode`` writes it.

    Raises:
        UndecodableRow: It is no JSON object, or its known fields have impossible values.
    """
    data = row.encode("utf-8", "surrogatepass") if isinstance(row, str) else row
    if (
        _TAG not in data
    ):  # the strict decoder would take a "~" that came from outside for one of our own
        try:
            return typing.cast(Event, _strict(Event).decode(data))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass  # a newer row, or no row at all: the lenient decoder tells which
    try:
        return typing.cast(Event, _lenient(Event, msgspec.Raw(data)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        start = data[:80].decode("utf-8", "replace")
        raise UndecodableRow(
            f"This row can't be read ({problem}): {start!r}"
        ) from problem


def _lenient(kind: object, raw: msgspec.Raw) -> object:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _lenient_union(typing.get_args(kind), kind, raw)
    if origin is tuple:
        item = typing.get_args(kind)[0]
        return tuple(_lenient(item, each) for each in _raw_list.decode(raw))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _lenient_struct(kind, _raw_object.decode(raw))
    return _strict(kind).decode(raw)


def _lenient_union(members: tuple[object, ...], kind: object, raw: msgspec.Raw) -> object:
    structs = [
        member
        for member in members
        if isinstance(member, type) and issubclass(member, msgspec.Struct)
    ]
    if not structs or bytes(raw) == b"null":
        return _strict(kind).decode(raw)
    fields = _raw_object.decode(raw)
    if len(structs) == 1:
        return _lenient_struct(structs[0], fields)
    tag = _strict(str).decode(fields["type"]) if "type" in fields else None
    named = {member.__struct_config__.tag: member for member in structs}
    if UnknownEvent in structs:
        return _lenient_event(named, tag, fields, raw)
    if tag in named and tag != "~":
        return _lenient_struct(named[tag], fields)
    return UnknownPart(id=_text(fields, "id"), raw=raw)


def _lenient_event(
    named: dict[Any, type[msgspec.Struct]],
    tag: str | None,
    fields: RawObject,
    raw: msgspec.Raw,
) -> msgspec.Struct:
    newer = _number(fields, "v", VERSION) > VERSION
    if tag in named and tag != "~":
        try:
            return _lenient_struct(named[tag], fields)
        except msgspec.ValidationError:
            if not newer:
                raise
    elif tag is None:
        raise msgspec.ValidationError("it has no `type`")
    return UnknownEvent(
        session=_text(fields, "session"),
        seq=int(_number(fields, "seq", 0)),
        id=_text(fields, "id"),
        parent=_text(fields, "parent"),
        at=_number(fields, "at", 0),
        v=int(_number(fields, "v", VERSION)),
        raw=raw,
    )


def _lenient_struct(kind: type[msgspec.Struct], fields: RawObject) -> msgspec.Struct:
    known = _fields(kind)
    values: dict[str, object] = {}
    extra: RawObject = {}
    for name, raw in fields.items():
        field = known.get(name)
        if field is not None and name != "~":
            values[field.name] = _lenient(field.type, raw)
        elif name != "type" or kind.__struct_config__.tag is None:
            extra[name] = raw
    missing = [
        field.encode_name
        for field in known.values()
        if field.required and field.name not in values
    ]
    if missing:
        raise msgspec.ValidationError(f"{kind.__name__} lacks {', '.join(missing)}")
    if extra:
        values["extra"] = extra
    return kind(**values)


@cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _text(fields: RawObject, name: str) -> str:
    try:
        return str(_strict(str).decode(fields[name]))
    except (KeyError, msgspec.MsgspecError):
        return ""


def _number(fields: RawObject, name: str, default: float) -> float:
    try:
        return float(_strict(float).decode(fields[name]))
    except (KeyError, msgspec.MsgspecError):
        return default


def _whole(value: object) -> object:
    """A word as what it is written as: ``extra`` beside the known fields, unknown words as they came.

    Walks the words, not their JSON, so that opaque data is never looked into.
    """
    if isinstance(value, UnknownEvent | UnknownPart):
        return value.raw
    if isinstance(value, tuple):
        return [_whole(each) for each in value]
    if not isinstance(value, msgspec.Struct):
        return value
    tag = value.__struct_config__.tag
    whole: dict[str, object] = {} if tag is None else {"type": tag}
    for field in _fields(type(value)).values():
        held = getattr(value, field.name)
        if field.name != "extra" and not _is_default(field, held):
            whole[field.encode_name] = _whole(held)
    return whole | (getattr(value, "extra", None) or {})


def _is_default(field: msgspec.structs.FieldInfo, held: object) -> bool:
    if field.default is not msgspec.NODEFAULT:
        return bool(held == field.default)
    return (
        field.default_factory is not msgspec.NODEFAULT and held == field.default_factory()
    )
