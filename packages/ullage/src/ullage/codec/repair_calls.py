"""Calls and their results: each call has exactly one, right after its answer, under ids and names the wire takes.

Results are matched in the order of the history, so that what is sent for a prefix whose calls are answered in it stays
the same when the history grows. A legal id or name is sent as it is. Any other is replaced by a digest of it, so that
two different ones never meet, and a name means the same in every request of a session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.bounds import UNREADABLE
from ullage.codec.repair_parts import Notes, are_same
from ullage.codec.rules import Legal, Target
from ullage.messages import (
    Message,
    Part,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)

NO_RESULT: Final = "[No result was recorded for this call. Whether it ran is unknown.]"
NOT_RUN: Final = "[No result was recorded for this call: the answer was interrupted. Whether it ran is unknown.]"


class PairedCall:
    """A call at the index ``at`` of a history, and its result if it has one."""

    __slots__ = ("at", "part", "result")

    def __init__(self, at: int, part: ToolCallPart) -> None:
        self.at = at
        self.part = part
        self.result: ToolResultPart | None = None


class Pairing:
    """Pairs calls and results of a history that comes in pieces. What is in order is returned as it is."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[PairedCall]] = {}
        self._early: dict[
            str, int
        ] = {}  # results since the last answer that found no call, by their number
        self._extra: dict[
            int, tuple[str, ToolResultPart]
        ] = {}  # results that no call waits for, by their number
        self._results = 0
        self._seen = 0

    def add(
        self, messages: Sequence[Message], extra: Notes, moved: Notes
    ) -> list[Message] | None:
        """The next messages, paired; ``None`` where they alter what was made of earlier ones, by a late result.

        ``extra`` gets the notes on results that no call waits for, ``moved`` those on all else. After ``None``
        nothing may be added.
        """
        calls = self._matched(messages, extra)
        if calls is None:
            return None
        self._seen += len(messages)
        made: list[Message] = []
        handled: set[int] = set()  # tool messages that were taken over with their answer
        for at, message in enumerate(messages):
            if at in handled:
                continue
            if at not in calls:
                rest = _without_results(message)
                if rest is not None:
                    made.append(rest)
                continue
            made.append(_without_results(message) or message)
            group = _group_in_place(messages, at, calls[at])
            if group:
                handled.update(group)
                made += [messages[index] for index in group]
            else:
                made.append(_gathered(message, calls[at], moved))
        return made

    def _matched(
        self, messages: Sequence[Message], notes: Notes
    ) -> dict[int, list[PairedCall]] | None:
        """Calls by the index of their answer, each with its result if it has one."""
        calls: dict[int, list[PairedCall]] = {}
        claims: list[tuple[PairedCall, int | None]] = []
        before = self._results
        for at, message in enumerate(messages):
            if message.role == "assistant":
                made = [
                    PairedCall(self._seen + at, part)
                    for part in message.parts
                    if isinstance(part, ToolCallPart)
                ]
                for call in made:
                    self._waiting.setdefault(_pairing_key(call.part), []).append(call)
                    claims.append((call, self._early.get(_pairing_key(call.part))))
                if made:
                    calls[at] = made
                self._early = {}
            for part in message.parts:
                if isinstance(part, ToolResultPart):
                    self._results += 1
                    answered = _answer(part, self._waiting)
                    if answered is None:
                        self._early.setdefault(_pairing_key(part), self._results)
                        self._extra[self._results] = (message.id, part)
                    elif answered.at < self._seen:
                        return None
        for call, number in claims:
            if call.result is None and number in self._extra:
                if number <= before:
                    return None
                call.result = self._extra.pop(number)[1]
        for number, (message_id, part) in self._extra.items():
            if number > before:
                what = f"a result that no call waits for left out: {part.call_id!r}"
                notes.add("extra_result", message_id, part.id, what)
        return calls


def pair_calls(messages: Sequence[Message]) -> dict[int, list[PairedCall]]:
    """The calls of a whole history, each with its result if it has one, by the index of their message."""
    found = Pairing()._matched(messages, Notes())
    return {} if found is None else found


def _pairing_key(part: ToolCallPart | ToolResultPart) -> str:
    """What a result names its call by; Gemini's calls may have a name only."""
    return part.call_id or f"\0{part.name}"


def _answer(
    part: ToolResultPart, waiting: dict[str, list[PairedCall]]
) -> PairedCall | None:
    """Give the result to the first call that waits for it in the newest answer that has one, and name that call."""
    for key in (part.call_id, f"\0{part.call_id}", f"\0{part.name}"):
        open_calls = waiting.get(key)
        if open_calls:
            newest = open_calls[-1].at
            index = next(
                index for index, call in enumerate(open_calls) if call.at == newest
            )
            call = open_calls.pop(index)
            call.result = part
            return call
        if part.call_id and key == part.call_id and part.call_id in waiting:
            return None
    return None


def _group_in_place(
    messages: Sequence[Message], at: int, calls: Sequence[PairedCall]
) -> list[int]:
    """Indexes of the tool messages after an answer, where they hold just its results in call order; else empty."""
    wanted = [call.result for call in calls]
    group: list[int] = []
    index = at + 1
    while wanted:
        if (
            index >= len(messages)
            or messages[index].role != "tool"
            or not messages[index].parts
        ):
            return []
        parts = messages[index].parts
        if len(parts) > len(wanted) or any(
            a is not b for a, b in zip(parts, wanted, strict=False)
        ):
            return []
        del wanted[: len(parts)]
        group.append(index)
        index += 1
    return group


def _gathered(
    message: Message,
    calls: Sequence[PairedCall],
    notes: Notes,
) -> Message:
    """One tool message with a result for each call: the recorded one, or one that says what is known."""
    results: list[ToolResultPart] = []
    for call in calls:
        if call.result is not None:
            results.append(call.result)
            continue
        notes.add(
            "missing_result", message.id, call.part.id, "a result that says what is known"
        )
        results.append(unknown_result(call.part, message))
    if all(call.result is not None for call in calls):
        notes.add(
            "moved_result",
            message.id,
            "",
            "results moved behind their calls, in call order",
        )
    return Message(id=f"{message.id}.results", role="tool", parts=tuple(results))


def unknown_result(call: ToolCallPart, message: Message) -> ToolResultPart:
    """A result that says what is known of a call in this message that has none."""
    text = NO_RESULT if message.interrupted is None else NOT_RUN
    return ToolResultPart(
        id=f"{call.id}.result",
        call_id=call.call_id,
        name=call.name,
        content=(TextPart(id=f"{call.id}.result.text", text=text),),
        is_error=True,
    )


def _without_results(message: Message) -> Message | None:
    """What of a message stays in its place when its results have gone to their calls; ``None`` where nothing does."""
    if not any(isinstance(part, ToolResultPart) for part in message.parts):
        return message if message.role != "tool" else replace(message, role="user")
    rest = tuple(part for part in message.parts if not isinstance(part, ToolResultPart))
    if not rest:
        return None
    return replace(
        message, role="user" if message.role == "tool" else message.role, parts=rest
    )


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


def legal_tools(
    tools: Iterable[Tool], target: Target, notes: Notes
) -> tuple[tuple[Tool, ...], dict[str, str]]:
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
            notes.add(
                "tool", "", tool.name, "a second declaration of the same tool left out"
            )
            continue
        seen.add(sound.name)
        if sound.name != tool.name:
            own[sound.name] = tool.name
        kept.append(sound)
    return tuple(kept), own


def _sound_tool(tool: Tool, target: Target, notes: Notes) -> Tool:
    name = legal_name(tool.name, target.tool_names)
    description, schema = clean_text(tool.description).text, _sound_schema(tool.schema)
    if name == tool.name and description is tool.description and schema is tool.schema:
        return tool
    what = (
        f"sent as {name!r}" if name != tool.name else "description or schema made legal"
    )
    notes.add(
        "tool_name" if name != tool.name else "tool", "", clean_text(tool.name).text, what
    )
    return replace(tool, name=name, description=description, schema=schema)


_schemas: Final = msgspec.json.Decoder(dict[str, object])
NO_ARGUMENTS: Final = msgspec.Raw(b'{"type":"object","properties":{}}')


def _sound_schema(schema: msgspec.Raw) -> msgspec.Raw:
    """The schema itself where it is a JSON object that describes one; the schema of no arguments where it is not."""
    try:
        fields = _schemas.decode(schema)
    except UNREADABLE:
        return NO_ARGUMENTS
    if not fields:
        return NO_ARGUMENTS
    if "type" in fields or any(
        key in fields for key in ("$ref", "anyOf", "oneOf", "allOf")
    ):
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
                renamed = tuple(
                    _call(part, self._counts, message, self._target, notes)
                    for part in message.parts
                )
                self._answers = [
                    part for part in renamed if isinstance(part, ToolCallPart)
                ]
            elif message.role == "tool":
                renamed = tuple(_result(part, self._answers) for part in message.parts)
            else:
                renamed = message.parts
            is_same = are_same(renamed, message.parts)
            made.append(message if is_same else replace(message, parts=renamed))
        return made


def _call(
    part: Part, counts: dict[str, int], message: Message, target: Target, notes: Notes
) -> Part:
    if not isinstance(part, ToolCallPart):
        return part
    name = legal_name(part.name, target.tool_names)
    if name != part.name:
        notes.add("tool_name", message.id, part.id, f"sent as {name!r}")
    call_id = part.call_id
    if call_id or not target.empty_ids:
        counted = call_id or f"\0{part.name}"
        counts[counted] = occurrence = counts.get(counted, 0) + 1
        call_id = legal_id(counted, occurrence, target.call_ids)
        if call_id != part.call_id:
            notes.add("call_id", message.id, part.id, f"sent as {call_id!r}")
    if call_id == part.call_id and name == part.name:
        return part
    return replace(part, call_id=call_id, name=name)


def _result(part: Part, answers: list[ToolCallPart]) -> Part:
    if not isinstance(part, ToolResultPart) or not answers:
        return part
    call = answers.pop(0)
    name = (
        call.name if part.name or not call.call_id else ""
    )  # without an id the name is what pairs them
    if part.call_id == call.call_id and part.name == name:
        return part
    return replace(part, call_id=call.call_id, name=name)
