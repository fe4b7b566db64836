"""A copy of what changes in place, so that a log can be read on tentatively: values that don't change are shared."""

from __future__ import annotations

from collections import Counter
from types import MethodType
from typing import Any, Final, TypeVar, cast

import msgspec

T = TypeVar("T")

_COLLECTIONS: Final = frozenset({dict, list, set, Counter})
"""Other kinds of them remember what they have counted; that is shared."""

_ROOMS: Final = ("ullage.importers.", "ullage.meter.", "ullage.codec.parts")
_COUNTING: Final = ("ullage.meter.cost", "ullage.meter.forecast")
"""The rooms whose objects say how far a log was read, but for those that count texts: to them it is all the same."""

_PLAIN: Final = frozenset({str, int, float, bool, bytes, type(None), frozenset, type})


def branched(value: T) -> T:
    """A reader or a meter that goes on by itself from where the given one stands; that one stays as it is.

    Copied are collections and the objects that hold some. Words (``msgspec`` structs, and frozen dataclasses of them),
    functions and what counts texts are shared. Time and memory go with the number of messages, not with their size.
    """
    return cast(T, _copy(value, {}))


def _copy(value: Any, done: dict[int, Any]) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if (seen := done.get(id(value))) is not None:
        return seen
    if isinstance(value, tuple):
        return _copy_tuple(value, done)
    if kind in _COLLECTIONS:
        return _copy_collection(value, done)
    if isinstance(value, MethodType):
        return MethodType(value.__func__, _copy(value.__self__, done))
    if _changes(value):
        return _copy_object(value, done)
    return value


def _copy_tuple(value: tuple[Any, ...], done: dict[int, Any]) -> Any:
    items = [_copy(item, done) for item in value]
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    make = getattr(type(value), "_make", type(value))
    return make(items)


def _copy_collection(value: Any, done: dict[int, Any]) -> Any:
    copy = value.copy()
    done[id(value)] = copy
    if isinstance(copy, dict):
        for key, item in value.items():
            if type(item) not in _PLAIN:
                copy[key] = _copy(item, done)
    elif isinstance(copy, list):
        for place, item in enumerate(value):
            if type(item) not in _PLAIN:
                copy[place] = _copy(item, done)
    return copy


def _changes(value: object) -> bool:
    kind = type(value)
    if not kind.__module__.startswith(_ROOMS) or kind.__module__ in _COUNTING or isinstance(value, msgspec.Struct):
        return False
    return not isinstance(value, type)


def _copy_object(value: Any, done: dict[int, Any]) -> Any:
    copy = object.__new__(type(value))
    done[id(value)] = copy
    names = [name for kind in type(value).__mro__ for name in _slots(kind)]
    held = {name: getattr(value, name) for name in names if hasattr(value, name)} | getattr(value, "__dict__", {})
    parameters = getattr(type(value), "__dataclass_params__", None)
    is_same = parameters is not None and parameters.frozen
    for name, item in held.items():
        copied = _copy(item, done)
        is_same = is_same and copied is item
        object.__setattr__(copy, name, copied)
    if is_same:
        done[id(value)] = value
        return value
    return copy


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    named = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in named if name not in ("__dict__", "__weakref__"))
