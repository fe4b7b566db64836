"""A history that replaces the one before, as a log writes it out whole: what of it was in the view before stays.

Messages are recognised by their content, because such logs name none of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ullage.importers.rows import EventWriter
from ullage.messages import (
    COMPACTION,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.fingerprint import digest


def replace_history(
    rows: EventWriter,
    history: Iterable[Message],
    *,
    trigger: str,
    before: int | None = None,
    puts_back: bool = False,
    summary_tokens: int | None = None,
    is_automatic: bool = False,
    has_summary: bool = False,
) -> None:
    """Compacts to this history; its message of origin ``summary``, if there is one, replaces what is left out.

    With ``has_summary`` requests hold one even where the history does not: an item of unknown content stands for it.
    """
    known: dict[str, str] = {}
    for name in rows.view:
        message = rows.messages[name]
        known.setdefault(_content_key(message.role, message.parts), name)
    kept: set[str] = set()
    new: list[Message] = []
    summary: Message | None = None
    for message in history:
        name = known.get(_content_key(message.role, message.parts), "")
        if name and name not in kept:
            kept.add(name)
        elif message.origin == "summary" and summary is None:
            summary = message
        elif message.parts:
            new.append(message)
    if summary is None and has_summary:
        label = rows.reserve("user")
        sealed = ProviderItem(id=f"{label}/0", kind=COMPACTION)
        summary = Message(id=label, role="user", parts=(sealed,), origin="summary")
    rows.compact(
        summary,
        keep=kept,
        trigger=trigger,
        before=before,
        puts_back=puts_back,
        summary_tokens=summary_tokens if summary is not None else None,
        is_automatic=is_automatic,
    )
    for message in new:
        rows.add(message)


def _content_key(role: Role, parts: tuple[Part, ...]) -> str:
    """Names what a message says, whatever its parts are called."""
    return digest(role, *(piece for part in parts for piece in _content_of(part)))


def _content_of(part: Part) -> tuple[str | bytes, ...]:
    match part:
        case TextPart():
            return (part.text,)
        case ToolCallPart():
            return (part.call_id, part.name, part.arguments)
        case ToolResultPart():
            return (part.call_id, part.text)
        case ReasoningPart() | ProviderItem():
            return (bytes(part.provider.data) if part.provider else part.text,)
        case _:
            return (msgspec.json.encode(msgspec.structs.replace(part, id="")),)
