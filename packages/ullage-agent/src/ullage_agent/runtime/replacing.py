"""What hooks put in the place of a request or an answer: with other texts, or with a message more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from msgspec.structs import replace

from ullage.codec.stream import Answer
from ullage.messages import (
    FilePart,
    Message,
    Part,
    Request,
    ResultContent,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)

T = TypeVar("T", Request, Message, Answer)
PartT = TypeVar("PartT", bound=Part | ResultContent)

ChangeText = Callable[[str], str]


def with_texts(value: T, change: ChangeText) -> T:
    """A request, message or answer with each of its texts changed: to mask what must not be sent or recorded.

    Texts are those of messages, results of tools, arguments of tool calls, files that are sent as text, and the
    system prompt. Reasoning stays: its provider refuses it when it is altered.

    Args:
        value: A ``Request``, ``Message`` or ``Answer``.
        change: Gives the new text. What it gives back unchanged stays the same object, and so in the provider's
            cache.
    """
    if isinstance(value, Answer):
        return value._replace(message=with_texts(value.message, change))
    if isinstance(value, Message):
        parts = tuple(_changed(part, change) for part in value.parts)
        return value if parts == value.parts else replace(value, parts=parts)
    system = tuple(
        replace(block, text=change(block.text), provider=None)
        if change(block.text) != block.text
        else block
        for block in value.system
    )
    messages = tuple(with_texts(message, change) for message in value.messages)
    return replace(value, system=system, messages=messages)


def _changed(part: PartT, change: ChangeText) -> PartT:
    if isinstance(part, ToolResultPart):
        content = tuple(_changed(each, change) for each in part.content)
        same = content == part.content
        return part if same else cast(PartT, replace(part, content=content))
    name = "arguments" if isinstance(part, ToolCallPart) else "text"
    if not isinstance(part, TextPart | FilePart | ToolCallPart):
        return part
    before = getattr(part, name)
    after = clean_text(change(before)).text
    if after == before:
        return part
    return cast(PartT, replace(part, provider=None, **{name: after}))


def with_message(request: Request, text: str) -> Request:
    """A request with a message of the user behind the others: a reminder that the conversation does not keep.

    Args:
        request: What is about to be sent.
        text: The message.
    """
    name = f"hook-{len(request.messages)}"
    part = TextPart(id=f"{name}.text", text=clean_text(text).text)
    message = Message(id=name, role="user", parts=(part,), origin="injected")
    return replace(request, messages=(*request.messages, message))
