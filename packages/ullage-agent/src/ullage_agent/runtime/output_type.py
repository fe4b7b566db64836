"""The type of an answer: its schema in the form of each wire, and the answer's text read into it."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, TypeVar, cast

from ullage.codec.foreign import parse_json
from ullage.display.text import quoted
from ullage.errors import SettingError, UllageError, WrongType
from ullage_agent.tools.typed_values import (
    TypeSchema,
    define,
    read_value,
    type_schema,
    with_constraints,
)

T = TypeVar("T")

SchemaChange = Callable[[dict[str, Any]], dict[str, Any]]
"""Changes one schema; what is inside it comes later."""

AGAIN: Final = ".again-"
"""In the id of a message that asks again: what stands before it is the person's own message's."""

VALUE: Final = "value"
"""The field that holds an answer whose type is no object: all wires want an object."""

_FENCES: Final = ("```json", "```JSON", "```")

_STRICT_WORDS: Final = frozenset(
    [
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "default",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "title",
        "type",
    ]
)
"""Keywords that OpenAI's strict mode takes for all models, and ``default``, which is taken out: a careful part of
https://developers.openai.com/api/docs/guides/structured-outputs. The rules for fields, ``default`` and ``$ref`` are
those of its SDK (openai 3.52, ``lib/_pydantic.py``)."""

_ANTHROPIC_WORDS: Final = frozenset(
    [
        "$defs",
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "title",
        "type",
    ]
)
"""Keywords that Anthropic takes, but for some values of ``format`` and ``minItems``; its SDK writes the others into
the description (anthropic 2.11, ``lib/_parse/_transform.py``;
https://platform.claude.com/docs/en/build-with-claude/structured-outputs)."""

_GEMINI_WORDS: Final = frozenset(
    [
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "oneOf",
        "prefixItems",
        "properties",
        "required",
        "title",
        "type",
    ]
)
"""Keywords of ``responseJsonSchema`` that Gemini takes. Beside ``$ref`` it takes nothing else
(https://ai.google.dev/api/generate-content#generationconfig, read in the reference of the client googleapis 15.0)."""


def check_retries(retries: object) -> None:
    """Raises ``SettingError`` for what is no number of tries."""
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise SettingError(
            f"output_retries is a whole number from 0 on, and not {retries!r:.60}."
        )


class AnswerMisfit(UllageError):
    """An answer that does not fit its type; the message says why and names the field. Not raised to users."""


class OutputType(Generic[T]):
    """A type that answers are read into: a Struct, dataclass, TypedDict, pydantic model, enum, list, number …

    Raises ``SettingError`` for a type without a JSON form, ``WrongType`` for what is no type.
    """

    def __init__(self, kind: Any) -> None:
        if isinstance(kind, str | Mapping):
            raise WrongType(
                f"`output_type` takes a type, as output_type=Invoice or list[str], and not {type(kind).__name__}."
            )
        self.kind = with_constraints(kind)
        self.name = _name_of(kind)
        self._members: list[tuple[Any, frozenset[str] | None]] = []
        """Of a union of classes: each, and the fields that it has, if it has any."""
        try:
            shape, definitions = self._schema_of_kind()
        except (TypeError, ValueError) as problem:
            name = kind.__name__ if isinstance(kind, type) else kind
            told = f"output_type={name} has no JSON form: {problem}."
            if "union" in told:  # inside of another type
                told += " Make a class of it: `class Answer(pydantic.RootModel[One | Other])`."
            raise SettingError(told) from problem
        shape = _resolved(shape, definitions)
        self.is_wrapped = "properties" not in shape
        if self.is_wrapped:
            shape = {
                "type": "object",
                "properties": {VALUE: shape},
                "required": [VALUE],
            }
        closed = _changed(shape, _closed)
        used = _used(closed, definitions)
        if used:
            closed["$defs"] = {
                name: _changed(definitions[name], _closed) for name in sorted(used)
            }
        self.schema: dict[str, Any] = closed

    def _schema_of_kind(self) -> TypeSchema:
        """The type's schema; of a union of classes, which msgspec does not take, that of its members."""
        try:
            return type_schema(self.kind)
        except (TypeError, ValueError):
            if typing.get_origin(self.kind) not in (typing.Union, types.UnionType):
                raise
        shapes: list[dict[str, Any]] = []
        definitions: dict[str, Any] = {}
        for member in typing.get_args(self.kind):
            shape, own = type_schema(member)
            fields = _resolved(shape, own).get("properties")
            self._members.append((member, fields and frozenset(fields)))
            shapes.append(shape)
            for name, definition in own.items():
                define(definitions, name, definition)
        return TypeSchema({"anyOf": shapes}, definitions)

    def _read(self, value: Any) -> Any:
        """The value as the type; of a union, as the first class that fits and has all of its fields."""
        if not self._members:
            return read_value(value, self.kind, is_text_lax=False)
        problems: list[str] = []
        for member, fields in self._members:
            given = value.keys() if isinstance(value, dict) and fields else set()
            if others := sorted(given - (fields or set())):
                problems.append(f"{_name_of(member)} has no field {quoted(others[0])}")
                continue
            try:
                return read_value(value, member, is_text_lax=False)
            except (ValueError, TypeError) as problem:
                problems.append(f"{_name_of(member)}: {problem}")
        raise ValueError("; ".join(problems))

    def params(self, wire: str) -> dict[str, Any]:
        """The request's field that asks for this type; empty for a wire without one, and for a type it can't hold."""
        form: dict[str, Any]
        match wire:
            case "chat":
                form = {"type": "json_schema", "json_schema": self._named()}
                return {"response_format": form}
            case "responses":
                return {"text": {"format": {"type": "json_schema", **self._named()}}}
            case "messages" if _made(self.schema, _refuse_open) is not None:
                taken = _changed(self.schema, partial(_limited, words=_ANTHROPIC_WORDS))
                form = {"type": "json_schema", "schema": taken}
                return {"output_config": {"format": form}}
            case "generateContent":
                taken = _changed(self.schema, partial(_limited, words=_GEMINI_WORDS))
                form = {"responseMimeType": "application/json"}
                return {"generationConfig": {**form, "responseJsonSchema": taken}}
        return {}

    def _named(self) -> dict[str, Any]:
        """The schema in OpenAI's form."""
        strict = _made(self.schema, _strictly)
        return {
            "name": self.name,
            "schema": strict or self.schema,
            "strict": strict is not None,
        }

    def read(self, text: str, kind: Any = None) -> T:
        """The answer as this type, or as another ``kind``. Raises ``AnswerMisfit`` for one that does not fit."""
        try:
            value = parse_json(_bare(text))
        except ValueError as problem:
            raise AnswerMisfit(f"it is no JSON: {problem}") from problem
        if self.is_wrapped:
            if not isinstance(value, dict) or VALUE not in value:
                raise AnswerMisfit(f"it is no object with the field `{VALUE}`")
            value = value[VALUE]
        try:
            if kind is None:
                found = self._read(value)
            else:
                found = read_value(value, kind, is_text_lax=False)
        except (ValueError, TypeError) as problem:
            raise AnswerMisfit(str(problem)) from problem
        return cast(T, found)

    @property
    def instruction(self) -> str:
        """What tells a model in words to answer with this type."""
        schema = json.dumps(self.schema, separators=(",", ":"), ensure_ascii=False)
        return f"Answer with JSON alone, without any other text, that follows this JSON Schema:\n{schema}"


def without_format(params: Mapping[str, object]) -> dict[str, object]:
    """The parameters without a format of the answer."""
    kept = dict(params)
    kept.pop("response_format", None)
    for outer, names in _INNER.items():
        inner = kept.get(outer)
        if isinstance(inner, Mapping):
            rest = {name: value for name, value in inner.items() if name not in names}
            kept[outer] = rest
            if not rest:
                del kept[outer]
    return kept


_INNER: Final = {
    "text": ("format",),
    "output_config": ("format",),
    "generationConfig": (
        "responseMimeType",
        "responseJsonSchema",
        "responseSchema",
    ),
}


def with_format(
    params: Mapping[str, object], asked: Mapping[str, object]
) -> dict[str, object]:
    """The parameters with a format of the answer in the place of another one."""
    merged = without_format(params)
    for name, value in asked.items():
        before = merged.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[name] = {**before, **value}
        else:
            merged[name] = value
    return merged


def _name_of(kind: Any) -> str:
    """A name of letters, digits and ``_``, at most 64: OpenAI's rule for the name of a schema."""
    found = str(getattr(kind, "__name__", kind))
    clean = "".join(each if each.isalnum() and each.isascii() else "_" for each in found)
    return clean.strip("_")[:64] or "answer"


def _bare(text: str) -> str:
    """The text without the fence of a code block around it."""
    bare = text.strip()
    for fence in _FENCES:
        if bare.startswith(fence) and bare.endswith("```") and len(bare) > len(fence):
            return bare.removeprefix(fence).removesuffix("```").strip()
    return bare


def _resolved(shape: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The schema itself where it only refers to a definition: no wire takes a reference at the top."""
    reference = shape.get("$ref")
    if isinstance(reference, str):
        return dict(definitions[reference.rpartition("/")[2]])
    return shape


def _used(shape: Any, definitions: Mapping[str, Any]) -> set[str]:
    """Names of the definitions that a schema refers to, through others too."""
    found: set[str] = set()
    waiting = [shape]

    def note(schema: dict[str, Any]) -> dict[str, Any]:
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name in definitions and name not in found:
            found.add(name)
            waiting.append(definitions[name])
        return schema

    while waiting:
        _changed(waiting.pop(), note)
    return found


def _changed(value: Any, change: SchemaChange, *, is_names: bool = False) -> Any:
    """The schema, and each one inside it, after this change. ``is_names``: the keys name fields or definitions."""
    if isinstance(value, list):
        return [_changed(each, change) for each in value]
    if not isinstance(value, dict):
        return value
    if is_names:
        return {name: _changed(each, change) for name, each in value.items()}
    changed: dict[str, Any] = {}
    for name, each in change(value).items():
        changed[name] = each
        if name not in ("enum", "const", "required", "default"):
            is_inner = name in ("properties", "$defs")
            changed[name] = _changed(each, change, is_names=is_inner)
    return changed


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema whose objects have no other fields than their own: OpenAI's strict mode and Anthropic want that."""
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        return {
            **schema,
            "additionalProperties": schema.get("additionalProperties", False),
        }
    return schema


def _refuse_open(schema: dict[str, Any]) -> dict[str, Any]:
    """Raises ``TypeError`` for a table of any names or a list whose places differ: Anthropic's field takes neither."""
    if "prefixItems" in schema or isinstance(schema.get("additionalProperties"), dict):
        raise TypeError
    return schema


def _strictly(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema for OpenAI's strict mode: all fields are required. Raises ``TypeError`` for what is not taken."""
    is_open = schema.get("additionalProperties") is not False
    is_more = "$ref" in schema and not {"$ref", "$defs", "default"}.issuperset(schema)
    if not _STRICT_WORDS.issuperset(schema) or is_more:
        raise TypeError
    if schema.get("type") == "object" and is_open:
        raise TypeError
    strict = {name: each for name, each in schema.items() if name != "default"}
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
    return strict


def _limited(schema: dict[str, Any], words: frozenset[str]) -> dict[str, Any]:
    """The schema with these keywords alone; the others are told in the description."""
    if "$ref" in schema:
        return {name: schema[name] for name in ("$ref", "$defs") if name in schema}
    limited: dict[str, Any] = {}
    told: list[str] = []
    for name, each in schema.items():
        if name in words:
            limited[name] = each
        elif name == "const":
            limited["enum"] = [each]
        else:
            told.append(f"{name}: {each}")
    if told:
        described = limited.get("description", "")
        limited["description"] = f"{described} ({', '.join(told)})".strip()
    return limited


def _made(schema: dict[str, Any], change: SchemaChange) -> dict[str, Any] | None:
    """The schema after this change; ``None`` for one that it does not take."""
    try:
        made: dict[str, Any] = _changed(schema, change)
    except TypeError:
        return None
    return made
