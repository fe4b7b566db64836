"""Anthropic Messages: request bodies and answers.

https://platform.claude.com/docs/en/api/messages. Tool results inside a user message become a
message of the role ``tool``; what was beside them follows as a user message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ullage.codec.held import CONTINUING, continued_in
from ullage.codec.parts import (
    Json,
    PartMaker,
    as_list,
    as_text,
    blocks,
    objects,
    tool,
    without,
)
from ullage.codec.reminders import with_names
from ullage.messages import (
    Message,
    Part,
    ProviderData,
    Request,
    ResultContent,
    SystemBlock,
    Tool,
    clean_text,
)

_BLOCKS = frozenset(
    ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")
)
_READ = frozenset(
    {"messages", "system", "tools", "model", "stream", *CONTINUING["messages"]}
)
_MARKS = frozenset(
    {"system", "anthropic_version", "anthropic_beta", "stop_sequences", "thread"}
)
"""Fields that Chat does not have."""


def claims(body: Mapping[str, Any]) -> bool:
    """Anthropic's marks against Chat's; a plain body with neither is Anthropic's when its model is a bare Claude id."""
    if "messages" not in body:
        return False
    listed = (
        [one for one in body["messages"] if isinstance(one, Mapping)]
        if isinstance(body["messages"], list)
        else []
    )
    tools = _blocks(body.get("tools"))
    if not _MARKS.isdisjoint(body):
        return True
    if any("input_schema" in one for one in tools):
        return True
    if any(
        _is_messages_block(block)
        for one in listed
        for block in _blocks(one.get("content"))
    ):
        return True
    chat_roles = any(one.get("role") in ("system", "developer", "tool") for one in listed)
    if (
        chat_roles
        or any("function" in one for one in tools)
        or any("tool_calls" in one for one in listed)
    ):
        return False
    return str(body.get("model") or "").startswith("claude") and "max_tokens" in body


def items_of(value: object) -> list[Any]:
    """The messages of a body, of whatever type the field is."""
    return as_list(value)


def read_request(body: Mapping[str, Any], head: list[Any], make: PartMaker) -> Request:
    """The body of one Messages call without its messages."""
    tools = map(_tool, objects(body.get("tools")))
    chained = continued_in("messages", body)
    return make.request(
        body, _system(make, body.get("system")), tools, _READ, chained=chained
    )


def read_messages(make: PartMaker, items: list[Any]) -> tuple[Message, ...]:
    """The next messages of a body; ``make`` has read those before them."""
    return tuple(message for one in blocks(items) for message in _messages(make, one))


def read_answer(content: object, make: PartMaker) -> Message:
    """The assistant's message: a response object, or its list of content blocks."""
    listed = content.get("content") if isinstance(content, Mapping) else content
    return make.namer.message(
        "assistant", tuple(_part(make, block) for block in blocks(listed))
    )


def _system(make: PartMaker, system: object) -> Iterator[SystemBlock]:
    for block in blocks(system):
        rest: ProviderData | None = make.opaque(without(block, "type", "text"))
        yield SystemBlock(text=clean_text(as_text(block.get("text"))).text, provider=rest)


def _tool(one: Json) -> Tool:
    kind = as_text(one.get("type")) or "custom"
    deferred = one.get("defer_loading") is True
    if kind != "custom" and "input_schema" not in one:
        return tool(one.get("name"), "", one, kind=kind, deferred=deferred)
    return tool(
        one.get("name"),
        one.get("description"),
        one.get("input_schema"),
        deferred=deferred,
    )


def _messages(make: PartMaker, message: Json) -> Iterator[Message]:
    role = as_text(message.get("role"))
    listed = blocks(message.get("content"))
    if role == "assistant":
        yield make.namer.message(
            "assistant", tuple(_part(make, block) for block in listed)
        )
        return
    results = tuple(
        _part(make, block) for block in listed if block.get("type") == "tool_result"
    )
    others = tuple(
        _part(make, block) for block in listed if block.get("type") != "tool_result"
    )
    if results:
        yield make.namer.message("tool", results)
    if others or not results:
        if role == "system":  # a note of the program in the middle of a conversation
            yield make.namer.message("system", with_names(others, is_note=True))
        else:
            yield make.namer.message("user", others)


def _part(make: PartMaker, block: Json) -> Part:
    match block.get("type"):
        case "text":
            return make.text(block.get("text"), without(block, "type", "text"))
        case "thinking":
            return make.reasoning(
                as_text(block.get("thinking")), without(block, "type", "thinking")
            )
        case "redacted_thinking":
            return make.reasoning("", without(block, "type"), redacted=True)
        case "tool_use":
            rest = without(block, "type", "id", "name", "input")
            return make.call(block.get("id"), block.get("name"), block.get("input"), rest)
        case "tool_result":
            rest = without(block, "type", "tool_use_id", "content", "is_error")
            content = tuple(
                _result_content(make, one) for one in blocks(block.get("content"))
            )
            return make.result(
                block.get("tool_use_id"),
                content,
                is_error=block.get("is_error") is True,
                rest=rest,
            )
        case "image" | "document":
            return _media(make, block)
        case _:
            return make.item(block)


def _result_content(make: PartMaker, block: Json) -> ResultContent:
    match block.get("type"):
        case "text":
            return make.text(block.get("text"), without(block, "type", "text"))
        case "image" | "document":
            return _media(make, block)
        case _:
            return make.item(block)


def _media(make: PartMaker, block: Json) -> ResultContent:
    """https://platform.claude.com/docs/en/build-with-claude/vision and …/pdf-support: the kinds of ``source``."""
    source = block.get("source")
    if not isinstance(source, dict):
        return make.item(block)
    rest = without(block, "type", "source", "title")
    fallback = "image/*" if block.get("type") == "image" else "application/pdf"
    mime = source.get("media_type") or fallback
    match source.get("type"):
        case "base64":
            return make.media(
                mime, data=as_text(source.get("data")), name=block.get("title"), rest=rest
            )
        case "url":
            return make.media(
                mime, url=as_text(source.get("url")), name=block.get("title"), rest=rest
            )
        case "file":
            return make.media(
                mime,
                url=as_text(source.get("file_id")),
                name=block.get("title"),
                rest=rest,
            )
        case "text":
            text = as_text(source.get("data"))
            return make.media(
                source.get("media_type") or "text/plain",
                text=text,
                name=block.get("title"),
                rest=rest,
            )
        case "content":
            text = "\n".join(
                as_text(one.get("text")) for one in blocks(source.get("content"))
            )
            return make.media("text/plain", text=text, name=block.get("title"), rest=rest)
        case _:
            return make.item(block)


def _is_messages_block(block: Mapping[str, Any]) -> bool:
    """Whether only Anthropic has this block; Mistral's thinking, on the chat wire, is a list of chunks."""
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _BLOCKS:
        return False
    return not (kind == "thinking" and isinstance(block.get("thinking"), list))


def _blocks(content: object) -> list[Mapping[str, Any]]:
    return (
        [one for one in content if isinstance(one, Mapping)]
        if isinstance(content, list)
        else []
    )
