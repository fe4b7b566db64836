"""Messages as plain text, for a summary to read and for a digest to hold. All of it is data, marked as such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ullage.context.policy import DIGEST_LINE
from ullage.context.shorten import excerpt
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)

_PATH: Final = re.compile(
    r"(?<![\w/])(?:[\w.@~-]*/)+[\w.@-]+|\b[\w-]+\.[A-Za-z][A-Za-z0-9]{0,7}\b"
)


def rendered(message: Message, characters: int) -> str:
    """One message, its text at most about so many characters, between tags that its text can't close."""
    pieces = [text for part in message.parts if (text := shown(part))]
    text = excerpt("\n".join(pieces), characters, "")
    escaped = text.replace("</message", "<\\/message")
    mark = " interrupted" if message.interrupted is not None else ""
    return (
        f'<message id="{message.id}" role="{message.role}"{mark}>\n{escaped}\n</message>'
    )


def text_length(message: Message) -> int:
    """Characters that ``rendered`` would show with nothing left out."""
    return sum(len(text) + 1 for part in message.parts if (text := shown(part)))


def shown(part: Part) -> str:
    """The text of one part as a summary reads it: without reasoning, and with calls and media as a line."""
    match part:
        case TextPart():
            return part.text
        case ReasoningPart():
            return ""
        case ToolCallPart():
            return f"[calls {part.name} with {part.arguments}]"
        case ToolResultPart():
            failed = " failed" if part.is_error else ""
            inside = "\n".join(shown(inner) for inner in part.content)
            return f"[result{failed}{f' of {part.name}' if part.name else ''}]\n{inside}"
        case ImagePart():
            return f"[image {part.mime} {part.width or '?'}x{part.height or '?'}]"
        case FilePart():
            return f"[file {part.name or part.mime}]" + (
                f"\n{part.text}" if part.text else ""
            )
        case ProviderItem():
            return part.text or f"[{part.kind or 'item'}]"
        case UnknownPart():
            return ""


def line_of(message: Message, characters: int = DIGEST_LINE) -> str:
    """One message as one line: role, tools with their paths, and first words."""
    text = " ".join(_bits(message, characters))
    return _bounded(f"{message.role}: {text or '(no readable content)'}", characters)


def _bits(message: Message, characters: int) -> Iterator[str]:
    for part in message.parts:
        match part:
            case ToolCallPart():
                yield f"[{part.name} {_bounded(_pointed_at(part.arguments), 60)}]"
            case ToolResultPart():
                failed = "failed: " if part.is_error else ""
                yield f"[result{f' of {part.name}' if part.name else ''}: {failed}{_first_words(part.text, 60)}]"
            case ReasoningPart() | UnknownPart():
                pass
            case ImagePart() | FilePart():
                yield shown(part).split("\n", 1)[0]
            case _:
                yield _first_words(part.text, characters)


def _pointed_at(arguments: str) -> str:
    """The paths in a call's arguments, or else their beginning."""
    head = arguments[:2_000]
    paths = list(dict.fromkeys(_PATH.findall(head)))
    return " ".join(paths[:3]) or head


def _first_words(text: str, characters: int) -> str:
    return _bounded(" ".join(text[: 4 * characters].split()), characters)


def _bounded(text: str, characters: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= characters else text[: characters - 1] + "…"
