"""Gemini generateContent: request bodies and answers, in the REST spelling and in the SDK's snake_case.

https://ai.google.dev/api/generate-content. The model is in the URL, not in the body: the caller passes it. Parts
are kept one by one, never merged: a signature belongs to the part it came with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ullage.codec.parts import (
    Json,
    PartMaker,
    as_list,
    as_text,
    objects,
    tool,
    without,
)
from ullage.messages import Message, Part, Request, Role, SystemBlock, Tool, clean_text

_READ = (
    "contents",
    "systemInstruction",
    "system_instruction",
    "tools",
    "model",
    "stream",
)


def claims(body: Mapping[str, Any]) -> bool:
    """Whether this is a generateContent body."""
    return "contents" in body


def items_of(value: object) -> list[Any]:
    """The contents of a body, of whatever type the field is."""
    return [{"parts": [{"text": value}]}] if isinstance(value, str) else as_list(value)


def read_messages(make: PartMaker, items: list[Any]) -> tuple[Message, ...]:
    """The next messages of a body; ``make`` has read those before them."""
    return tuple(message for one in objects(items) for message in _messages(make, one))


def read_request(body: Mapping[str, Any], head: list[Any], make: PartMaker) -> Request:
    """The body of one generateContent call without its contents."""
    tools = (one for group in objects(body.get("tools")) for one in _tools(group))
    system = _system(_get(body, "systemInstruction"))
    return make.request(body, system, tools, _READ)


def read_answer(content: object, make: PartMaker) -> Message:
    """The assistant's message: a response, a candidate, its content, or its parts."""
    found = content
    if isinstance(found, Mapping) and isinstance(found.get("candidates"), list):
        found = found["candidates"][0] if found["candidates"] else {}
    if isinstance(found, Mapping) and isinstance(found.get("content"), Mapping):
        found = found["content"]
    parts = found.get("parts") if isinstance(found, Mapping) else found
    return make.namer.message(
        "assistant", tuple(_part(make, one) for one in objects(parts))
    )


def _get(block: Mapping[str, Any], name: str) -> Any:
    """A field in either spelling."""
    if name in block:
        return block[name]
    return block.get(
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    )


def _system(instruction: object) -> Iterator[SystemBlock]:
    if isinstance(instruction, str):
        yield SystemBlock(text=clean_text(instruction).text)
        return
    parts = instruction.get("parts") if isinstance(instruction, dict) else instruction
    for one in as_list(parts):
        text = one.get("text") if isinstance(one, dict) else one
        yield SystemBlock(text=clean_text(as_text(text)).text)


def _tools(group: Json) -> Iterator[Tool]:
    for one in objects(_get(group, "functionDeclarations")):
        schema = one.get("parameters") or _get(one, "parametersJsonSchema")
        yield tool(one.get("name"), one.get("description"), schema)
    for kind, settings in group.items():
        if (
            kind not in ("functionDeclarations", "function_declarations")
            and settings is not None
        ):
            yield tool(kind, "", {kind: settings}, kind=kind)


def _messages(make: PartMaker, content: Json) -> Iterator[Message]:
    listed = [one for one in as_list(content.get("parts")) if isinstance(one, dict)]
    if content.get("role") == "model":
        yield make.namer.message("assistant", tuple(_part(make, one) for one in listed))
        return
    results = tuple(_part(make, one) for one in listed if _get(one, "functionResponse"))
    others = tuple(
        _part(make, one) for one in listed if not _get(one, "functionResponse")
    )
    if results:
        yield make.namer.message("tool", results)
    if others or not results:
        role: Role = "user"
        yield make.namer.message(role, others)


_KNOWN = (
    "text",
    "thought",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
)


def _part(make: PartMaker, part: Json) -> Part:
    rest = without(part, *_KNOWN, "inlineData", "inline_data", "fileData", "file_data")
    call, response = _get(part, "functionCall"), _get(part, "functionResponse")
    inline, file = _get(part, "inlineData"), _get(part, "fileData")
    if isinstance(call, dict):
        known = ("name", "args", "id")
        return make.call(
            call.get("id"),
            call.get("name"),
            call.get("args"),
            {**rest, **without(call, *known)},
        )
    if isinstance(response, dict):
        return _result(make, response, rest)
    if isinstance(inline, dict):
        name = _get(inline, "displayName")
        return make.media(
            _get(inline, "mimeType"),
            data=as_text(inline.get("data")),
            name=name,
            rest=rest,
        )
    if isinstance(file, dict):
        return make.media(
            _get(file, "mimeType") or "*/*", url=as_text(_get(file, "fileUri")), rest=rest
        )
    if "text" in part:
        if part.get("thought") is True:
            return make.reasoning(as_text(part["text"]), rest)
        return make.text(part["text"], rest)
    if _get(part, "thoughtSignature") and len(part) <= 2:
        return make.reasoning("", rest)
    return make.item(part)


def _result(make: PartMaker, response: Json, rest: Json) -> Part:
    content: list[Any] = [make.text(response.get("response"))]
    for one in as_list(response.get("parts")):
        inline = _get(one, "inlineData") if isinstance(one, dict) else None
        if isinstance(inline, dict):
            content.append(
                make.media(_get(inline, "mimeType"), data=as_text(inline.get("data")))
            )
    call_id = response.get("id") or response.get("name")
    kept = {**rest, **without(response, "id", "name", "response", "parts")}
    return make.result(call_id, content, name=response.get("name"), rest=kept)
