"""The reasoning in the window as it is stored: messages by their place in a table of ids, everything else as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from ullage.meter.carried import Carried

Places = list[int | str]
"""Entries by their place in the table, as differences to the place before, or by id where they are not in it."""


def pack_carried(carried: Carried, places: Callable[[Iterable[str]], Places]) -> dict[str, object]:
    """Its fields; of those by message, where the messages are, and the values beside them."""
    return {field.name: _packed(getattr(carried, field.name), places) for field in fields(Carried)}


def unpack_carried(stored: Mapping[str, Any], names: Callable[[Places], list[str]]) -> Carried:
    """What was packed. Raises ``msgspec.ValidationError`` for what can't have been."""
    values: dict[str, Any] = {name: _unpacked(stored[name], kind, names) for name, kind in _kinds().items()}
    return Carried(**values)


def _packed(value: object, places: Callable[[Iterable[str]], Places]) -> object:
    if isinstance(value, dict):
        return places(value), list(value.values())
    if isinstance(value, set):
        return places(sorted(value))
    return value


def _unpacked(value: Any, kind: Any, names: Callable[[Places], list[str]]) -> object:
    if get_origin(kind) is dict:
        where, values = value
        return dict(zip(names(where), msgspec.convert(values, list[get_args(kind)[1]]), strict=True))  # type: ignore[misc]
    if get_origin(kind) is set:
        return set(names(value))
    return msgspec.convert(value, kind)


@cache
def _kinds() -> dict[str, Any]:
    return get_type_hints(Carried)
