"""Types of a user's program as JSON: their schema, and JSON values read into them.

Whatever msgspec knows (Structs, dataclasses, TypedDicts, enums, ``Literal``, unions, containers), paths, and pydantic's
models: pydantic is used where the program has imported it, and never imported here.
"""

from __future__ import annotations

import sys
import threading
import typing
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Annotated, Any, Final, NamedTuple

import msgspec

REFERENCE: Final = "#/$defs/{name}"

_CONSTRAINTS: Final = (
    "gt",
    "ge",
    "lt",
    "le",
    "multiple_of",
    "pattern",
    "min_length",
    "max_length",
)
"""What msgspec calls the constraints of a value, as pydantic and annotated-types do."""

_converting = threading.Lock()
"""Two event loops that first convert to a type at the same time crash msgspec: docs/why/index.md#types-and-events."""


class TypeSchema(NamedTuple):
    """The schema of a type, and the definitions that it refers to by name."""

    shape: dict[str, Any]
    definitions: dict[str, Any]


def type_schema(kind: Any) -> TypeSchema:
    """JSON Schema of a type. Raises ``TypeError`` or ``ValueError`` for a type without a JSON form."""
    (shape,), components = msgspec.json.schema_components(
        [kind], schema_hook=_schema_hook, ref_template=REFERENCE
    )
    definitions: dict[str, Any] = {}
    inner = _lifted(components, definitions)
    shape = _lifted(shape, definitions)
    for name, definition in inner.items():
        define(definitions, name, definition)
    return TypeSchema(shape, definitions)


def _lifted(value: Any, definitions: dict[str, Any]) -> Any:
    """The schema without the definitions that pydantic puts inside it; these are added to the others."""
    if isinstance(value, list):
        return [_lifted(each, definitions) for each in value]
    if not isinstance(value, dict):
        return value
    lifted = {}
    for name, each in value.items():
        if name == "$defs" and isinstance(each, dict):
            for defined, definition in each.items():
                define(definitions, defined, definition)
        else:
            lifted[name] = _lifted(each, definitions)
    return lifted


def define(definitions: dict[str, Any], name: str, definition: Any) -> None:
    """Add a definition. Raises ``TypeError`` where another type has its name."""
    known = definitions.setdefault(name, definition)
    if _content(known) != _content(definition):
        raise TypeError(f"two types are called {name}: rename one of them")


def _content(definition: Any) -> Any:
    """What tells two definitions apart: msgspec and pydantic write the same enum with other words around it."""
    if isinstance(definition, dict) and "enum" in definition:
        return sorted(map(str, definition["enum"]))
    return definition


def read_value(value: Any, kind: Any, *, is_text_lax: bool = True) -> Any:
    """The value as this type. Raises ``ValueError`` or ``TypeError`` that names the field.

    ``is_text_lax`` accepts a number or boolean that is written as a string, where the type is not a string.
    """
    with _converting:
        try:
            return msgspec.convert(value, kind, dec_hook=_decode_hook)
        except msgspec.ValidationError as strict:
            if not is_text_lax:
                raise
            try:
                return msgspec.convert(value, kind, strict=False, dec_hook=_decode_hook)
            except msgspec.ValidationError:
                raise strict from None


def plain_value(value: Any) -> Any:
    """The value as JSON holds it. Raises ``TypeError`` for one without a JSON form."""
    return msgspec.to_builtins(value, enc_hook=_encode_hook)


def is_pydantic_model(kind: Any) -> bool:
    """Whether it is a class of pydantic's models; the program has imported pydantic then."""
    pydantic = sys.modules.get("pydantic")
    base = getattr(pydantic, "BaseModel", None)
    return isinstance(base, type) and isinstance(kind, type) and issubclass(kind, base)


def with_constraints(kind: Any) -> Any:
    """The type with the constraints of pydantic's ``Field`` and annotated-types in the form that msgspec knows."""
    if typing.get_origin(kind) is not Annotated:
        return kind
    inner, *extras = typing.get_args(kind)
    found: dict[str, Any] = {}
    kept: list[Any] = []
    for extra in extras:
        own = dict(_constraints_of(extra))
        if own and not isinstance(extra, msgspec.Meta):
            found |= own
        else:
            kept.append(extra)
    if not found:
        return kind
    for extra in (*kept, msgspec.Meta(**found)):
        inner = Annotated[inner, extra]
    return inner


def _constraints_of(extra: Any) -> Iterable[tuple[str, Any]]:
    description = getattr(extra, "description", None)
    if isinstance(description, str) and not isinstance(extra, str):
        yield "description", description
    for each in (extra, *_listed(extra)):
        for name in _CONSTRAINTS:
            value = getattr(each, name, None)
            if isinstance(value, int | float | str) and not isinstance(each, str | type):
                yield name, value


def _listed(extra: Any) -> tuple[Any, ...]:
    """The constraints inside pydantic's ``Field``."""
    listed = getattr(extra, "metadata", ())
    return tuple(listed) if isinstance(listed, list | tuple) else ()


def _schema_hook(kind: type) -> dict[str, Any]:
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return {"type": "string", "format": "path"}
    if is_pydantic_model(kind):
        model: Any = kind
        schema: dict[str, Any] = model.model_json_schema(ref_template="#/$defs/{model}")
        return schema
    raise TypeError(f"JSON has no form for {kind}")


def _decode_hook(kind: type, value: Any) -> Any:
    if issubclass(kind, PurePath) and isinstance(value, str):
        return kind(value)
    if is_pydantic_model(kind):
        return _validated(kind, value)
    raise ValueError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _validated(model: Any, value: Any) -> Any:
    """The value as a pydantic model. Raises ``ValueError`` that lists every field."""
    errors: Any = sys.modules["pydantic"].ValidationError
    try:
        return model.model_validate(value)
    except errors as problem:
        found: list[str] = []
        for each in problem.errors(include_url=False, include_context=False):
            place = ".".join(map(str, each["loc"]))
            found.append(f"{place}: {each['msg']}" if place else each["msg"])
        raise ValueError("; ".join(found)) from problem


def _encode_hook(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    if is_pydantic_model(type(value)):
        dumped: Mapping[str, Any] = value.model_dump(mode="json")
        return dumped
    raise TypeError(f"JSON has no form for {type(value)}")
