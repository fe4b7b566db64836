"""What hooks put in the place of a request or an answer: with other texts, or with a message more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from ullage.codec.stream import Answer
from ullage.messages import (
    FilePart,
    Message,
    Request,
    SystemBlock,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)

T = TypeVar("T", Request, Message, Answer)

ChangeText = Callable[[str], str]

_TEXTS: Final[Mapping[type, str]] = {
    TextPart: "text",
    FilePart: "text",
    SystemBlock: "text",
    ToolCallPart: "arguments",
}
_LISTS: Final[Mapping[type, tuple[str, ...]]] = {
    Request: ("system", "messages"),
    Message: ("parts",),
    ToolResultPart: ("content",),
}


def with_texts(value: T, change: ChangeText) -> T:
    """A request, message or answer with each of its texts changed: to mask what must not be sent or recorded.

    Texts are those of messages, results of tools, arguments of tool calls, files that are sent as text, and the system
    prompt. Reasoning stays: its provider refuses it when it is altered. What ``change`` gives back unchanged stays the
    same object, and so in the provider's cache.

    Args:
        value: What a hook was given; it stays as it is.
        change: Makes a text of each text.
    """
    if isinstance(value, Answer):
        return value._replace(message=with_texts(value.message, change))
    changed: T = _changed(value, change)
    return changed


def _changed(value: Any, change: ChangeText) -> Any:
    given: dict[str, Any] = {}
    if text := _TEXTS.get(type(value)):
        given = {text: clean_text(change(getattr(value, text))).text, "provider": None}
        if given[text] == getattr(value, text):
            return value
    for name in _LISTS.get(type(value), ()):
        before = getattr(value, name)
        after = tuple(_changed(each, change) for each in before)
        given[name] = before if after == before else after
    return replace(value, **given) if given else value


def with_message(request: Request, text: str) -> Request:
    """A request with a message of the user behind the others: a reminder that the conversation does not keep.

    Args:
        request: What a hook was given; it stays as it is.
        text: What the message says.
    """
    name = f"hook-{len(request.messages)}"
    part = TextPart(id=f"{name}.text", text=clean_text(text).text)
    message = Message(id=name, role="user", parts=(part,), origin="injected")
    return replace(request, messages=(*request.messages, message))
