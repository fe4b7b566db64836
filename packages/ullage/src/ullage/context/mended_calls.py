"""A history whose calls have one result each, directly behind them: providers refuse any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ullage.codec.repair_calls import PairedCall, pair_calls, unknown_result
from ullage.messages import Message, ProviderItem, ToolResultPart

REFERENCE: Final = "item_reference"
"""The kind of an item that stands for one that the provider holds, which may be a call."""


def mended(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with each call answered: a result that says that it was lost, and none without its call.

    A result that came late goes behind its call. The very same tuple where all is in order; messages that need no
    change are the same objects, and the same history gives the same ids and texts every time.
    """
    calls = pair_calls(messages)
    stays = _results_in_place(messages, calls)
    if _are_in_order(messages, calls, stays):
        return messages
    keeps_extra = any(map(_is_reference, messages))
    claimed = {id(call.result) for group in calls.values() for call in group}
    made: list[Message] = []
    missing: list[ToolResultPart] = []
    asked = ""
    for at, message in enumerate(messages):
        if message.role != "tool" and missing:
            _add_results(made, asked, missing)
            missing = []
        if at in calls:
            asked = message.id
            missing = _missing(message, calls[at], stays)
        parts = []
        for part in message.parts:
            is_extra = id(part) not in claimed
            is_left = is_extra and keeps_extra
            if not _is_result(part, message) or id(part) in stays or is_left:
                parts.append(part)
        if len(parts) == len(message.parts):
            made.append(message)
        elif parts:
            made.append(replace(message, parts=tuple(parts)))
    if missing:
        _add_results(made, asked, missing)
    return tuple(made)


def _results_in_place(
    messages: Sequence[Message], calls: dict[int, list[PairedCall]]
) -> set[int]:
    """Identities of the results that are directly behind their calls."""
    found: set[int] = set()
    for at, group in calls.items():
        wanted = {id(call.result) for call in group if call.result is not None}
        found |= wanted & {id(part) for part in messages[at].parts}  # of a server's tool
        behind = at + 1
        while behind < len(messages) and messages[behind].role == "tool":
            found |= wanted & {id(part) for part in messages[behind].parts}
            behind += 1
    return found


def _are_in_order(
    messages: Sequence[Message], calls: dict[int, list[PairedCall]], stays: set[int]
) -> bool:
    for group in calls.values():
        if any(id(call.result) not in stays for call in group):
            return False
    for message in messages:
        for part in message.parts:
            if _is_result(part, message) and id(part) not in stays:
                return False
    return True


def _missing(
    message: Message, group: Sequence[PairedCall], stays: set[int]
) -> list[ToolResultPart]:
    """Results that have to be put behind this message."""
    found: list[ToolResultPart] = []
    for call in group:
        if call.result is None:
            found.append(unknown_result(call.part, message))
        elif id(call.result) not in stays:
            found.append(call.result)
    return found


def _add_results(made: list[Message], asked: str, results: list[ToolResultPart]) -> None:
    """Put these results behind the message that asked for them, with those that are there already."""
    last = made[-1]
    if last.role == "tool":
        made[-1] = replace(last, parts=(*last.parts, *results))
    else:
        made.append(Message(id=f"{asked}.results", role="tool", parts=tuple(results)))


def _is_result(part: object, message: Message) -> bool:
    return isinstance(part, ToolResultPart) and message.role != "assistant"


def _is_reference(message: Message) -> bool:
    kinds = {part.kind for part in message.parts if isinstance(part, ProviderItem)}
    return REFERENCE in kinds
