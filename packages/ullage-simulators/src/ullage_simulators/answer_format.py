"""The JSON schema that a request asks the answer to follow, on any wire, and a value that follows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ullage_simulators.body import Body

_PATHS: Final = (
    ("response_format", "json_schema", "schema"),
    ("text", "format", "schema"),
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
)
"""Chat, Responses, Messages (and its beta), generateContent. Fields of openai 3.52, anthropic 2.11 and
google-genai 3.4."""

_OWN_PROMPT: Final = 100
"""Tokens of Anthropic's own prompt about the format, beside the schema (18 recorded requests, about 101)."""

_DEEPEST: Final = 20
"""Levels of a sample: a schema may refer to itself."""


class AnswerSchema(NamedTuple):
    """The schema of the answer, whether its text is billed, and the tokens beside it."""

    schema: Body
    is_billed: bool = True
    hidden: int = 0


def answer_schema(body: Mapping[str, Any]) -> AnswerSchema | None:
    """The schema of the answer; ``None`` where the request has none. Google bills none of it (recorded)."""
    for path in _PATHS:
        found: Any = body
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, dict):
            is_anthropic = path[0] in ("output_config", "output_format")
            hidden = _OWN_PROMPT if is_anthropic else 0
            return AnswerSchema(found, path[0] != "generationConfig", hidden)
    return None


def sample_text(schema: Body, said: str) -> str:
    """JSON of a value that follows the schema, with texts made of what was said."""
    return json.dumps(_sample(schema, schema, said, 0), ensure_ascii=False)


def _sample(schema: Any, root: Body, said: str, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return None
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _sample(_referred(root, reference), root, said, depth + 1)
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    for name in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(name)
        if isinstance(choices, list) and choices:
            return _sample(_simplest(choices, depth), root, said, depth + 1)
    return _of_type(schema, root, said, depth)


def _simplest(choices: Sequence[Any], depth: int) -> Any:
    """The first choice; deep inside, null where it is one, so that a list or tree ends."""
    for choice in choices:
        if depth > 4 and isinstance(choice, dict) and choice.get("type") == "null":
            return choice
    return choices[0]


def _of_type(schema: Body, root: Body, said: str, depth: int) -> Any:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else "string"
    unnamed = "object" if "properties" in schema else "string"
    match str(kind or unnamed).lower():
        case "integer":
            return max(1, int(schema.get("minimum", 1)))
        case "number":
            return max(1.5, float(schema.get("minimum", 1.5)))
        case "boolean":
            return True
        case "null":
            return None
        case "array":
            return _items(schema, root, said, depth)
        case "string":
            return _text(schema, said)
        case _:
            properties = schema.get("properties") or {}
            made = {}
            for name, inner in properties.items():
                made[name] = _sample(inner, root, said, depth + 1)
            return made


def _items(schema: Body, root: Body, said: str, depth: int) -> list[Any]:
    fixed = schema.get("prefixItems")
    if isinstance(fixed, list):
        return [_sample(each, root, said, depth + 1) for each in fixed]
    if depth > 4:
        return []
    one = _sample(schema.get("items") or {"type": "string"}, root, said, depth + 1)
    return [one] * max(1, int(schema.get("minItems", 1)))


def _text(schema: Body, said: str) -> str:
    match schema.get("format"):
        case "date-time":
            return "2026-01-02T03:04:05Z"
        case "date":
            return "2026-01-02"
        case "uuid":
            return "00000000-0000-4000-8000-000000000000"
    longest = min(80, int(schema.get("maxLength", 80)))
    text = said[:longest] or "x"
    return text.ljust(int(schema.get("minLength", 0)), "x")


def _referred(root: Body, reference: str) -> Any:
    found: Any = root
    for name in reference.removeprefix("#/").split("/"):
        found = found.get(name) if isinstance(found, dict) else None
    return found
