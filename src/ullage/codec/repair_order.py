"""Whether a history needs no repair, found out in one quick pass: most histories don't.

What these say yes to, the repairs leave as it is; what they say no to may still be in order, and is looked at closely.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ullage.codec.repair_targets import Target
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart

_object: Final = msgspec.json.Decoder(dict[str, object])


def is_plain(message: Message, target: Target) -> bool:
    """Whether a message holds nothing but sound text, calls and results, without any provider's data."""
    parts = message.parts
    if not parts:
        return False
    if message.role == "assistant":
        if target.every_reasoning or target.signed_calls:
            return False
        return all(_is_sound_text(part, target) or _is_sound_call(part) for part in parts)
    return all(_is_sound_result(part, target) or _is_sound_text(part, target) for part in parts)


def _is_sound_text(part: object, target: Target) -> bool:
    if type(part) is not TextPart or part.provider is not None:
        return False
    text = part.text
    if not text or "\0" in text or not (text.isascii() or _is_unicode(text)):
        return False
    return target.blank_text or not text.isspace()


def _is_sound_call(part: object) -> bool:
    if type(part) is not ToolCallPart or part.provider is not None:
        return False
    written = part.arguments
    if "\\u0000" in written:
        return False
    try:
        _object.decode(written)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _is_sound_result(part: object, target: Target) -> bool:
    if type(part) is not ToolResultPart or part.provider is not None:
        return False
    return all(_is_sound_text(one, target) for one in part.content)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_in_order(messages: Sequence[Message], target: Target) -> bool:
    """Whether every call has a legal id of its own and a legal name, and its result follows at once, in call order."""
    waiting: list[ToolCallPart] = []
    ids: set[str] = set()
    names: set[str] = set()
    for message in messages:
        if message.role == "tool":
            for part in message.parts:
                if type(part) is not ToolResultPart or not waiting:
                    return False
                call = waiting.pop(0)
                if part.call_id != call.call_id or (part.name and part.name != call.name):
                    return False
            continue
        if waiting:
            return False
        for part in message.parts:
            kind = type(part)
            if kind is ToolResultPart:
                return False
            if kind is ToolCallPart:
                call_id, name = part.call_id, part.name  # type: ignore[union-attr]
                if message.role != "assistant" or call_id in ids or not target.call_ids.allows(call_id):
                    return False
                if name not in names:
                    if not target.tool_names.allows(name):
                        return False
                    names.add(name)
                ids.add(call_id)
                waiting.append(part)  # type: ignore[arg-type]
    return not waiting
