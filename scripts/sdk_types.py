"""What an SDK's types hold, as names: the fields of objects, and the values that tell kinds of objects apart."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

KINDS: Final = ("type", "role", "object")
"""Fields whose values name the kind of an object."""

FORMS: Final = re.compile(r"^Beta|(Param|Params|ParamsBase|Dict)$")
"""What tells apart the forms that one type has in a request, an answer and a beta."""


class Name(NamedTuple):
    """A field of an object, or a kind of object; then ``field`` is empty."""

    owner: str
    field: str
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.owner}.{self.field}" if self.field else self.kind


def unknown_names(root: str, is_known: Callable[[str], bool]) -> Iterator[Name]:
    """The names in the type ``module:name``, and in what its known fields hold, that are not known.

    An unknown field is one name and so is an object of an unknown kind, whatever is inside.
    """
    module, _, name = root.partition(":")
    seen: set[type] = set()
    waiting = [getattr(importlib.import_module(module), name)]
    while waiting:
        for made in _objects(waiting.pop()):
            if made in seen:
                continue
            seen.add(made)
            fields = _fields(made)
            owner = FORMS.sub("", made.__name__)
            kinds = [value for field in KINDS for value in _values(fields.get(field))]
            if kinds and not any(map(is_known, kinds)):
                yield Name(owner, "", kinds[0])
                continue
            for field, annotation in fields.items():
                if is_known(field):
                    waiting.append(annotation)
                else:
                    yield Name(owner, field)


def _fields(made: type) -> dict[str, Any]:
    """The fields of a TypedDict or of a model with their types, by the names that are sent."""
    models = getattr(made, "model_fields", None)
    if models is None:
        return get_type_hints(made)
    return {field.alias or name: field.annotation for name, field in models.items()}


def _objects(annotation: object) -> Iterator[type]:
    """The objects that an annotation names, also inside unions and lists."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        # ``typing.is_typeddict`` knows none of typing_extensions.
        if hasattr(annotation, "model_fields") or hasattr(annotation, "__total__"):
            yield annotation
    elif get_origin(annotation) is not Literal:
        for inner in get_args(annotation):
            yield from _objects(inner)


def _values(annotation: object) -> list[str]:
    if get_origin(annotation) is Literal:
        return [value for value in get_args(annotation) if isinstance(value, str)]
    return [value for inner in get_args(annotation) for value in _values(inner)]
