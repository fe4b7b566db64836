"""A tool's JSON Schema as the text a provider puts before the model.

Nobody sends the declaration as it came. OpenAI writes it as TypeScript: first seen by users who asked the model
(https://community.openai.com/t/266573, https://hmarr.com/blog/counting-openai-tokens/), and published for gpt-oss
(https://github.com/openai/harmony). The details here are those under which 242 of 262 recorded OpenAI requests with
tools come out within one token: titles are comments with an empty comment line before the description, blank
lines of a description vanish, and an object without any comment takes one line. Gemini 3 has its own notation,
published with FunctionGemma (https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from ullage.bounds import json_excess
from ullage.messages import Tool
from ullage.tokens.policy import SCHEMA_DEPTH, SCHEMA_NODES

Schema = dict[str, object]


class Declared(NamedTuple):
    """A tool's declaration, read. A schema that is no JSON object counts as empty."""

    name: str
    description: str
    schema: Schema


def declared(tool: Tool) -> Declared:
    """The declaration of a tool."""
    return Declared(tool.name, tool.description, read_schema(bytes(tool.schema)))


class GroupedTools(NamedTuple):
    """The tools of a namespace, and what the model reads of the namespace itself."""

    description: str
    tools: tuple[Tool, ...]


def grouped(tool: Tool) -> GroupedTools:
    """The tools that a namespace's declaration holds; deferred ones are left out."""
    read = read_schema(bytes(tool.schema))
    listed = read.get("tools")
    tools: list[Tool] = []
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, dict) or one.get("defer_loading") is True:
            continue
        schema = one.get("parameters") or one.get("format") or {}
        inner = Tool(
            name=_words(one.get("name")),
            description=_words(one.get("description")),
            schema=msgspec.Raw(msgspec.json.encode(schema)),
        )
        tools.append(inner)
    return GroupedTools(_words(read.get("description")), tuple(tools))


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""


def read_schema(raw: bytes | str | object) -> Schema:
    """A schema from JSON text or a value that was JSON; empty when it is no object, or nested too deep."""
    for _ in range(2):  # some wires carry the schema as JSON text inside JSON
        if isinstance(raw, bytes | str):
            if json_excess(raw):
                return {}
            try:
                raw = msgspec.json.decode(raw)
            except (msgspec.DecodeError, UnicodeError):
                return {}
    return raw if isinstance(raw, dict) else {}


def as_json(tool: Declared) -> str:
    """The declaration as JSON, with spaces after commas and colons."""
    return _dump(
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
    )


def as_function(tool: Declared) -> str:
    """The declaration as Claude reads it: 9 in 10 recorded requests with tools then come out within a token."""
    described = {"description": tool.description} if tool.description else {}
    read = {**described, "name": tool.name, "parameters": tool.schema}
    return f"<function>{_dump(read)}</function>"


def as_json_schema(schema: Schema) -> str:
    """A schema as JSON, with spaces after commas and colons."""
    return _dump(schema)


def as_words(tool: Declared) -> str:
    """What can be read in a declaration and nothing else: names, descriptions, choices; one a line."""
    return "\n".join(
        (
            tool.name,
            *([tool.description] if tool.description else []),
            *_SchemaWalk(tool.schema).words(),
        )
    )


def as_typescript(tool: Declared) -> str:
    """The declaration as OpenAI's servers write it, from the end of the one before it to its own.

    A line end and the slashes of the comment after it are one token, so the cut is made where no token crosses it.
    """
    body = _TypeScript(tool.schema).parameters()
    return f";\n\n{comment(tool.description)}type {tool.name} = {body} => any"


def as_declaration(tool: Declared) -> str:
    """The declaration in the notation of Gemini 3."""
    walk = _SchemaWalk(tool.schema)
    parameters = (
        f",parameters:{{{walk.notation(tool.schema, 0)}}}"
        if _properties(tool.schema)
        else ""
    )
    return f"declaration:{tool.name}{{description:|{tool.description}|{parameters}}}"


class Shape(NamedTuple):
    """How much structure a schema has: its properties, and those of them that are objects with their own."""

    fields: int
    nested: int


def shape_of(schema: Schema) -> Shape:
    """The structure of a schema, references followed."""
    fields = nested = 0
    for _, inner in _SchemaWalk(schema).fields(schema, 0):
        fields += 1
        items = inner.get("items")
        nested += bool(_properties(inner)) or (
            isinstance(items, dict) and bool(_properties(items))
        )
    return Shape(fields, nested)


_NOT_WRITTEN: Final = frozenset(
    {
        "required", "additionalProperties", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "multipleOf", "minItems", "maxItems", "minLength", "maxLength", "$schema",
    }
)  # fmt: skip


def as_output_format(name: str, description: str, schema: Schema) -> str:
    """A JSON Schema for the answer as OpenAI writes it before the model.

    Without ``required``, ``additionalProperties``, ``$schema``, formats of numbers and constraints on numbers and
    lengths (https://cookbook.openai.com/articles/openai-harmony, "Response Formats"), and with characters
    beyond ASCII escaped: so 150 of 170 recorded requests come out within one token.
    """
    head = f"# Response Formats\n\n## {name}\n\n" + (
        f"// {description}\n" if description else ""
    )
    kept = _without(schema, _NOT_WRITTEN, 0)
    return head + _dump(kept, compact=True)


def comment(text: str, indent: str = "") -> str:
    """Each line of a text as a ``//`` line, trimmed; blank lines vanish."""
    return "".join(
        f"{indent}// {line.strip()}\n" for line in text.split("\n") if line.strip()
    )


def _dump(value: object, *, compact: bool = False) -> str:
    try:
        return json.dumps(
            value, ensure_ascii=compact, separators=(",", ":") if compact else None
        )
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)


def _properties(schema: Schema) -> dict[str, object]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _text(schema: Schema, key: str) -> str:
    found = schema.get(key)
    return found if isinstance(found, str) else ""


def _variants(schema: Schema) -> list[object] | None:
    for key in ("anyOf", "oneOf"):
        found = schema.get(key)
        if isinstance(found, list):
            return found
    return None


def _without(value: object, drop: frozenset[str], depth: int) -> object:
    """A schema without some of its keywords; the names of properties are not keywords."""
    if depth > SCHEMA_DEPTH * 2:
        return value
    if isinstance(value, list):
        return [_without(each, drop, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    kept: Schema = {}
    for key, each in value.items():
        if key in drop or (key == "format" and value.get("type") != "string"):
            continue
        if key in {"properties", "$defs", "definitions"} and isinstance(each, dict):
            kept[key] = {
                name: _without(inner, drop, depth + 1) for name, inner in each.items()
            }
        elif key in {"items", "anyOf", "oneOf", "allOf"}:
            kept[key] = _without(each, drop, depth + 1)
        else:
            kept[key] = each
    return kept


@dataclass(slots=True)
class _SchemaWalk:
    """Goes through a schema with its references resolved, never more than ``SCHEMA_NODES`` steps."""

    root: Schema
    visited: int = 0

    def resolve(self, value: object) -> Schema:
        """The schema a value stands for: references followed, anything else than an object empty."""
        self.visited += 1
        schema = value if isinstance(value, dict) else {}
        for _ in range(8):
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                break
            target: object = self.root
            for step in reference.lstrip("#/").split("/"):
                target = target.get(step) if isinstance(target, dict) else None
            beside = {key: each for key, each in schema.items() if key != "$ref"}
            schema = {**target, **beside} if isinstance(target, dict) else beside
        return schema

    def stops(self, depth: int) -> bool:
        return depth > SCHEMA_DEPTH or self.visited > SCHEMA_NODES

    def fields(self, schema: Schema, depth: int) -> Iterator[tuple[str, Schema]]:
        """Every property with its schema, depth first."""
        if self.stops(depth):
            return
        for name, value in _properties(schema).items():
            inner = self.resolve(value)
            yield name, inner
            yield from self.fields(inner, depth + 1)
        if "items" in schema:
            yield from self.fields(self.resolve(schema["items"]), depth + 1)
        for variant in _variants(schema) or ():
            yield from self.fields(self.resolve(variant), depth + 1)

    def words(self) -> Iterator[str]:
        for name, schema in self.fields(self.root, 0):
            yield name
            if description := _text(schema, "description"):
                yield description
            choices = schema.get("enum")
            if isinstance(choices, list):
                yield from (str(choice) for choice in choices)

    def notation(self, schema: Schema, depth: int) -> str:
        """The inside of one schema in Gemini's notation; ``|`` stands for its quote token."""
        if self.stops(depth):
            return ""
        parts: list[str] = []
        if properties := _properties(schema):
            inner = (
                f"{name}:{{{self.notation(self.resolve(each), depth + 1)}}}"
                for name, each in properties.items()
            )
            parts.append(f"properties:{{{','.join(inner)}}}")
        if description := _text(schema, "description"):
            parts.append(f"description:|{description}|")
        if "items" in schema:
            parts.append(
                f"items:{{{self.notation(self.resolve(schema['items']), depth + 1)}}}"
            )
        for keyword in ("enum", "required"):
            listed = schema.get(keyword)
            if isinstance(listed, list):
                parts.append(f"{keyword}:[{','.join(f'|{each}|' for each in listed)}]")
        if kind := _text(schema, "type"):
            parts.append(f"type:|{kind.upper()}|")
        return ",".join(parts)


@dataclass(slots=True)
class _TypeScript:
    """Writes one declaration's parameters as a TypeScript type."""

    root: Schema
    walk: _SchemaWalk = field(init=False)

    def __post_init__(self) -> None:
        self.walk = _SchemaWalk(self.root)

    def parameters(self) -> str:
        if not _properties(self.root):
            return "()"
        title, description = _text(self.root, "title"), _text(self.root, "description")
        head = f"// {title}\n" if title else ""
        if description:
            head += ("//\n" if title else "") + comment(description)
        body = self.properties(self.root, 0)
        if "//" in body or head:
            return f"(_: {head}{{\n{body}}})"
        return f"(_: {{ {body.rstrip().rstrip(',').replace(chr(10), ' ')} }})"

    def properties(self, schema: Schema, depth: int) -> str:
        if self.walk.stops(depth):
            return ""
        listed = schema.get("required")
        required = (
            {each for each in listed if isinstance(each, str)}
            if isinstance(listed, list)
            else set()
        )
        return "".join(
            self.property(name, self.walk.resolve(value), name in required, depth)
            for name, value in _properties(schema).items()
        )

    def property(self, name: str, schema: Schema, required: bool, depth: int) -> str:
        title, description = _text(schema, "title"), _text(schema, "description")
        out = f"// {title}\n" + ("//\n" if description else "") if title else ""
        out += comment(description)
        examples = schema.get("examples")
        if isinstance(examples, list) and examples:
            out += "// Examples:\n" + "".join(
                f"// - {_dump(each)}\n" for each in examples
            )
        out += f"{name}{'' if required else '?'}: {self.type(schema, depth, described=bool(out))},"
        if "default" in schema:
            out += f" // default: {_dump(schema['default'])}"
        return out + "\n"

    def type(
        self, schema: Schema, depth: int, *, described: bool = False, title: bool = False
    ) -> str:
        """The type of a schema. ``described``: comments are above it, so that a union takes several lines."""
        if self.walk.stops(depth):
            return "any"
        variants = _variants(schema)
        if variants is not None:
            types = [
                self.type(self.walk.resolve(each), depth + 1, title=True)
                for each in variants
            ]
            return (
                "".join(f"\n | {each}" for each in types) + "\n"
                if described
                else " | ".join(types)
            )
        choices = schema.get("enum")
        if isinstance(choices, list):
            return " | ".join(
                _dump(each) if isinstance(each, str) else str(each) for each in choices
            )
        if "const" in schema:
            return _dump(schema["const"])
        kind = schema.get("type")
        if isinstance(kind, list):
            # Each of several types carries the description once more (n=9, one declaration: 34 tokens of 174).
            notes = (
                f" // {_text(schema, 'description')}"
                if _text(schema, "description")
                else ""
            )
            return "".join(f"\n | {_plain(each)}{notes}" for each in kind) + "\n"
        if kind == "object" or _properties(schema):
            if not _properties(schema):
                return "object"
            head = (
                f"// {_text(schema, 'title')}\n"
                if title and _text(schema, "title")
                else ""
            )
            return f"{head}{{\n{self.properties(schema, depth + 1)}}}"
        if kind == "array":
            inner = self.walk.resolve(schema.get("items"))
            return f"{self.type(inner, depth + 1, title=True) if inner else 'any'}[]"
        return _plain(kind)


def _plain(kind: object) -> str:
    return "number" if kind == "integer" else kind if isinstance(kind, str) else "any"
