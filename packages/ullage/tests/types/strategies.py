"""Random words, made from the types themselves, so that a new field or event is tested the day it appears."""

import types
import typing
from functools import cache
from typing import Any, Literal

import msgspec
import msgspec.structs
from hypothesis import strategies as st

from ullage.events import Event, UnknownEvent
from ullage.extensible import Extensible
from ullage.messages import Part, UnknownPart

SearchStrategy = st.SearchStrategy[Any]

EVENT_TYPES: tuple[type[msgspec.Struct], ...] = typing.get_args(Event)
PART_TYPES: tuple[type[msgspec.Struct], ...] = typing.get_args(Part)

marks = st.sampled_from(
    ["~", '"~"', "type", "null", "\0", "é", "\U0001f469\u200d\U0001f467"]
)
texts = st.text(st.characters(codec="utf-8"), max_size=12) | marks
"""Valid Unicode, with what the codec itself writes among it."""

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def spaced(value: object) -> bytes:
    """JSON with blanks that our encoder would not write, so that a rewritten value is seen."""
    return b" " + msgspec.json.format(msgspec.json.encode(value), indent=1) + b" "


raws = (json_values.map(msgspec.json.encode) | json_values.map(spaced)).map(
    lambda data: msgspec.Raw(data.strip())
)
opaque = raws | st.sampled_from(
    [
        msgspec.Raw(each)
        for each in (
            b'{"type":"~","raw":5}',
            b'{"~": {"a": 1}}',
            b'{"a": "~", "a": 2}',
            b'["~" ]',
        )
    ]
)
"""JSON of somebody else; nothing in it may be changed, whatever it looks like."""

newer_names = st.sampled_from(["later", "x_1", "Ünicode", "~", "~~", "raw2"])


def _newer_tags(name: str) -> SearchStrategy:
    optional = {"v": st.just(9), "seq": st.integers(0, 9), "more": json_values}
    return st.fixed_dictionaries({"type": st.just(name), "id": texts}, optional=optional)


unknown_parts = _newer_tags("hologram").map(
    lambda fields: UnknownPart(id=fields["id"], raw=msgspec.Raw(spaced(fields).strip()))
)


def unknown_event(fields: dict[str, Any]) -> UnknownEvent:
    """What a row of an unknown kind reads as."""
    raw = msgspec.Raw(spaced(fields).strip())
    return UnknownEvent(
        id=fields["id"], seq=fields.get("seq", 0), v=fields.get("v", 1), raw=raw
    )


unknown_events = _newer_tags("teleported").map(unknown_event)


@cache
def words(kind: Any, newer: bool = False) -> SearchStrategy:
    """Values of a type. With ``newer``, any word in them may carry fields and parts of a later version."""
    origin = typing.get_origin(kind)
    match kind:
        case msgspec.UNSET | types.NoneType:
            return st.none()
        case _ if kind is UnknownPart:
            return unknown_parts if newer else st.nothing()
        case _ if kind is UnknownEvent:
            return unknown_events
        case _ if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return _structs(kind, newer)
        case _ if origin is Literal:
            return st.sampled_from(typing.get_args(kind))
        case _ if origin is tuple:
            return st.lists(words(typing.get_args(kind)[0], newer), max_size=2).map(tuple)
        case _ if origin is dict:
            return st.dictionaries(
                texts, words(typing.get_args(kind)[1], newer), max_size=2
            )
        case _ if origin in (typing.Union, types.UnionType):
            return st.one_of([words(member, newer) for member in typing.get_args(kind)])
        case _:
            return _PLAIN[kind]


def _structs(kind: type[msgspec.Struct], newer: bool) -> SearchStrategy:
    fields = {
        field.name: words(field.type, newer)
        for field in msgspec.structs.fields(kind)
        if field.name != "extra"
    }
    if newer and issubclass(kind, Extensible):
        extra = st.dictionaries(newer_names, opaque, min_size=1, max_size=2)
        fields["extra"] = st.none() | extra
    return st.builds(kind, **fields)


_PLAIN: dict[Any, SearchStrategy] = {
    str: texts,
    bytes: st.binary(max_size=8),
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    object: json_values,
    msgspec.Raw: opaque,
}
