"""Which reasoning can be sent: whole, to whom it belongs, with what follows it, or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.codec.repair_content import fields_of, is_clean, sound_part, text_field
from ullage.codec.repair_notes import Notes
from ullage.codec.rules import Target
from ullage.messages import (
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.reasoning import is_native

NO_SIGNATURE: Final = "skip_thought_signature_validator"
"""What Google documents for calls that another model made, for the Gemini API and Vertex alike
(https://ai.google.dev/gemini-api/docs/thought-signatures#faqs,
https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures)."""

NO_REASONING: Final = " "
"""Stands for reasoning that was never there. A space: some hosts take an empty text for a missing one
(https://github.com/Wei-Shaw/sub2api/pull/7313)."""

_SERVER_CALL: Final = re.compile(r"server_tool_use|mcp_tool_use")


def sound_parts(
    message: Message, target: Target, *, sent: frozenset[str] | None, stored: bool, notes: Notes
) -> tuple[Part, ...]:
    """The parts of a message that can be sent, each as it can be sent, in their order.

    ``sent`` names the reasoning that the application lets through, ``None`` is all. ``stored`` says that the provider
    keeps its answers, so that a reasoning item may be named without its content.
    """
    if message.role != "assistant":
        return _without_reasoning(message, target, notes)
    cut = _cut_server_calls(message, notes)
    kept: list[Part] = []
    waiting: list[ReasoningPart] = []  # reasoning whose follower has not come yet
    bare = False  # reasoning before this place was left out: what follows may not name it
    for part in message.parts:
        if isinstance(part, ReasoningPart):
            if sent is not None and part.id not in sent:
                bare = True
            elif _is_sendable(part, message, target, stored=stored, notes=notes):
                waiting.append(part)
                bare = False
            else:
                bare = True
            continue
        sound = None if part.id in cut else sound_part(part, message.id, target, notes)
        if sound is None:
            if target.item_ids and waiting:
                _orphans(waiting, message, notes)
                waiting, bare = [], True
            continue
        if isinstance(sound, ToolResultPart):
            kept.append(sound)  # it goes to its call and follows nothing here
            continue
        kept += waiting
        waiting = []
        kept.append(_without_item_id(sound, message, notes) if bare and target.item_ids else sound)
    if waiting and target.reasoning_last and kept:
        kept += waiting
    else:
        _orphans(waiting, message, notes)
    return _filled(message, kept, target, notes)


def _without_reasoning(message: Message, target: Target, notes: Notes) -> tuple[Part, ...]:
    kept: list[Part] = []
    for part in message.parts:
        if isinstance(part, ReasoningPart | ToolCallPart):
            notes.add("misplaced", message.id, part.id, "only an answer of the model may hold this: left out")
            continue
        sound = sound_part(part, message.id, target, notes)
        if sound is not None:
            kept.append(sound)
    return tuple(kept)


def _is_sendable(part: ReasoningPart, message: Message, target: Target, *, stored: bool, notes: Notes) -> bool:
    if not is_native(part.provider, target):
        notes.add("foreign_reasoning", message.id, part.id, "reasoning of another model left out")
        return False
    fields = fields_of(part.provider)
    if fields is None or not is_clean(part.text):
        notes.add("partial_reasoning", message.id, part.id, "reasoning that can't be sent unchanged left out")
        return False
    signed = text_field(fields, "signature") or text_field(fields, "data")
    sealed = text_field(fields, "encrypted_content") or (stored and text_field(fields, "id"))
    named = bool(fields) or not target.named_reasoning  # Chat has many fields for it: one that names none goes nowhere
    if not named or (target.signed_thinking and not signed) or (target.sealed_reasoning and not sealed):
        notes.add("partial_reasoning", message.id, part.id, "unfinished reasoning left out")
        return False
    return True


def _orphans(waiting: Sequence[ReasoningPart], message: Message, notes: Notes) -> None:
    for part in waiting:
        notes.add("orphan_reasoning", message.id, part.id, "reasoning with nothing after it left out")


def _without_item_id(part: Part, message: Message, notes: Notes) -> Part:
    """An item that names itself must come with its reasoning; without the name it may come alone."""
    if not isinstance(part, TextPart | ToolCallPart):
        return part
    fields = fields_of(part.provider)
    if part.provider is None or not fields or "id" not in fields:
        return part
    rest = {name: raw for name, raw in fields.items() if name != "id"}
    notes.add("orphan_reasoning", message.id, part.id, "item id left out with its reasoning")
    data = replace(part.provider, data=msgspec.Raw(msgspec.json.encode(rest))) if rest else None
    return replace(part, provider=data)


def _cut_server_calls(message: Message, notes: Notes) -> frozenset[str]:
    """Ids of parts: calls of server tools whose result never came, as an interrupted answer may hold them."""
    items = list(message.of_type(ProviderItem)) if message.interrupted is not None else []
    answered = {text_field(fields_of(item.provider), "tool_use_id") for item in items}
    cut = [
        item.id
        for item in items
        if _SERVER_CALL.fullmatch(item.kind) and text_field(fields_of(item.provider), "id") not in answered
    ]
    for name in cut:
        notes.add("missing_result", message.id, name, "a server tool's call without its result left out")
    return frozenset(cut)


def _filled(message: Message, parts: list[Part], target: Target, notes: Notes) -> tuple[Part, ...]:
    """The parts with what the target asks for and another model did not give."""
    if all(isinstance(part, ReasoningPart | ToolResultPart) for part in parts):  # results go to their calls
        _orphans([part for part in parts if isinstance(part, ReasoningPart)], message, notes)
        return tuple(part for part in parts if isinstance(part, ToolResultPart))
    if target.every_reasoning and not any(_is_reasoning_content(part) for part in parts):
        notes.add("stand_in_reasoning", message.id, "", "a blank stands for reasoning that the model never gave")
        data = _tagged(target, {"reasoning_content": NO_REASONING})
        parts = [ReasoningPart(id=f"{message.id}.reasoning", text=NO_REASONING, provider=data), *parts]
    if target.signed_calls:
        at = next((index for index, part in enumerate(parts) if isinstance(part, ToolCallPart)), None)
        if at is not None:
            parts[at] = _signed(parts[at], message, target, notes)
    return tuple(parts)


def _is_reasoning_content(part: Part) -> bool:
    return isinstance(part, ReasoningPart) and "reasoning_content" in (fields_of(part.provider) or ())


def _signed(part: Part, message: Message, target: Target, notes: Notes) -> Part:
    fields = fields_of(part.provider if isinstance(part, ToolCallPart) else None) or {}
    if not isinstance(part, ToolCallPart) or any(
        text_field(fields, name) for name in ("thoughtSignature", "thought_signature")
    ):
        return part
    notes.add("stand_in_signature", message.id, part.id, "the documented stand-in for a signature")
    return replace(part, provider=_tagged(target, {**fields, "thoughtSignature": NO_SIGNATURE}))


def _tagged(target: Target, fields: Mapping[str, object]) -> ProviderData:
    data = msgspec.Raw(msgspec.json.encode(fields))
    return ProviderData(data=data, provider=target.provider, wire=target.wire, model=target.model)
