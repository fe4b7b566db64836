"""Calls and their results: each call has exactly one, in call order, right after the answer that made it.

Results are matched in the order of the history, so that what is sent for a prefix whose calls are answered in it stays
the same when the history grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ullage.codec.repair_notes import Notes
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart

NO_RESULT: Final = "[No result was recorded for this call. Whether it ran is unknown.]"
NOT_RUN: Final = "[No result was recorded for this call: the answer was interrupted. Whether it ran is unknown.]"


class _Call:
    """A call on its way to a result."""

    __slots__ = ("at", "part", "result")

    def __init__(self, at: int, part: ToolCallPart) -> None:
        self.at = at
        self.part = part
        self.result: ToolResultPart | None = None


def paired(messages: Sequence[Message], notes: Notes) -> list[Message]:
    """The messages with every call answered in its place. Messages that are in order are returned as they are."""
    calls = _matched(messages, notes)
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
            made.append(_gathered(message, calls[at], messages, notes))
    return made


def _matched(messages: Sequence[Message], notes: Notes) -> dict[int, list[_Call]]:
    """Calls by the index of their answer, each with its result if it has one."""
    calls: dict[int, list[_Call]] = {}
    waiting: dict[str, list[_Call]] = {}
    early: dict[str, int] = {}  # results since the last answer that found no call, by their number in ``extra``
    claims: list[tuple[_Call, int | None]] = []
    extra: dict[int, tuple[str, ToolResultPart]] = {}
    results = 0
    for at, message in enumerate(messages):
        made = [part for part in message.parts if isinstance(part, ToolCallPart)] if message.role == "assistant" else []
        if made:
            calls[at] = [_Call(at, part) for part in made]
            for call in calls[at]:
                waiting.setdefault(_call_key(call.part), []).append(call)
                claims.append((call, early.get(_call_key(call.part))))
        if message.role == "assistant":
            early = {}
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                results += 1
                if not _answer(part, waiting):
                    early.setdefault(_result_key(part), results)
                    extra[results] = (message.id, part)
    for call, number in claims:
        if call.result is None and number in extra:
            call.result = extra.pop(number)[1]
    for message_id, part in extra.values():
        notes.add("extra_result", message_id, part.id, f"a result that no call waits for left out: {part.call_id!r}")
    return calls


def _call_key(part: ToolCallPart) -> str:
    """What a result names its call by; Gemini's calls may have a name only."""
    return part.call_id or f"\0{part.name}"


def _result_key(part: ToolResultPart) -> str:
    return part.call_id or f"\0{part.name}"


def _answer(part: ToolResultPart, waiting: dict[str, list[_Call]]) -> bool:
    """Give the result to the first call that waits for it in the newest answer that has one."""
    for key in (part.call_id, f"\0{part.call_id}", f"\0{part.name}"):
        open_calls = waiting.get(key)
        if open_calls:
            newest = open_calls[-1].at
            index = next(index for index, call in enumerate(open_calls) if call.at == newest)
            open_calls.pop(index).result = part
            return True
        if part.call_id and key == part.call_id and part.call_id in waiting:
            return False
    return False


def _group_in_place(messages: Sequence[Message], at: int, calls: Sequence[_Call]) -> list[int]:
    """Indexes of the tool messages after an answer, where they hold just its results in call order; else empty."""
    wanted = [call.result for call in calls]
    group: list[int] = []
    index = at + 1
    while wanted:
        if index >= len(messages) or messages[index].role != "tool" or not messages[index].parts:
            return []
        parts = messages[index].parts
        if len(parts) > len(wanted) or any(a is not b for a, b in zip(parts, wanted, strict=False)):
            return []
        del wanted[: len(parts)]
        group.append(index)
        index += 1
    return group


def _gathered(message: Message, calls: Sequence[_Call], messages: Sequence[Message], notes: Notes) -> Message:
    """One tool message with a result for each call: the recorded one, or one that says what is known."""
    results: list[ToolResultPart] = []
    for call in calls:
        if call.result is not None:
            results.append(call.result)
            continue
        notes.add("missing_result", message.id, call.part.id, "a result that says what is known")
        results.append(_unknown(call.part, message))
    if all(call.result is not None for call in calls):
        notes.add("moved_result", message.id, "", "results moved behind their calls, in call order")
    return Message(id=f"{message.id}.results", role="tool", parts=tuple(results))


def _unknown(call: ToolCallPart, message: Message) -> ToolResultPart:
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
    return replace(message, role="user" if message.role == "tool" else message.role, parts=rest)
