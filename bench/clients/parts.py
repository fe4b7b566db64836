"""What a request holds, by category and in the tokens of its bill, told from its body and the simulator's own numbers.

It is written apart from the simulators' own counting; ``billed_parts`` of a request sum to its bill if both are right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from ullage_simulators.drawn import Drawn
from ullage_simulators.tokenizer import tokens

Category = Literal[
    "system prompt", "tools", "text", "tool calls", "tool results", "reasoning", "other"
]
CATEGORIES: tuple[Category, ...] = (
    "system prompt",
    "tools",
    "text",
    "tool calls",
    "tool results",
    "reasoning",
    "other",
)
"""``text`` is all text of messages, whoever wrote it. ``other``: images, and what a request costs by itself."""

RESULT_KINDS = ("function_call_output", "custom_tool_call_output")
CALL_KINDS = ("function_call", "custom_tool_call")


class BodyPart(NamedTuple):
    """One part of a request. ``framing`` names the number of ``Drawn`` that it costs beside its text."""

    category: Category
    text: str = ""
    framing: str = ""
    schema: str = ""
    """JSON of a declaration without its descriptions, which are the text."""
    name: str = ""
    """Of a tool that the request declares."""


class BilledParts(NamedTuple):
    """Tokens of a request by category, and of each declared tool."""

    categories: Mapping[Category, float]
    tools: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.categories.values())


def billed_parts(body: Any, drawn: Drawn, reasoning: int) -> BilledParts:
    """The request's parts. ``reasoning`` is how much of the reasoning in its messages was billed."""
    categories = dict.fromkeys(CATEGORIES, 0.0)
    tools: dict[str, float] = {}
    for part in parts_of(body):
        size = drawn.factor * tokens(part.text) + drawn.declared * tokens(part.schema)
        if part.framing:
            size += getattr(drawn, part.framing)
        categories[part.category] += size
        if part.name:
            tools[part.name] = tools.get(part.name, 0.0) + size
    categories["reasoning"] += reasoning
    return BilledParts(categories, tools)


def parts_of(body: Any) -> Iterator[BodyPart]:
    """All parts of a request of any wire, but reasoning that may leave."""
    yield BodyPart("other", framing="request")
    deferred: dict[str, Any] = {}
    declared: list[Any] = []
    for tool in _declared(body):
        if tool.get("defer_loading"):
            deferred[tool["name"]] = tool
        else:
            declared.append(tool)
    yield from _tools(declared)
    prompt, messages = split(body)
    for item in prompt:
        yield from _prompt(item)
    for item in messages:
        yield from _message(item, deferred)


def items_of(body: Any) -> list[Any]:
    """The conversation of a request, whatever the wire."""
    for name in ("messages", "input", "contents"):
        items = body.get(name)
        if isinstance(items, list):
            return items
    return [{"role": "user", "content": body.get("input", "")}]


def split(body: Any) -> tuple[list[Any], list[Any]]:
    """The system prompt and the messages. Where no field has the prompt, it is the first item, if it has its role."""
    own = [body.get(name) for name in ("system", "instructions", "systemInstruction")]
    items = items_of(body)
    if any(own):
        return own, items
    if items and _role(items[0]) in ("system", "developer"):
        return items[:1], items[1:]
    return [], items


def _role(item: Any) -> Any:
    return item.get("role") if isinstance(item, dict) else None


def _declared(body: Any) -> Iterator[Any]:
    for tool in body.get("tools") or []:
        functions = tool.get("functionDeclarations")
        if functions is None:
            yield tool
        else:
            yield from functions


def _tools(declared: list[Any]) -> Iterator[BodyPart]:
    if declared:
        yield BodyPart("tools", framing="tools")
    for tool in declared:
        yield _tool(tool)


def _tool(tool: Any) -> BodyPart:
    plain = {key: value for key, value in tool.items() if key != "cache_control"}
    name = tool.get("name") or tool.get("function", {}).get("name") or tool.get("type")
    texts: list[str] = []
    schema = json.dumps(_bare(plain, texts), separators=(",", ":"))
    return BodyPart("tools", "\n".join(texts), "tool", schema, str(name))


def _bare(value: Any, texts: list[str]) -> Any:
    """The value without its descriptions, which are added to the texts."""
    if isinstance(value, list):
        return [_bare(each, texts) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, each in value.items():
        if key == "description" and isinstance(each, str):
            texts.append(each)
        else:
            found[key] = _bare(each, texts)
    return found


def _prompt(item: Any) -> Iterator[BodyPart]:
    """A field with the system prompt, or a message in its role."""
    if not item:
        return
    if isinstance(item, str):
        # `instructions` is framed as a message, and a text in `system` is not: a few tokens.
        yield BodyPart("system prompt", item)
        return
    if isinstance(item, dict) and "content" in item:
        yield BodyPart("system prompt", framing="message")
    for block in _blocks(item):
        yield BodyPart("system prompt", str(block.get("text") or ""))


def _blocks(item: Any) -> list[Any]:
    """The pieces of a message, of a result or of a prompt. A plain text is one piece."""
    if isinstance(item, dict):
        item = item.get("content", item.get("parts", item.get("output")))
    if isinstance(item, str):
        return [{"type": "text", "text": item}]
    return item or []


def _message(item: Any, deferred: dict[str, Any]) -> Iterator[BodyPart]:
    """One item of the conversation."""
    kind = item.get("type")
    if kind in CALL_KINDS:
        given = item.get("arguments", item.get("input"))
        yield BodyPart("tool calls", f"{item['name']} {given}", "call")
    elif kind in RESULT_KINDS:
        yield BodyPart("tool results", framing="result")
        for block in _blocks(item):
            yield BodyPart("tool results", str(block.get("text") or ""))
    elif kind == "additional_tools":
        yield from _tools(item["tools"])
    elif kind in (None, "message"):
        yield from _framed(item, deferred)


def _framed(item: Any, deferred: dict[str, Any]) -> Iterator[BodyPart]:
    """A message with its pieces."""
    is_result = item.get("role") == "tool"
    if is_result:
        yield BodyPart("tool results", framing="result")
    else:
        yield BodyPart("text", framing="message")
    category: Category = "tool results" if is_result else "text"
    calls = item.get("tool_calls") or []
    if calls and item.get("reasoning_content"):
        yield BodyPart("reasoning", item["reasoning_content"])
    for block in _blocks(item):
        yield from _block(block, category, deferred)
    for each in calls:
        called = each["function"]
        yield BodyPart("tool calls", f"{called['name']} {called['arguments']}", "call")


def _block(
    block: Any, category: Category, deferred: dict[str, Any]
) -> Iterator[BodyPart]:
    """One piece of a message. A deferred tool is part of the prompt from where a piece first refers to it."""
    kind = block.get("type", "")
    if "functionCall" in block:
        call = block["functionCall"]
        text = f"{call.get('name')} {json.dumps(call.get('args') or {})}"
        yield BodyPart("tool calls", text, "call")
    elif "functionResponse" in block:
        given = block["functionResponse"]
        text = f"{given.get('name')} {json.dumps(given.get('response') or {})}"
        yield BodyPart("tool results", text, "result")
    elif kind == "tool_use":
        text = f"{block['name']} {json.dumps(block['input'])}"
        yield BodyPart("tool calls", text, "call")
    elif kind == "tool_result":
        yield BodyPart("tool results", framing="result")
        for inner in _blocks(block):
            yield from _block(inner, "tool results", deferred)
    elif kind in ("tool_reference", "tool_addition"):
        named = block.get("tool_name") or block.get("tool", {}).get("name")
        yield _tool(deferred.pop(named, block))
    elif "image" in kind or "inlineData" in block or "fileData" in block:
        yield BodyPart("other", framing="image")
    elif not block.get("thought") and "thinking" not in kind:
        yield BodyPart(category, str(block.get("text") or ""))
