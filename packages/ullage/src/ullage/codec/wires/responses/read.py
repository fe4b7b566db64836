"""OpenAI Responses: request bodies and answers.

https://platform.openai.com/docs/api-reference/responses. Adjacent items of the model are one
assistant message, outputs of tools next to each other one tool message. Tools that a leading item adds are declared
tools: Codex declares all of its tools so for its newest models. Items without a word of their own (searches, code runs,
approvals, references) are kept whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ullage.codec.held import CONTINUING, continued_in
from ullage.codec.parts import (
    Json,
    PartMaker,
    as_list,
    as_text,
    blocks,
    data_url,
    objects,
    readable,
    tool,
    without,
)
from ullage.codec.wires.chat.read import read_tool as read_chat_tool
from ullage.messages import (
    Message,
    Part,
    Request,
    ResultContent,
    Role,
    SystemBlock,
    Tool,
    clean_text,
)

_READ = frozenset(
    {"input", "instructions", "tools", "model", "stream", *CONTINUING["responses"]}
)
_SYSTEM = ("system", "developer")
_ADDED_TOOLS = "additional_tools"
_CONTROLS = frozenset({_ADDED_TOOLS, "configuration_update", "compaction_trigger"})
"""Items of the client that are no messages (openai 3.52, ``types/responses/response_input_item_param.py``)."""


def claims(body: Mapping[str, Any]) -> bool:
    """Whether this is a Responses body, with a history or a stored prompt."""
    has_prompt = "prompt" in body and "instructions" in body
    is_continued = any(name in body for name in CONTINUING["responses"])
    return "input" in body or has_prompt or is_continued


def read_request(body: Mapping[str, Any], head: list[Any], make: PartMaker) -> Request:
    """The body of one Responses call with no items but those of its system prompt."""
    system = (
        [SystemBlock(text=clean_text(as_text(body["instructions"])).text)]
        if body.get("instructions")
        else []
    )
    tools = as_list(body.get("tools"))
    for item in objects(head):
        if item.get("type") == _ADDED_TOOLS:
            tools = [*tools, *as_list(item.get("tools"))]
        else:
            system.append(_system(make, item))
    chained = continued_in("responses", body)
    return make.request(body, system, map(_tool, objects(tools)), _READ, chained=chained)


def read_answer(content: object, make: PartMaker) -> Message:
    """The assistant's message: a response, or its list of output items."""
    listed = (
        content.get("output")
        if isinstance(content, Mapping) and "output" in content
        else content
    )
    parts = tuple(
        part for item in objects(items_of(listed)) for part in _parts(make, item)
    )
    return make.namer.message("assistant", parts)


def items_of(value: object) -> list[Any]:
    """The items of a body, of whatever type the field is."""
    return (
        [{"role": "user", "content": value}] if isinstance(value, str) else as_list(value)
    )


def _system(make: PartMaker, item: Json) -> SystemBlock:
    text = "".join(as_text(block.get("text")) for block in blocks(item.get("content")))
    return SystemBlock(
        text=clean_text(text).text, provider=make.opaque({"role": item.get("role")})
    )


def _tool(one: Json) -> Tool:
    if isinstance(one.get("function"), dict):
        return read_chat_tool(one)
    kind = as_text(one.get("type")) or "function"
    if kind == "function":
        deferred = one.get("defer_loading") is True
        return tool(
            one.get("name"),
            one.get("description"),
            one.get("parameters"),
            deferred=deferred,
        )
    if kind == "custom":
        return tool(one.get("name"), one.get("description"), one.get("format"), kind=kind)
    return tool(
        one.get("server_label") or one.get("name") or kind,
        one.get("server_description"),
        one,
        kind=kind,
    )


def role_of(item: Json) -> Role:
    """Whose an item is. Neighbours of the model, and outputs of tools in a row, are one message."""
    role = item.get("role")
    if item.get("type") in _CONTROLS:
        return "tool"
    if role in _SYSTEM:
        return "system"
    if role is not None:
        return "assistant" if role == "assistant" else "user"
    return (
        "tool"
        if as_text(item.get("type")).endswith(("_output", "_approval_response"))
        else "assistant"
    )


def read_messages(make: PartMaker, items: list[Any]) -> tuple[Message, ...]:
    """The next messages of a body; ``make`` has read those before them."""
    parts = tuple(part for item in items for part in _parts(make, item))
    return (make.namer.message(role_of(items[0]), parts),)


def _parts(make: PartMaker, item: Json) -> list[Part]:
    match item.get("type"):
        case None | "message" if "content" in item:
            rest = without(item, "type", "role", "content")
            return [_content(make, block, rest) for block in blocks(item["content"])]
        case "reasoning":
            text = "\n\n".join(
                as_text(one.get("text")) for one in blocks(item.get("summary"))
            )
            if not text:
                text = "".join(readable(item.get("content")))
            return [make.reasoning(text, without(item, "status"))]
        case "function_call":
            rest = without(item, "type", "call_id", "name", "arguments")
            return [
                make.call(
                    item.get("call_id"), item.get("name"), item.get("arguments"), rest
                )
            ]
        case "custom_tool_call":
            rest = without(item, "call_id", "name", "input")
            return [
                make.call(item.get("call_id"), item.get("name"), item.get("input"), rest)
            ]
        case "function_call_output" | "custom_tool_call_output":
            content = tuple(
                _content(make, block, {}) for block in blocks(item.get("output"))
            )
            return [
                make.result(
                    item.get("call_id"), content, rest=without(item, "call_id", "output")
                )
            ]
        case _:
            return [make.item(item)]


def _content(make: PartMaker, block: Json, rest: Json) -> ResultContent:
    match block.get("type"):
        case "text" | "input_text" | "output_text" | "summary_text":
            return make.text(
                block.get("text"), {**without(block, "type", "text"), **rest}
            )
        case "refusal":
            return make.text(block.get("refusal"), {**rest, "refusal": True})
        case "input_image":
            url = as_text(block.get("image_url"))
            mime, data = data_url(url)
            where = "" if data else url or as_text(block.get("file_id"))
            return make.media(
                mime or "image/*",
                data=data,
                url=where,
                detail=block.get("detail"),
                rest=rest,
            )
        case "input_file":
            mime, data = data_url(as_text(block.get("file_data")))
            data = data or as_text(block.get("file_data"))
            where = "" if data else as_text(block.get("file_url") or block.get("file_id"))
            return make.media(
                mime or "application/pdf",
                data=data,
                url=where,
                name=block.get("filename"),
                rest=rest,
            )
        case "input_audio":
            inner = block.get("input_audio")
            held = inner if isinstance(inner, dict) else block
            return make.media(
                f"audio/{as_text(held.get('format')) or '*'}",
                data=as_text(held.get("data")),
                rest=rest,
            )
        case _:
            return make.item(block)
