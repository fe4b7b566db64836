"""Repairs inside one message: text that is no Unicode, arguments that are no JSON, data of another model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from ullage.bounds import json_excess
from ullage.codec.blocks import BOUND, UNREADABLE_ARGUMENTS
from ullage.codec.foreign import parse_json, to_raw
from ullage.codec.rules import Target
from ullage.messages import (
    COMPACTION,
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    ResultContent,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
    clean_text,
)
from ullage.reasoning import bare_model, is_native, same_house

RepairKind = Literal[
    "text",
    "arguments",
    "call_id",
    "tool_name",
    "tool",
    "missing_result",
    "moved_result",
    "extra_result",
    "misplaced",
    "empty",
    "unknown_part",
    "foreign_reasoning",
    "partial_reasoning",
    "orphan_reasoning",
    "foreign_data",
    "stand_in_reasoning",
    "stand_in_signature",
    "stand_in_message",
    "thinking_off",
]
"""What was wrong, as a word that programs can count."""


class Repair(NamedTuple):
    """One difference between the request as it was given and as it is sent. ``part`` is empty for a whole message."""

    kind: RepairKind
    message: str
    part: str
    what: str


class Notes:
    """Collects repairs while a request is gone through; ``add`` is the only thing it does."""

    def __init__(self) -> None:
        self.repairs: list[Repair] = []

    def add(self, kind: RepairKind, message: str, part: str, what: str) -> None:
        self.repairs.append(Repair(kind, message, part, what))


_Tagged = TypeVar("_Tagged", TextPart, ToolCallPart, ToolResultPart)

_raw_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_object: Final = msgspec.json.Decoder(dict[str, object])


def is_clean(text: str) -> bool:
    """Whether text is valid Unicode without NUL."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def cleaned(text: str) -> str:
    """The text without lone surrogates and NUL; itself where it has none."""
    return text if is_clean(text) else clean_text(text).text


def clean_json(value: Any) -> Any:
    """A JSON value with all its texts valid Unicode."""
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, Mapping):
        return {cleaned(key): clean_json(item) for key, item in value.items()}
    return (
        [clean_json(item) for item in value] if isinstance(value, list | tuple) else value
    )


def fields_of(data: ProviderData | None) -> dict[str, msgspec.Raw] | None:
    """The fields of opaque data; ``None`` where it is no JSON object that a strict reader takes."""
    if data is None:
        return None
    try:
        fields = _raw_object.decode(data.data)
        if b"\\u" in bytes(data.data):
            _object.decode(
                data.data
            )  # an escaped lone surrogate is refused only when its text is read
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return fields


def text_field(fields: dict[str, msgspec.Raw] | None, name: str) -> str:
    """A field's text; empty where it is missing or no text."""
    if not fields or name not in fields:
        return ""
    try:
        value = msgspec.json.decode(fields[name])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


def sound_part(part: Part, message: str, target: Target, notes: Notes) -> Part | None:
    """The part as it can be sent; ``None`` where nothing of it can. Reasoning is judged elsewhere."""
    match part:
        case TextPart():
            return _text(part, message, target, notes)
        case ToolCallPart():
            return _call(part, message, target, notes)
        case ToolResultPart():
            return _result(part, message, target, notes)
        case ImagePart() | FilePart():
            return _media(part, message, notes)
        case ProviderItem() if part.kind == COMPACTION and _must_be_text(part, target):
            note = "another model's compaction sent as the text that stands for it"
            notes.add("foreign_data", message, part.id, note)
            return TextPart(id=part.id, text=cleaned(part.text), revision=part.revision)
        case ProviderItem():
            return _item(part, message, target, notes)
        case UnknownPart():
            notes.add(
                "unknown_part", message, part.id, "left out: a part of a newer version"
            )
            return None
        case ReasoningPart():
            return part


def _text(part: TextPart, message: str, target: Target, notes: Notes) -> TextPart | None:
    part = _own_data(part, message, target, notes)
    text = cleaned(part.text)
    if text is not part.text:
        notes.add("text", message, part.id, "text made valid Unicode")
        part = replace(part, text=text)
    if part.text and (target.blank_text or not part.text.isspace()):
        return part
    if not part.text and part.provider is not None and target.signed_text:
        return part  # an empty text may carry the answer's signature
    notes.add("empty", message, part.id, "empty text left out")
    return None


def _call(part: ToolCallPart, message: str, target: Target, notes: Notes) -> ToolCallPart:
    part = _own_data(part, message, target, notes)
    arguments = (
        cleaned(part.arguments) if is_free_text(part) else sound_arguments(part.arguments)
    )
    if arguments == part.arguments:
        return part
    notes.add("arguments", message, part.id, "arguments that are no JSON object replaced")
    return replace(part, arguments=arguments)


def is_free_text(part: ToolCallPart) -> bool:
    """Whether a call's input is plain text by the wire's own rules: a custom tool of OpenAI's."""
    fields = fields_of(part.provider)
    return text_field(fields, "type") in ("custom", "custom_tool_call")


def sound_arguments(written: str) -> str:
    """The arguments as a JSON object in text: as written where they are one, otherwise a stand-in that holds them."""
    try:
        if json_excess(written):
            raise msgspec.DecodeError("beyond the limits")
        _object.decode(written)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        if not written.strip():
            return "{}"
    else:
        if "\\u0000" not in written:
            return written
    try:
        found = parse_json(written)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return bytes(to_raw(clean_json(found))).decode()
    return msgspec.json.encode({UNREADABLE_ARGUMENTS: clean_text(written).text}).decode()


def _result(
    part: ToolResultPart, message: str, target: Target, notes: Notes
) -> ToolResultPart:
    part = _own_data(part, message, target, notes)
    content = tuple(
        sound
        for one in part.content
        if (sound := _result_content(one, message, target, notes)) is not None
    )
    if len(content) != len(part.content) or any(
        a is not b for a, b in zip(content, part.content, strict=True)
    ):
        part = replace(part, content=content)
    return part


def _result_content(
    one: ResultContent, message: str, target: Target, notes: Notes
) -> ResultContent | None:
    match one:
        case TextPart():
            return _text(one, message, target, notes)
        case ImagePart() | FilePart():
            return _media(one, message, notes)
        case ProviderItem() if not is_native(one.provider, target) and one.text:
            notes.add(
                "foreign_data",
                message,
                one.id,
                "another provider's item sent as its text",
            )
            return TextPart(id=one.id, text=cleaned(one.text), revision=one.revision)
        case ProviderItem():
            return _item(one, message, target, notes)
        case UnknownPart():
            notes.add(
                "unknown_part", message, one.id, "left out: a part of a newer version"
            )
            return None


def _media(
    part: ImagePart | FilePart, message: str, notes: Notes
) -> ImagePart | FilePart:
    if isinstance(part, FilePart) and not (is_clean(part.text) and is_clean(part.name)):
        notes.add("text", message, part.id, "text made valid Unicode")
        part = replace(part, text=cleaned(part.text), name=cleaned(part.name))
    if part.provider is not None and fields_of(part.provider) is None:
        notes.add(
            "foreign_data", message, part.id, "data that no strict reader takes left out"
        )
        part = replace(part, provider=None)
    return part


def _item(
    part: ProviderItem, message: str, target: Target, notes: Notes
) -> ProviderItem | None:
    if (
        part.provider is not None
        and same_house(part.provider, target)
        and fields_of(part.provider) is not None
    ):
        return part
    notes.add(
        "foreign_data",
        message,
        part.id,
        "an item that only another provider knows left out",
    )
    return None


def _must_be_text(part: ProviderItem, target: Target) -> bool:
    """Whether a compaction was made by another model than this one, which nobody says can read it."""
    data = part.provider
    if not part.text or data is None:
        return False
    is_same = not data.model or bare_model(data.model) == bare_model(target.model)
    return not (is_same and same_house(data, target) and fields_of(data) is not None)


def _own_data(part: _Tagged, message: str, target: Target, notes: Notes) -> _Tagged:
    """The part with what of its opaque data the target can read: all, what is not bound to a host or model, or none."""
    data = part.provider
    if data is None:
        return part
    fields = fields_of(data)
    if fields is not None and is_native(data, target):
        return part
    kept: ProviderData | None = None
    if fields is not None and data.wire == target.wire:
        rest = {name: raw for name, raw in fields.items() if name not in BOUND}
        if len(rest) == len(fields):
            return part
        kept = (
            replace(data, data=msgspec.Raw(msgspec.json.encode(rest))) if rest else None
        )
    notes.add(
        "foreign_data",
        message,
        part.id,
        "data that only another provider or model can read left out",
    )
    return replace(part, provider=kept)


NO_SIGNATURE: Final = "skip_thought_signature_validator"
"""What Google documents for calls that another model made, for the Gemini API and Vertex alike
(https://ai.google.dev/gemini-api/docs/thought-signatures#faqs,
https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures)."""

NO_REASONING: Final = " "
"""Stands for reasoning that was never there. A space: some hosts take an empty text for a missing one
(https://github.com/Wei-Shaw/sub2api/pull/7313)."""

_SERVER_CALL: Final = re.compile(r"server_tool_use|mcp_tool_use")


def sound_parts(
    message: Message,
    target: Target,
    *,
    sent: frozenset[str] | None,
    stored: bool,
    notes: Notes,
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
        kept.append(
            _without_item_id(sound, message, notes) if bare and target.item_ids else sound
        )
    if waiting and target.reasoning_last and kept:
        kept += waiting
    else:
        _orphans(waiting, message, notes)
    return _filled(message, kept, target, notes)


def _without_reasoning(
    message: Message, target: Target, notes: Notes
) -> tuple[Part, ...]:
    kept: list[Part] = []
    for part in message.parts:
        if isinstance(part, ReasoningPart | ToolCallPart):
            notes.add(
                "misplaced",
                message.id,
                part.id,
                "only an answer of the model may hold this: left out",
            )
            continue
        sound = sound_part(part, message.id, target, notes)
        if sound is not None:
            kept.append(sound)
    return tuple(kept)


def _is_sendable(
    part: ReasoningPart, message: Message, target: Target, *, stored: bool, notes: Notes
) -> bool:
    if not is_native(part.provider, target):
        notes.add(
            "foreign_reasoning",
            message.id,
            part.id,
            "reasoning of another model left out",
        )
        return False
    fields = fields_of(part.provider)
    if fields is None or not is_clean(part.text):
        notes.add(
            "partial_reasoning",
            message.id,
            part.id,
            "reasoning that can't be sent unchanged left out",
        )
        return False
    signed = text_field(fields, "signature") or text_field(fields, "data")
    sealed = text_field(fields, "encrypted_content") or (
        stored and text_field(fields, "id")
    )
    named = (
        bool(fields) or not target.named_reasoning
    )  # Chat has many fields for it: one that names none goes nowhere
    if (
        not named
        or (target.signed_thinking and not signed)
        or (target.sealed_reasoning and not sealed)
    ):
        notes.add(
            "partial_reasoning", message.id, part.id, "unfinished reasoning left out"
        )
        return False
    return True


def _orphans(waiting: Sequence[ReasoningPart], message: Message, notes: Notes) -> None:
    for part in waiting:
        notes.add(
            "orphan_reasoning",
            message.id,
            part.id,
            "reasoning with nothing after it left out",
        )


def _without_item_id(part: Part, message: Message, notes: Notes) -> Part:
    """An item that names itself must come with its reasoning; without the name it may come alone."""
    if not isinstance(part, TextPart | ToolCallPart):
        return part
    fields = fields_of(part.provider)
    if part.provider is None or not fields or "id" not in fields:
        return part
    rest = {name: raw for name, raw in fields.items() if name != "id"}
    notes.add(
        "orphan_reasoning", message.id, part.id, "item id left out with its reasoning"
    )
    data = (
        replace(part.provider, data=msgspec.Raw(msgspec.json.encode(rest)))
        if rest
        else None
    )
    return replace(part, provider=data)


def _cut_server_calls(message: Message, notes: Notes) -> frozenset[str]:
    """Ids of parts: calls of server tools whose result never came, as an interrupted answer may hold them."""
    items = list(message.of_type(ProviderItem)) if message.interrupted is not None else []
    answered = {text_field(fields_of(item.provider), "tool_use_id") for item in items}
    cut = [
        item.id
        for item in items
        if _SERVER_CALL.fullmatch(item.kind)
        and text_field(fields_of(item.provider), "id") not in answered
    ]
    for name in cut:
        notes.add(
            "missing_result",
            message.id,
            name,
            "a server tool's call without its result left out",
        )
    return frozenset(cut)


def _filled(
    message: Message, parts: list[Part], target: Target, notes: Notes
) -> tuple[Part, ...]:
    """The parts with what the target asks for and another model did not give."""
    if all(
        isinstance(part, ReasoningPart | ToolResultPart) for part in parts
    ):  # results go to their calls
        _orphans(
            [part for part in parts if isinstance(part, ReasoningPart)], message, notes
        )
        return tuple(part for part in parts if isinstance(part, ToolResultPart))
    if target.every_reasoning and not any(_is_reasoning_content(part) for part in parts):
        notes.add(
            "stand_in_reasoning",
            message.id,
            "",
            "a blank stands for reasoning that the model never gave",
        )
        data = _tagged(target, {"reasoning_content": NO_REASONING})
        parts = [
            ReasoningPart(id=f"{message.id}.reasoning", text=NO_REASONING, provider=data),
            *parts,
        ]
    if target.signed_calls:
        at = next(
            (index for index, part in enumerate(parts) if isinstance(part, ToolCallPart)),
            None,
        )
        if at is not None:
            parts[at] = _signed(parts[at], message, target, notes)
    return tuple(parts)


def _is_reasoning_content(part: Part) -> bool:
    return isinstance(part, ReasoningPart) and "reasoning_content" in (
        fields_of(part.provider) or ()
    )


def _signed(part: Part, message: Message, target: Target, notes: Notes) -> Part:
    fields = fields_of(part.provider if isinstance(part, ToolCallPart) else None) or {}
    if not isinstance(part, ToolCallPart) or any(
        text_field(fields, name) for name in ("thoughtSignature", "thought_signature")
    ):
        return part
    notes.add(
        "stand_in_signature",
        message.id,
        part.id,
        "the documented stand-in for a signature",
    )
    return replace(
        part, provider=_tagged(target, {**fields, "thoughtSignature": NO_SIGNATURE})
    )


def _tagged(target: Target, fields: Mapping[str, object]) -> ProviderData:
    data = msgspec.Raw(msgspec.json.encode(fields))
    return ProviderData(
        data=data, provider=target.provider, wire=target.wire, model=target.model
    )
