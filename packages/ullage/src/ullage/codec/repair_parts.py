"""Repairs inside one message: text that is no Unicode, arguments that are no JSON, data of another model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast

import msgspec
from msgspec.structs import replace

from ullage.bounds import json_excess
from ullage.codec.blocks import BOUND, UNREADABLE_ARGUMENTS, drop
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
    SystemBlock,
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


_Tagged = TypeVar(
    "_Tagged", TextPart, ToolCallPart, ToolResultPart, ImagePart, FilePart, SystemBlock
)
_Text = TypeVar("_Text", TextPart, SystemBlock)

_raw_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_object: Final = msgspec.json.Decoder(dict[str, object])
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)

NO_SIGNATURE: Final = "skip_thought_signature_validator"
"""What Google documents for calls that another model made, for the Gemini API and Vertex alike
(https://ai.google.dev/gemini-api/docs/thought-signatures#faqs,
https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures)."""

NO_REASONING: Final = " "
"""Stands for reasoning that was never there. A space: some hosts take an empty text for a missing one
(https://github.com/Wei-Shaw/sub2api/pull/7313)."""

CLEANED: Final = "text made valid Unicode"

_SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")


def clean_json(value: Any) -> Any:
    """A JSON value with all its texts valid Unicode."""
    if isinstance(value, str):
        return clean_text(value).text
    if isinstance(value, Mapping):
        return {clean_text(key).text: clean_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return value


def fields_of(data: ProviderData | None) -> dict[str, msgspec.Raw] | None:
    """The fields of opaque data; ``None`` where it is no JSON object that a strict reader takes."""
    if data is None:
        return None
    try:
        fields = _raw_object.decode(data.data)
        if b"\\u" in bytes(data.data):
            # An escaped lone surrogate is refused only when its text is read.
            _object.decode(data.data)
    except _UNREADABLE:
        return None
    return fields


def text_field(fields: dict[str, msgspec.Raw] | None, name: str) -> str:
    """A field's text; empty where it is missing or no text."""
    if not fields or name not in fields:
        return ""
    try:
        value = msgspec.json.decode(fields[name])
    except _UNREADABLE:
        return ""
    return value if isinstance(value, str) else ""


def sound_arguments(written: str) -> str:
    """The arguments as a JSON object in text: as written where they are one, otherwise a stand-in that holds them."""
    try:
        if json_excess(written):
            raise msgspec.DecodeError("beyond the limits")
        _object.decode(written)
    except _UNREADABLE:
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


def are_same(ones: Sequence[object], others: Sequence[object]) -> bool:
    """Whether these are the very same objects in the same order."""
    return len(ones) == len(others) and all(map(is_, ones, others))


def sound_message(
    message: Message,
    target: Target,
    *,
    sent: frozenset[str] | None,
    stored: bool,
    notes: Notes,
) -> Message | None:
    """A message as it can be sent, judged by itself; itself where it is in order, ``None`` where nothing is left.

    ``sent`` names the reasoning that the application lets through, ``None`` is all. ``stored`` says that the provider
    keeps its answers, so that a reasoning item may be named without its content.
    """
    repair = MessageRepair(message.id, target, notes)
    if message.role == "assistant":
        parts = repair.answer(message, sent, stored=stored)
    else:
        parts = repair.others(message)
    if not parts:
        notes.add("empty", message.id, "", "a message with nothing to send left out")
        return None
    return message if are_same(parts, message.parts) else replace(message, parts=parts)


class MessageRepair:
    """Repairs the parts of one message for a target."""

    def __init__(self, message: str, target: Target, notes: Notes) -> None:
        self._message = message
        self._target = target
        self._notes = notes

    def answer(
        self, message: Message, sent: frozenset[str] | None, *, stored: bool
    ) -> tuple[Part, ...]:
        """The parts of an answer that can be sent, each as it can be sent, in their order."""
        target = self._target
        cut = self._cut_server_calls(message)
        kept: list[Part] = []
        waiting: list[ReasoningPart] = []  # reasoning whose follower has not come yet
        bare = False  # reasoning before this was left out: what follows may not name it
        for part in message.parts:
            if isinstance(part, ReasoningPart):
                is_wanted = sent is None or part.id in sent
                bare = not (is_wanted and self._is_sendable(part, stored=stored))
                if not bare:
                    waiting.append(part)
                continue
            sound = None if part.id in cut else self.part(part)
            if sound is None:
                if target.item_ids and waiting:
                    self._orphans(waiting)
                    waiting, bare = [], True
                continue
            if isinstance(sound, ToolResultPart):
                kept.append(sound)  # it goes to its call and follows nothing here
                continue
            kept += waiting
            waiting = []
            if bare and target.item_ids:
                sound = self._without_item_id(sound)
            kept.append(sound)
        if waiting and target.reasoning_last and kept:
            kept += waiting
        else:
            self._orphans(waiting)
        return self._filled(message, kept)

    def others(self, message: Message) -> tuple[Part, ...]:
        """The parts of a message that is no answer."""
        kept: list[Part] = []
        for part in message.parts:
            if isinstance(part, ReasoningPart | ToolCallPart):
                what = "only an answer of the model may hold this: left out"
                self._note("misplaced", part.id, what)
            elif (sound := self.part(part)) is not None:
                kept.append(sound)
        return tuple(kept)

    def part(self, part: Part, *, is_in_result: bool = False) -> Part | None:
        """The part as it can be sent; ``None`` where nothing of it can. Reasoning is judged elsewhere."""
        match part:
            case TextPart():
                return self._text(part)
            case ToolCallPart():
                return self._call(part)
            case ToolResultPart():
                part = self._owned(part)
                inner = [self.part(one, is_in_result=True) for one in part.content]
                content = cast("tuple[ResultContent, ...]", tuple(filter(None, inner)))
                is_same = are_same(content, part.content)
                return part if is_same else replace(part, content=content)
            case ImagePart():
                return self._owned(part)
            case FilePart():
                part = self._owned(part)
                text, name = clean_text(part.text).text, clean_text(part.name).text
                if (text, name) == (part.text, part.name):
                    return part
                self._note("text", part.id, CLEANED)
                return replace(part, text=text, name=name)
            case ProviderItem():
                return self._item(part, is_in_result=is_in_result)
            case UnknownPart():
                what = "left out: a part of a newer version"
                self._note("unknown_part", part.id, what)
                return None
            case ReasoningPart():
                return part

    def system(self, block: SystemBlock) -> SystemBlock:
        """A block of the system prompt as it can be sent."""
        return self._cleaned(self._owned(block), "system")

    def _note(self, kind: RepairKind, part: str, what: str) -> None:
        self._notes.add(kind, self._message, part, what)

    def _cleaned(self, part: _Text, name: str) -> _Text:
        text = clean_text(part.text).text
        if text is part.text:
            return part
        self._note("text", name, CLEANED)
        return replace(part, text=text)

    def _text(self, part: TextPart) -> TextPart | None:
        part = self._cleaned(self._owned(part), part.id)
        if part.text and (self._target.blank_text or not part.text.isspace()):
            return part
        if not part.text and part.provider is not None and self._target.signed_text:
            return part  # an empty text may carry the answer's signature
        self._note("empty", part.id, "empty text left out")
        return None

    def _call(self, part: ToolCallPart) -> ToolCallPart:
        part = self._owned(part)
        kind = text_field(fields_of(part.provider), "type")
        if kind in ("custom", "custom_tool_call"):  # OpenAI's: its input is plain text
            arguments = clean_text(part.arguments).text
        else:
            arguments = sound_arguments(part.arguments)
        if arguments == part.arguments:
            return part
        self._note("arguments", part.id, "arguments that are no JSON object replaced")
        return replace(part, arguments=arguments)

    def _item(self, part: ProviderItem, *, is_in_result: bool) -> Part | None:
        """An item as it is where its host gets it back; else the text that stands for it, if there is one."""
        data, target = part.provider, self._target
        is_known = data is not None and same_house(data, target)
        is_known = is_known and fields_of(data) is not None
        is_read = is_known and data is not None
        if part.kind == COMPACTION and is_read and data is not None and data.model:
            # Nobody says that another model can read it.
            is_read = bare_model(data.model) == bare_model(target.model)
        if is_in_result:
            is_read = is_known and is_native(data, target)
        has_text = bool(part.text) and (is_in_result or part.kind == COMPACTION)
        if is_known and (is_read or not has_text):
            return part
        if not has_text:
            what = "an item that only another provider knows left out"
            self._note("foreign_data", part.id, what)
            return None
        self._note("foreign_data", part.id, "another model's item sent as its text")
        text = clean_text(part.text).text
        return TextPart(id=part.id, text=text, revision=part.revision)

    def _owned(self, part: _Tagged) -> _Tagged:
        """The part with what of its opaque data the target can read: all, what is not bound to a model, or none."""
        data, target = part.provider, self._target
        if data is None:
            return part
        fields = fields_of(data)
        if fields is not None and is_native(data, target):
            return part
        kept: dict[str, msgspec.Raw] = {}
        if fields and same_house(data, target):
            kept = drop(fields, *BOUND)
            if len(kept) == len(fields):
                return part
        what = "data that only another provider or model can read left out"
        self._note("foreign_data", getattr(part, "id", "system"), what)
        return replace(part, provider=_with_fields(data, kept))

    def _is_sendable(self, part: ReasoningPart, *, stored: bool) -> bool:
        target = self._target
        if not is_native(part.provider, target):
            what = "reasoning of another model left out"
            self._note("foreign_reasoning", part.id, what)
            return False
        fields = fields_of(part.provider)
        if fields is None or clean_text(part.text).text is not part.text:
            what = "reasoning that can't be sent unchanged left out"
            self._note("partial_reasoning", part.id, what)
            return False
        is_signed = text_field(fields, "signature") or text_field(fields, "data")
        is_stored = stored and bool(text_field(fields, "id"))
        is_sealed = is_stored or bool(text_field(fields, "encrypted_content"))
        if (
            # Chat has many fields for it: one that names none goes nowhere.
            (target.named_reasoning and not fields)
            or (target.signed_thinking and not is_signed)
            or (target.sealed_reasoning and not is_sealed)
        ):
            self._note("partial_reasoning", part.id, "unfinished reasoning left out")
            return False
        return True

    def _orphans(self, waiting: Iterable[ReasoningPart]) -> None:
        for part in waiting:
            what = "reasoning with nothing after it left out"
            self._note("orphan_reasoning", part.id, what)

    def _without_item_id(self, part: Part) -> Part:
        """An item that names itself must come with its reasoning; without the name it may come alone."""
        if not isinstance(part, TextPart | ToolCallPart) or part.provider is None:
            return part
        fields = fields_of(part.provider) or {}
        if "id" not in fields:
            return part
        what = "item id left out with its reasoning"
        self._note("orphan_reasoning", part.id, what)
        return replace(part, provider=_with_fields(part.provider, drop(fields, "id")))

    def _cut_server_calls(self, message: Message) -> set[str]:
        """Ids of parts: calls of server tools whose result never came, as an interrupted answer may hold them."""
        if message.interrupted is None:
            return set()
        items: dict[str, dict[str, msgspec.Raw] | None] = {}
        calls: list[str] = []
        for item in message.of_type(ProviderItem):
            items[item.id] = fields_of(item.provider)
            if item.kind in _SERVER_CALLS:
                calls.append(item.id)
        answered = {text_field(fields, "tool_use_id") for fields in items.values()}
        cut = {name for name in calls if text_field(items[name], "id") not in answered}
        for name in calls:
            if name in cut:
                what = "a server tool's call without its result left out"
                self._note("missing_result", name, what)
        return cut

    def _filled(self, message: Message, parts: list[Part]) -> tuple[Part, ...]:
        """The parts with what the target asks for and another model did not give."""
        target = self._target
        results = [part for part in parts if isinstance(part, ToolResultPart)]
        thoughts = [part for part in parts if isinstance(part, ReasoningPart)]
        if len(results) + len(thoughts) == len(parts):  # results go to their calls
            self._orphans(thoughts)
            return tuple(results)
        if target.every_reasoning and not any(map(_is_reasoning_content, thoughts)):
            what = "a blank stands for reasoning that the model never gave"
            self._note("stand_in_reasoning", "", what)
            data = self._tagged({"reasoning_content": NO_REASONING})
            name = f"{message.id}.reasoning"
            parts.insert(0, ReasoningPart(id=name, text=NO_REASONING, provider=data))
        if target.signed_calls:
            for at, part in enumerate(parts):
                if isinstance(part, ToolCallPart):
                    parts[at] = self._signed(part)
                    break
        return tuple(parts)

    def _signed(self, part: ToolCallPart) -> ToolCallPart:
        fields = fields_of(part.provider) or {}
        for name in ("thoughtSignature", "thought_signature"):
            if text_field(fields, name):
                return part
        what = "the documented stand-in for a signature"
        self._note("stand_in_signature", part.id, what)
        data = self._tagged({**fields, "thoughtSignature": NO_SIGNATURE})
        return replace(part, provider=data)

    def _tagged(self, fields: Mapping[str, object]) -> ProviderData:
        target = self._target
        return ProviderData(
            data=msgspec.Raw(msgspec.json.encode(fields)),
            provider=target.provider,
            wire=target.wire,
            model=target.model,
        )


def _with_fields(
    data: ProviderData, fields: Mapping[str, msgspec.Raw]
) -> ProviderData | None:
    if not fields:
        return None
    return replace(data, data=msgspec.Raw(msgspec.json.encode(fields)))


def _is_reasoning_content(part: ReasoningPart) -> bool:
    return "reasoning_content" in (fields_of(part.provider) or ())
