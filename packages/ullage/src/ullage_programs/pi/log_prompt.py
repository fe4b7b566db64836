"""The system prompt and tools of pi, which its log holds as messages that change them piece by piece.

Source: ``docs/session-format.md`` (``SessionMessageEntry``) and ``docs/message-types.md`` (``SystemMessage``) of the
npm package ``@earendil-works/pi-coding-agent`` since 0.87.1. The first one declares all, a later one only what changed:
``sections`` by name (``null`` takes one out), ``toolsAdded``, ``toolsRemoved``; ``replace`` begins anew.

A model that takes system messages between others gets later ones there; which models do is not logged. Here all are
taken as one prompt at the start, as the other models get it.

A tool is logged as it was written. If it prefers to be called strictly, a provider that can do so gets another schema
(``dist/api/constrained-sampling.js`` of ``@earendil-works/pi-ai`` 0.87.1 and 1.6.0): every property is required, an
optional one may be ``null``, and no other property is allowed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace

import ullage.importers.fields as f
from ullage.codec.foreign import to_raw
from ullage.codec.parts import tool
from ullage.importers.fields import JsonObject
from ullage.messages import SystemBlock, Tool, clean_text

_BETWEEN = "\n\n"
"""What stands between two sections: ``dist/utils/text.js`` of ``@earendil-works/pi-ai`` 0.87.1."""

STRICT: Final = {
    "anthropic-messages": ("anthropic", "github-copilot"),
    "azure-openai-responses": ("azure",),
    "openai-codex-responses": ("openai-codex",),
    "openai-completions": (
        *("ant-ling", "azure", "baseten", "cloudflare-workers-ai", "deepseek"),
        *("fireworks", "github-copilot", "groq", "huggingface", "opencode"),
        *("openrouter", "qwen-token-plan", "xiaomi", "zai"),
    ),
    "openai-responses": ("cloudflare-ai-gateway", "github-copilot", "openai"),
}
"""How the names of the providers begin that get strict schemas, by pi's ``api``: the models of pi-ai 1.6.0 with
``supportsStrictTools`` or ``supportsStrictMode``. Gemini 3 and later and most models on Bedrock get them as well; they
are left out, since which of them do is told by the model."""

_REFUSED: Final = frozenset(
    {
        *("$ref", "$defs", "definitions", "allOf", "oneOf", "patternProperties"),
        *("dependentSchemas", "dependencies", "unevaluatedProperties"),
        *("propertyNames", "contains", "prefixItems", "not", "if", "then", "else"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("maxItems", "uniqueItems", "minContains", "maxContains"),
        *("minProperties", "maxProperties"),
    }
)
"""Keywords with which a schema is sent as it was written; from ``minimum`` on to Claude alone, here to all."""


class _LoggedTool(NamedTuple):
    """A tool as it was written, and as it is sent to providers that take strict schemas."""

    plain: Tool
    strict: Tool


@dataclass(frozen=True, slots=True)
class PiPrompt:
    """What the system messages up to one line of a log add up to."""

    content: tuple[str, ...] = ()
    sections: dict[str, str] = field(default_factory=dict)
    tools: dict[str, _LoggedTool] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many texts and tools there are."""
        return len(self.content) + len(self.sections) + len(self.tools)

    def changed(self, message: JsonObject) -> PiPrompt:
        """The prompt with what one system message changes."""
        before = PiPrompt() if message.get("replace") is True else self
        own = _own_text(message.get("content"))
        return PiPrompt(
            (*before.content, own) if own else before.content,
            _sections(before.sections, f.mapping(message, "sections")),
            _tools(before.tools, message),
        )

    def declared(self, api: str, provider: str) -> list[Tool]:
        """The tools as this provider gets them on this API (pi's names)."""
        is_strict = provider.startswith(STRICT.get(api, ()))
        return [each.strict if is_strict else each.plain for each in self.tools.values()]

    def blocks(self) -> list[SystemBlock]:
        """The prompt as it is sent, one block for each piece; a section has its name."""
        named = [("", text) for text in self.content]
        named += self.sections.items()
        blocks: list[SystemBlock] = []
        for name, text in named:
            if not text:
                continue
            whole = _BETWEEN + text if blocks else text
            blocks.append(SystemBlock(text=clean_text(whole).text, name=name))
        return blocks


def _own_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(f.text(block, "text") for block in f.objects({"in": content}, "in"))


def _sections(before: dict[str, str], changes: JsonObject) -> dict[str, str]:
    sections = dict(before)
    for name, text in changes.items():
        if text is None:
            sections.pop(name, None)
        elif isinstance(text, str):
            sections[name] = text
    return sections


def _tools(before: dict[str, _LoggedTool], message: JsonObject) -> dict[str, _LoggedTool]:
    tools = dict(before)
    for one in f.objects(message, "toolsRemoved"):
        tools.pop(f.text(one, "name"), None)
    for one in f.objects(message, "toolsAdded"):
        name, schema = f.text(one, "name"), one.get("parameters")
        plain = strict = tool(name, one.get("description"), schema)
        if f.text(f.mapping(one, "constrainedSampling"), "type") == "json_schema":
            with suppress(_NoStrictForm):
                strict = replace(plain, schema=to_raw(_strict(schema)))
        tools[name] = _LoggedTool(plain, strict)
    return tools


class _NoStrictForm(Exception):
    """A schema that providers get as it was written."""


def _strict(schema: object) -> JsonObject:
    """The schema in its strict form. Raises ``_NoStrictForm``."""
    if not isinstance(schema, dict):
        raise _NoStrictForm
    if schema.keys() & _REFUSED or not schema.keys() & {"type", "anyOf", "enum"}:
        raise _NoStrictForm
    strict = dict(schema)
    if "items" in schema:
        strict["items"] = _strict(schema["items"])
    if "anyOf" in schema:
        strict["anyOf"] = [_strict(each) for each in f.items(schema, "anyOf")]
        if not strict["anyOf"] or any(_has_parts(each) for each in strict["anyOf"]):
            raise _NoStrictForm
    if schema.get("type") != "object":
        if "properties" in schema:
            raise _NoStrictForm
        return strict
    properties = f.mapping(schema, "properties")
    required = set(f.texts(schema, "required"))
    is_open = schema.get("additionalProperties", False) is not False
    if is_open or required - properties.keys():
        raise _NoStrictForm
    strict["properties"] = {}
    for name, each in properties.items():
        inner = _strict(each)
        if name not in required and not _may_be_null(inner):
            inner = {"anyOf": [inner, {"type": "null"}]}
        strict["properties"][name] = inner
    return strict | {"required": [*properties], "additionalProperties": False}


def _types(schema: JsonObject) -> list[object]:
    kind = schema.get("type")
    return kind if isinstance(kind, list) else [kind]


def _has_parts(schema: JsonObject) -> bool:
    kinds = _types(schema)
    return "object" in kinds or "array" in kinds or "items" in schema


def _may_be_null(schema: JsonObject) -> bool:
    if "null" in _types(schema) or None in f.items(schema, "enum"):
        return True
    if "const" in schema and schema["const"] is None:
        return True
    return any(_may_be_null(each) for each in f.objects(schema, "anyOf"))
