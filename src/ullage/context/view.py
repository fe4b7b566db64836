"""The messages of the next request, as they go out."""

from __future__ import annotations

from collections.abc import Iterable

from ullage.messages import Message, ToolCallPart, ToolResultPart


def in_view(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages in order, the results of each answer in the order of its calls.

    Results are recorded in the order in which their tools end; a request needs them in the order of the calls. Messages
    between results move behind them.
    """
    ordered: list[Message] = []
    calls: dict[str, int] = {}
    start = 0
    for message in messages:
        ordered.append(message)
        if message.role == "assistant":
            _arrange(ordered, start, calls)
            calls = {part.call_id: place for place, part in enumerate(message.of_type(ToolCallPart))}
            start = len(ordered)
    _arrange(ordered, start, calls)
    return tuple(ordered)


def _arrange(messages: list[Message], start: int, calls: dict[str, int]) -> None:
    """Bring ``messages[start:]`` into order: results by their calls, then everything else as it was."""
    if len(messages) - start < 2 or not calls:
        return
    tail = messages[start:]
    places = [_place(message, calls) for message in tail]
    if places != sorted(places):
        messages[start:] = [message for _, message in sorted(zip(places, tail, strict=True), key=lambda pair: pair[0])]


def _place(message: Message, calls: dict[str, int]) -> int:
    """The position of a message after an answer; messages other than results come last."""
    if message.role != "tool":
        return len(calls)
    return min((calls.get(part.call_id, len(calls)) for part in message.of_type(ToolResultPart)), default=len(calls))
