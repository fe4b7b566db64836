"""OpenAI-compatible Chat Completions: request bodies and answers.

https://platform.openai.com/docs/api-reference/chat, and what others put on the same wire: ``reasoning_content``
(DeepSeek, Kimi, GLM), ``reasoning_details`` (OpenRouter), thinking chunks (Mistral), ``extra_content`` (Gemini).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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

_READ = ("messages", "tools", "model", "stream")
_SYSTEM = ("system", "developer")


def claims(body: Mapping[str, Any]) -> bool:
    """Whether this is a Chat body, if it is no Messages body."""
    return "messages" in body


def items_of(value: object) -> list[Any]:
    """The messages of a body, of whatever type the field is."""
    return as_list(value)


def read_request(body: Mapping[str, Any], head: list[Any], make: PartMaker) -> Request:
    """The body of one Chat call with no messages but its system prompt."""
    system = [_system(make, one) for one in objects(head)]
    return make.request(body, system, map(read_tool, objects(body.get("tools"))), _READ)


def read_messages(make: PartMaker, items: list[Any]) -> tuple[Message, ...]:
    """The next messages of a body after its system prompt; ``make`` has read those before them."""
    return tuple(_message(make, one) for one in objects(items))


def read_answer(content: object, make: PartMaker) -> Message:
    """The assistant's message: a completion, one of its choices, a message, or bare text."""
    found = content
    if isinstance(found, Mapping) and isinstance(found.get("choices"), list):
        found = found["choices"][0] if found["choices"] else {}
    if isinstance(found, Mapping) and isinstance(found.get("message"), Mapping):
        found = found["message"]
    message = dict(found) if isinstance(found, Mapping) else {"content": found}
    return make.namer.message("assistant", tuple(_assistant(make, message)))


def read_tool(one: Json) -> Tool:
    """A declaration in Chat's nested form; a tool that runs on the provider's side is kept whole as its schema."""
    kind = as_text(one.get("type")) or "function"
    inner = one.get(kind)
    if kind == "function" and isinstance(inner, dict):
        return tool(inner.get("name"), inner.get("description"), inner.get("parameters"))
    if isinstance(inner, dict):
        return tool(inner.get("name") or kind, inner.get("description"), inner, kind=kind)
    return tool(one.get("name") or kind, "", one, kind=kind)


def _system(make: PartMaker, message: Json) -> SystemBlock:
    text = "".join(as_text(block.get("text")) for block in blocks(message.get("content")))
    rest = without(message, "role", "content")
    if message.get("role") == "developer":
        rest["role"] = "developer"
    return SystemBlock(text=clean_text(text).text, provider=make.opaque(rest))


def _message(make: PartMaker, message: Json) -> Message:
    match message.get("role"):
        case "assistant":
            return make.namer.message("assistant", tuple(_assistant(make, message)))
        case "tool":
            call_id = message.get("tool_call_id")
            content = tuple(
                _result_content(make, block) for block in blocks(message.get("content"))
            )
            rest = without(message, "role", "content", "tool_call_id", "name")
            return make.namer.message(
                "tool",
                (make.result(call_id, content, name=message.get("name"), rest=rest),),
            )
        case role:
            parts = tuple(_part(make, block) for block in blocks(message.get("content")))
            named: Role = "system" if role in _SYSTEM else "user"
            return make.namer.message(named, parts)


_ASSISTANT = frozenset(
    [
        "role",
        "content",
        "tool_calls",
        "refusal",
        "annotations",
        "audio",
        "name",
        "prefix",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "extra_content",
    ]
)


def _assistant(make: PartMaker, message: Json) -> Iterator[Part]:
    thought = {
        key: message.get(key)
        for key in ("reasoning_content", "reasoning", "reasoning_details")
    }
    if any(value for value in thought.values()):
        yield make.reasoning(_reasoning_text(thought), thought)
    for block in blocks(message.get("content")):
        if block.get("type") == "text" and not block.get("text"):
            continue
        yield _part(make, block)
    if message.get("refusal"):
        yield make.text(message["refusal"], {"refusal": True})
    for one in objects(message.get("tool_calls")):
        yield _call(make, one)
    extra = {
        key: value
        for key, value in without(message, *_ASSISTANT).items()
        if isinstance(value, dict | list)
    }
    if message.get("extra_content"):
        extra["extra_content"] = message["extra_content"]
    if any(extra.values()):
        yield make.item({"type": "message_fields", **extra})
    audio = message.get("audio")
    if isinstance(audio, dict):
        yield make.media(
            "audio/*",
            url=as_text(audio.get("id")),
            text=as_text(audio.get("transcript")),
            rest=audio,
        )


def _reasoning_text(thought: Json) -> str:
    for key in ("reasoning_content", "reasoning"):
        if isinstance(thought.get(key), str) and thought[key]:
            return str(thought[key])
    return "".join(
        as_text(one.get("text") or one.get("summary"))
        for one in objects(thought.get("reasoning_details"))
    )


def _call(make: PartMaker, one: Json) -> Part:
    kind = as_text(one.get("type")) or "function"
    inner = one.get(kind)
    if not isinstance(inner, dict):
        return make.item(one)
    rest = {
        **without(one, "id", "type", kind, "index"),
        **without(inner, "name", "arguments", "input"),
    }
    if kind != "function":
        rest["type"] = kind
    arguments = inner.get("arguments") if "arguments" in inner else inner.get("input")
    return make.call(one.get("id"), inner.get("name"), arguments, rest)


def _part(make: PartMaker, block: Json) -> Part:
    if block.get("type") == "thinking":
        thinking = block.get("thinking")
        text = thinking if isinstance(thinking, str) else "".join(readable(thinking))
        return make.reasoning(text, without(block, "type"))
    return _result_content(make, block)


def _result_content(make: PartMaker, block: Json) -> ResultContent:
    kind = as_text(block.get("type"))
    held = block.get(kind)
    match kind:
        case "text" | "refusal":
            return make.text(held, without(block, "type", kind))
        case "image_url" | "video_url":
            inner = held if isinstance(held, dict) else {"url": held}
            url = as_text(inner.get("url"))
            mime, data = data_url(url)
            fallback = "image/*" if kind == "image_url" else "video/*"
            where = "" if data else url
            rest = without(block, "type", kind)
            return make.media(
                mime or fallback,
                data=data,
                url=where,
                detail=inner.get("detail"),
                rest=rest,
            )
        case "input_audio" if isinstance(held, dict):
            return make.media(
                f"audio/{as_text(held.get('format')) or '*'}",
                data=as_text(held.get("data")),
            )
        case "file" if isinstance(held, dict):
            return _file(make, held)
        case "document_url":
            return make.media(
                "application/pdf", url=as_text(held), name=block.get("document_name")
            )
        case _:
            return make.item(block)


def _file(make: PartMaker, held: Json) -> ResultContent:
    mime, data = data_url(as_text(held.get("file_data")))
    if not data:
        data = as_text(held.get("file_data"))
    where = as_text(held.get("file_id"))
    return make.media(
        mime or "application/pdf",
        data=data,
        url="" if data else where,
        name=held.get("filename"),
    )
