"""Repairs inside one part: text that is no Unicode, arguments that are no JSON, data of another provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from ullage.bounds import json_excess
from ullage.codec.foreign import parse_json, to_raw
from ullage.codec.repair_notes import Notes
from ullage.codec.rules import Target
from ullage.messages import (
    FilePart,
    ImagePart,
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
from ullage.reasoning import is_native, same_house

UNREADABLE_ARGUMENTS: Final = "unreadable_arguments"
"""The one key of the object that stands for arguments that are no JSON object; its value is what the model wrote."""

_Tagged = TypeVar("_Tagged", TextPart, ToolCallPart, ToolResultPart)

_BOUND: Final = frozenset({"id", "thoughtSignature", "thought_signature", "signature", "encrypted_content"})
"""Fields that only the host that made them can read."""

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
    return [clean_json(item) for item in value] if isinstance(value, list | tuple) else value


def fields_of(data: ProviderData | None) -> dict[str, msgspec.Raw] | None:
    """The fields of opaque data; ``None`` where it is no JSON object that a strict reader takes."""
    if data is None:
        return None
    try:
        fields = _raw_object.decode(data.data)
        if b"\\u" in bytes(data.data):
            _object.decode(data.data)  # an escaped lone surrogate is refused only when its text is read
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
            return _media(part, message, target, notes)
        case ProviderItem():
            return _item(part, message, target, notes)
        case UnknownPart():
            notes.add("unknown_part", message, part.id, "left out: a part of a newer version")
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
    arguments = cleaned(part.arguments) if is_free_text(part) else sound_arguments(part.arguments)
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


def _result(part: ToolResultPart, message: str, target: Target, notes: Notes) -> ToolResultPart:
    part = _own_data(part, message, target, notes)
    content = tuple(
        sound for one in part.content if (sound := _result_content(one, message, target, notes)) is not None
    )
    if len(content) != len(part.content) or any(a is not b for a, b in zip(content, part.content, strict=True)):
        part = replace(part, content=content)
    return part


def _result_content(one: ResultContent, message: str, target: Target, notes: Notes) -> ResultContent | None:
    match one:
        case TextPart():
            return _text(one, message, target, notes)
        case ImagePart() | FilePart():
            return _media(one, message, target, notes)
        case ProviderItem() if not is_native(one.provider, target) and one.text:
            notes.add("foreign_data", message, one.id, "another provider's item sent as its text")
            return TextPart(id=one.id, text=cleaned(one.text), revision=one.revision)
        case ProviderItem():
            return _item(one, message, target, notes)
        case UnknownPart():
            notes.add("unknown_part", message, one.id, "left out: a part of a newer version")
            return None


def _media(part: ImagePart | FilePart, message: str, target: Target, notes: Notes) -> ImagePart | FilePart:
    if isinstance(part, FilePart) and not (is_clean(part.text) and is_clean(part.name)):
        notes.add("text", message, part.id, "text made valid Unicode")
        part = replace(part, text=cleaned(part.text), name=cleaned(part.name))
    if part.provider is not None and fields_of(part.provider) is None:
        notes.add("foreign_data", message, part.id, "data that no strict reader takes left out")
        part = replace(part, provider=None)
    return part


def _item(part: ProviderItem, message: str, target: Target, notes: Notes) -> ProviderItem | None:
    if part.provider is not None and same_house(part.provider, target) and fields_of(part.provider) is not None:
        return part
    notes.add("foreign_data", message, part.id, "an item that only another provider knows left out")
    return None


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
        rest = {name: raw for name, raw in fields.items() if name not in _BOUND}
        if len(rest) == len(fields):
            return part
        kept = replace(data, data=msgspec.Raw(msgspec.json.encode(rest))) if rest else None
    notes.add("foreign_data", message, part.id, "data that only another provider or model can read left out")
    return replace(part, provider=kept)
