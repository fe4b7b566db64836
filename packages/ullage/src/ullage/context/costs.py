"""What each message in view costs, in the reading's own units, and what the reading would be after an event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import NamedTuple, TypeVar, cast

from ullage.context.policy import FRAME_BYTES, MOST_CORRECTED
from ullage.events import Event
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderData,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from ullage.meter.anchor import Forecast
from ullage.meter.fold import Fold

T = TypeVar("T")

BASE64 = 4 / 3
"""Bytes on the wire per byte of an image or file."""


class Sizes(NamedTuple):
    """Tokens by message id, what every request carries beside the messages, and the reading they sum to."""

    each: Mapping[str, float]
    fixed: float
    used: int
    high: int

    def of(self, ids: Iterable[str]) -> float:
        """Tokens of these messages; ids that are not in view cost nothing."""
        return sum(self.each.get(message_id, 0.0) for message_id in ids)

    @property
    def messages(self) -> float:
        """Tokens of all messages."""
        return sum(self.each.values())

    @property
    def sure(self) -> float:
        """The reading as a share of its upper end: the share of a limit that a plan may use."""
        return self.used / max(1, self.high)


def sizes_of(fold: Fold) -> Sizes:
    """Tokens in the window by message. Goes through the view once.

    The sum is the reading: tokens that no message explains are in ``fixed``. For plans only; ``after`` gives the
    reading of a plan.
    """
    forecast = fold.forecast()
    in_view = fold.reasoning
    share = 0.0
    if in_view.all > 0:
        earlier = fold.earlier_reasoning(with_last=True) - forecast.cleared.reasoning
        share = min(1.0, max(0.0, earlier) / in_view.all)
    cleared = float(forecast.cleared.content)
    # The learnt correction of growth applies equally to all messages since the last reported usage.
    grown = (
        forecast.new / fold.since.tokens
        if fold.anchor is not None and fold.since.tokens > 0
        else 1.0
    )
    grown = min(MOST_CORRECTED, max(1.0, grown))
    # A count of a first request says by how much its estimate was off, in messages as in the rest.
    opening = min(MOST_CORRECTED, forecast.tokens / max(1, fold.estimate().tokens))
    each: dict[str, float] = {}
    for entry in fold.view:
        name = entry.message.id
        if fold.anchor is None:
            # Nothing was reported yet: the reading counts whole requests, not growth.
            tokens = entry.facts.opening * opening
        else:
            tokens = entry.cost.tokens * (
                fold.scale_of(entry) if fold.is_anchored(entry) else grown
            )
        if cleared and entry.cost.added.results:
            # The provider clears the oldest results first.
            taken = min(cleared, tokens)
            cleared -= taken
            tokens -= taken
        each[name] = max(0.0, tokens + share * in_view.tokens.get(name, 0.0))
    fixed = max(0.0, forecast.tokens - sum(each.values()))
    return Sizes(each, fixed, forecast.tokens, forecast.proven_high)


def after(fold: Fold, events: Iterable[Event]) -> Fold:
    """A branch of the fold after these events; the given fold does not change.

    A plan is counted by carrying it out on a branch, so the promised number is the next reading.
    """
    branch = _copied(fold)
    for event in events:
        branch.apply(event)
    return branch


def reading_after(fold: Fold, events: Iterable[Event]) -> Forecast:
    """The next request's tokens after these events."""
    return after(fold, events).forecast()


def _copied(value: T) -> T:
    """A copy of mutable values, as deep as a fold's own collections; frozen values are shared."""
    if isinstance(value, dict):
        return cast(
            T,
            {
                key: dict(inner) if isinstance(inner, dict) else inner
                for key, inner in value.items()
            },
        )
    if isinstance(value, list):
        return cast(T, list(value))
    if isinstance(value, set):
        return cast(T, set(value))
    if is_dataclass(value) and not isinstance(value, type) and not _is_frozen(value):
        copy = object.__new__(type(value))
        for field in fields(value):
            object.__setattr__(copy, field.name, _copied(getattr(value, field.name)))
        return copy
    return value


def _is_frozen(value: object) -> bool:
    parameters = getattr(type(value), "__dataclass_params__", None)
    return bool(parameters is not None and parameters.frozen)


def size_bytes(message: Message) -> int:
    """Bytes of a message on the wire, by its parts: texts as UTF-8, images and files as base64."""
    return sum(_part_bytes(part) for part in message.parts)


def _part_bytes(part: Part) -> int:
    match part:
        case ToolResultPart():
            return FRAME_BYTES + sum(_part_bytes(inner) for inner in part.content)
        case ToolCallPart():
            return FRAME_BYTES + _length(part.arguments) + _attached(part.provider)
        case ImagePart():
            return FRAME_BYTES + round(BASE64 * (part.size_bytes or 0))
        case FilePart():
            return FRAME_BYTES + (
                _length(part.text) or round(BASE64 * (part.size_bytes or 0))
            )
        case UnknownPart():
            return FRAME_BYTES + len(bytes(part.raw))
        case _:
            return FRAME_BYTES + _length(part.text) + _attached(part.provider)


def _length(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _attached(data: ProviderData | None) -> int:
    return len(bytes(data.data)) if data is not None else 0


def count_images(message: Message) -> int:
    """How many images and files a message has, those in tool results too: providers count them together."""
    count = 0
    for part in message.parts:
        held = part.content if isinstance(part, ToolResultPart) else (part,)
        count += sum(isinstance(one, ImagePart | FilePart) for one in held)
    return count
