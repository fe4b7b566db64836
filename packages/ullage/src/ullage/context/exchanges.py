"""The order of a history's messages in a request, and their exchanges: where a history may be cut.

An exchange is an answer with the results of its calls, or a single other message; a system message behind either
belongs to it. A history is never cut inside one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ullage.messages import Message, ReasoningPart, ToolCallPart, ToolResultPart


class HistoryExchange(NamedTuple):
    """Messages that stay or leave together. ``open`` holds the ids of its calls that have no result."""

    messages: tuple[Message, ...]
    open: frozenset[str] = frozenset()

    @property
    def ids(self) -> tuple[str, ...]:
        """The messages' ids, in order."""
        return tuple(message.id for message in self.messages)


class _Group:
    """An exchange under construction."""

    __slots__ = ("messages", "open")

    def __init__(self, message: Message) -> None:
        self.messages = [message]
        self.open: list[str] = []


def exchanges(messages: Iterable[Message]) -> tuple[HistoryExchange, ...]:
    """The history as exchanges, in order; every message is in exactly one.

    A result belongs to the newest answer that still waits for it; all messages between the two join them. A message of
    reasoning alone belongs to the answer after it, which some wires reject without it.
    """
    groups: list[_Group] = []
    for message in messages:
        home = _home(groups, message)
        if home is None:
            groups.append(_Group(message))
        else:
            for later in groups[home + 1 :]:
                groups[home].messages += later.messages
                groups[home].open += later.open
            del groups[home + 1 :]
            groups[home].messages.append(message)
        if message.role == "assistant":
            for part in message.of_type(ToolCallPart):
                # Gemini's calls may have no id; their results name them by the tool.
                groups[-1].open.append(part.call_id or part.name)
    return tuple(
        HistoryExchange(tuple(group.messages), frozenset(group.open)) for group in groups
    )


def _home(groups: Sequence[_Group], message: Message) -> int | None:
    """Index of the group that a message joins; ``None`` if it begins a new one."""
    if not groups:
        return None
    results = [part.call_id for part in message.of_type(ToolResultPart)]
    last = groups[-1].messages[-1]
    if message.role == "system":
        first = groups[-1].messages[0]
        if last.role == "assistant" or first.role == "system":
            return None
        return len(groups) - 1
    if not results:
        waits = message.role == last.role == "assistant" and _is_reasoning_alone(last)
        return len(groups) - 1 if waits else None
    home: int | None = None
    for call_id in results:
        for index in range(len(groups) - 1, -1, -1):
            if call_id in groups[index].open:
                groups[index].open.remove(call_id)
                home = index if home is None else min(home, index)
                break
    if home is None and groups[-1].messages[-1].role in ("assistant", "tool"):
        return len(groups) - 1
    return home


def _is_reasoning_alone(message: Message) -> bool:
    return bool(message.parts) and all(
        isinstance(part, ReasoningPart) for part in message.parts
    )


def is_request(message: Message) -> bool:
    """Whether a message is a person's message to the model, not a result, a summary or a notice of the program."""
    return (
        message.role == "user"
        and message.origin == "said"
        and any(not isinstance(part, ToolResultPart) for part in message.parts)
    )


def latest_request(messages: Sequence[Message]) -> Message | None:
    """The newest message of a person; ``None`` without one."""
    return next((message for message in reversed(messages) if is_request(message)), None)


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
            calls = {
                part.call_id: place
                for place, part in enumerate(message.of_type(ToolCallPart))
            }
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
        messages[start:] = [
            message
            for _, message in sorted(
                zip(places, tail, strict=True), key=lambda pair: pair[0]
            )
        ]


def _place(message: Message, calls: dict[str, int]) -> int:
    """The position of a message after an answer; messages other than results come last."""
    if message.role != "tool":
        return len(calls)
    return min(
        (calls.get(part.call_id, len(calls)) for part in message.of_type(ToolResultPart)),
        default=len(calls),
    )
