"""``params`` of a request, divided by who may set them on its wire (``codec/rules.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ullage.codec.rules import FieldTree
from ullage.codec.wires import WIRES

UNKNOWN: Final = ""
"""The wire of a model that is not known yet: fields are open that are open on any wire."""


class Split(NamedTuple):
    """Params in two: the open ones, and the names of the others (``thinking.x`` for a field inside another)."""

    open: dict[str, object]
    beyond: tuple[str, ...]


def split(params: Mapping[str, object], wire: str) -> Split:
    """The open fields of ``params`` on a wire, and the names of those that are the operator's or the encoder's."""
    beyond: list[str] = []
    kept = _open(params, _open_fields(wire), "", beyond)
    return Split(kept, tuple(beyond))


def _open_fields(wire: str) -> FieldTree:
    if wire in WIRES:
        return WIRES[wire].params.open
    return {name: None for one in WIRES.values() for name in one.params.open}


def _open(
    params: Mapping[str, object], fields: FieldTree, place: str, beyond: list[str]
) -> dict[str, object]:
    kept: dict[str, object] = {}
    for name, value in params.items():
        if name not in fields:
            beyond.append(place + name)
            continue
        inner = fields[name]
        if inner is not None and isinstance(value, Mapping):
            kept[name] = _open(value, inner, f"{place}{name}.", beyond)
        else:
            kept[name] = value
    return kept


def owned_in(params: Mapping[str, object], wire: str) -> tuple[str, ...]:
    """The names in ``params`` of fields that the encoder of this wire writes itself."""
    return WIRES[wire].params.owned_in(params) if wire in WIRES else ()
