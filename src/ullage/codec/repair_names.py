"""Ids of calls and names of tools that the wire takes: legal ones as they are, the same others always mapped alike.

A mapped name is a digest of the old one, so that two different ones never meet, and a name means the same in every
request of a session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.codec.repair_content import cleaned
from ullage.codec.repair_notes import Notes
from ullage.codec.rules import Legal, Target
from ullage.messages import Message, Part, Tool, ToolCallPart, ToolResultPart

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_TAIL: Final = 8  # characters of a digest behind a name: 62^8, one clash in 10^7 among 10,000 different names


def digest(length: int, *pieces: str) -> str:
    """Letters and digits that stand for these pieces."""
    state = blake2b(digest_size=32)
    for piece in pieces:
        data = piece.encode("utf-8", "surrogatepass")
        state.update(b"%d:" % len(data))
        state.update(data)
    number = int.from_bytes(state.digest(), "big")
    out: list[str] = []
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        out.append(_DIGITS[digit])
    return "".join(out)


def legal_id(call_id: str, occurrence: int, legal: Legal) -> str:
    """The id on the wire of the call that is the ``occurrence``-th one with this id, counted from 1."""
    if occurrence == 1 and legal.allows(call_id):
        return call_id
    if legal.longest < 24:
        return digest(legal.longest, call_id, str(occurrence))
    return f"call_{digest(24, call_id, str(occurrence))}"


def legal_name(name: str, legal: Legal) -> str:
    """A tool's name on the wire: its legal characters, so that the model still reads it, and a digest."""
    if legal.allows(name):
        return name
    readable = _ILLEGAL.sub("_", name)[: legal.longest - _TAIL - 2].strip("_") or "tool"
    if readable[0].isdigit() or readable[0] == "-":
        readable = f"t{readable}"
    return f"{readable[: legal.longest - _TAIL - 1]}_{digest(_TAIL, name)}"


def legal_tools(tools: Iterable[Tool], target: Target, notes: Notes) -> tuple[tuple[Tool, ...], dict[str, str]]:
    """The declarations as they can be sent, and for each changed name the one it stands for."""
    kept: list[Tool] = []
    own: dict[str, str] = {}
    seen: set[str] = set()
    for tool in tools:
        if tool.kind != "function":
            kept.append(tool)
            continue
        sound = _sound_tool(tool, target, notes)
        if sound.name in seen:
            notes.add("tool", "", tool.name, "a second declaration of the same tool left out")
            continue
        seen.add(sound.name)
        if sound.name != tool.name:
            own[sound.name] = tool.name
        kept.append(sound)
    return tuple(kept), own


def _sound_tool(tool: Tool, target: Target, notes: Notes) -> Tool:
    name = legal_name(tool.name, target.tool_names)
    description, schema = cleaned(tool.description), _sound_schema(tool.schema)
    if name == tool.name and description is tool.description and schema is tool.schema:
        return tool
    what = f"sent as {name!r}" if name != tool.name else "description or schema made legal"
    notes.add("tool_name" if name != tool.name else "tool", "", cleaned(tool.name), what)
    return replace(tool, name=name, description=description, schema=schema)


_schemas: Final = msgspec.json.Decoder(dict[str, object])
NO_ARGUMENTS: Final = msgspec.Raw(b'{"type":"object","properties":{}}')


def _sound_schema(schema: msgspec.Raw) -> msgspec.Raw:
    """The schema itself where it is a JSON object that describes one; the schema of no arguments where it is not."""
    try:
        fields = _schemas.decode(schema)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return NO_ARGUMENTS
    if not fields:
        return NO_ARGUMENTS
    if "type" in fields or any(key in fields for key in ("$ref", "anyOf", "oneOf", "allOf")):
        return schema
    return msgspec.Raw(msgspec.json.encode({"type": "object", **fields}))


class LegalMessages:
    """Makes the ids and names of a paired history legal, which may come in pieces.

    The results after an answer belong to its calls, in order.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._counts: dict[str, int] = {}
        self._answers: list[ToolCallPart] = []  # calls, as sent, whose results come next

    def add(self, messages: Sequence[Message], notes: Notes) -> list[Message]:
        """The next messages, with legal ids and names."""
        made: list[Message] = []
        for message in messages:
            if message.role == "assistant":
                renamed = tuple(_call(part, self._counts, message, self._target, notes) for part in message.parts)
                self._answers = [part for part in renamed if isinstance(part, ToolCallPart)]
            elif message.role == "tool":
                renamed = tuple(_result(part, self._answers) for part in message.parts)
            else:
                renamed = message.parts
            same = all(a is b for a, b in zip(renamed, message.parts, strict=True))
            made.append(message if same else replace(message, parts=renamed))
        return made


def _call(part: Part, counts: dict[str, int], message: Message, target: Target, notes: Notes) -> Part:
    if not isinstance(part, ToolCallPart):
        return part
    name = legal_name(part.name, target.tool_names)
    if name != part.name:
        notes.add("tool_name", message.id, part.id, f"sent as {name!r}")
    call_id = part.call_id
    if call_id or not target.empty_ids:
        counted = call_id or f"\0{part.name}"
        counts[counted] = occurrence = counts.get(counted, 0) + 1
        call_id = (
            legal_id(call_id, occurrence, target.call_ids)
            if call_id
            else legal_id(counted, occurrence, target.call_ids)
        )
        if call_id != part.call_id:
            notes.add("call_id", message.id, part.id, f"sent as {call_id!r}")
    if call_id == part.call_id and name == part.name:
        return part
    return replace(part, call_id=call_id, name=name)


def _result(part: Part, answers: list[ToolCallPart]) -> Part:
    if not isinstance(part, ToolResultPart) or not answers:
        return part
    call = answers.pop(0)
    name = call.name if part.name or not call.call_id else ""  # without an id the name is what pairs them
    if part.call_id == call.call_id and part.name == name:
        return part
    return replace(part, call_id=call.call_id, name=name)


def own_name(name: str, own: Mapping[str, str]) -> str:
    """The name a tool has with us, from the one the model was given."""
    return own.get(name, name)
