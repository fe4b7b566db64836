"""Messages whose old tool results have been cleared."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ullage.messages import Message, TextPart, ToolResultPart


def cleared(message: Message, parts: Iterable[str], notice: str) -> Message:
    """The message with a notice in the place of these tool results' content; it and they get a higher revision."""
    chosen = set(parts)
    return msgspec.structs.replace(
        message,
        revision=message.revision + 1,
        parts=tuple(
            _cleared_result(part, notice) if isinstance(part, ToolResultPart) and part.id in chosen else part
            for part in message.parts
        ),
    )


def _cleared_result(part: ToolResultPart, notice: str) -> ToolResultPart:
    return msgspec.structs.replace(
        part,
        content=(TextPart(id=f"{part.id}.notice", text=notice),),
        cleared=True,
        revision=part.revision + 1,
    )
