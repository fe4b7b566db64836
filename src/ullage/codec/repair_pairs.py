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


class _PairedCall:
    """A call on its way to a result."""

    __slots__ = ("at", "part", "result")

    def __init__(self, at: int, part: ToolCallPart) -> None:
        self.at = at
        self.part = part
        self.result: ToolResultPart | None = None


class Pairing:
    """Pairs calls and results of a history that comes in pieces. What is in order is returned as it is."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[_PairedCall]] = {}
        self._early: dict[str, int] = {}  # results since the last answer that found no call, by their number
        self._extra: dict[int, tuple[str, ToolResultPart]] = {}  # results that no call waits for, by their number
        self._results = 0
        self._seen = 0

    def add(self, messages: Sequence[Message], extra: Notes, moved: Notes) -> list[Message] | None:
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
                made.append(_gathered(message, calls[at], messages, moved))
        return made

    def _matched(self, messages: Sequence[Message], notes: Notes) -> dict[int, list[_PairedCall]] | None:
        """Calls by the index of their answer, each with its result if it has one."""
        calls: dict[int, list[_PairedCall]] = {}
        claims: list[tuple[_PairedCall, int | None]] = []
        before = self._results
        for at, message in enumerate(messages):
            if message.role == "assistant":
                made = [_PairedCall(self._seen + at, part) for part in message.parts if isinstance(part, ToolCallPart)]
                for call in made:
                    self._waiting.setdefault(_call_key(call.part), []).append(call)
                    claims.append((call, self._early.get(_call_key(call.part))))
                if made:
                    calls[at] = made
                self._early = {}
            for part in message.parts:
                if isinstance(part, ToolResultPart):
                    self._results += 1
                    answered = _answer(part, self._waiting)
                    if answered is None:
                        self._early.setdefault(_result_key(part), self._results)
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


def _call_key(part: ToolCallPart) -> str:
    """What a result names its call by; Gemini's calls may have a name only."""
    return part.call_id or f"\0{part.name}"


def _result_key(part: ToolResultPart) -> str:
    return part.call_id or f"\0{part.name}"


def _answer(part: ToolResultPart, waiting: dict[str, list[_PairedCall]]) -> _PairedCall | None:
    """Give the result to the first call that waits for it in the newest answer that has one, and name that call."""
    for key in (part.call_id, f"\0{part.call_id}", f"\0{part.name}"):
        open_calls = waiting.get(key)
        if open_calls:
            newest = open_calls[-1].at
            index = next(index for index, call in enumerate(open_calls) if call.at == newest)
            call = open_calls.pop(index)
            call.result = part
            return call
        if part.call_id and key == part.call_id and part.call_id in waiting:
            return None
    return None


def _group_in_place(messages: Sequence[Message], at: int, calls: Sequence[_PairedCall]) -> list[int]:
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


def _gathered(message: Message, calls: Sequence[_PairedCall], messages: Sequence[Message], notes: Notes) -> Message:
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
