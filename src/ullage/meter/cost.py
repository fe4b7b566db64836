"""What each part is estimated to cost, in the units of the model's family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from ullage.meter.growth import Added, AnswerTokens, MediaCost, thought_tokens
from ullage.reasoning import Maker
from ullage.tokens.content import argument_tokens, result_tokens, text_tokens
from ullage.tokens.families import Family
from ullage.tokens.text import TextCounter

SUMMARY = "Summary"
TOOL_RESULTS = "Tool results"
ROLE_ROWS = {"user": "You", "assistant": "Assistant", "system": "System notes", "tool": TOOL_RESULTS}
ORIGIN_ROWS = {"summary": SUMMARY, "injected": "Reminders"}


class PartCost(NamedTuple):
    """One part's share of a message's cost, and the row of the breakdown it belongs to."""

    id: str
    row: str
    name: str
    tokens: float


class MessageCost(NamedTuple):
    """A message as input: ``tokens`` with its framing and without reasoning, which is accounted by its own rules."""

    tokens: float
    reasoning: float
    """Estimate of its reasoning, were it sent back."""
    added: Added
    answer: AnswerTokens | None
    """What it is made of, if the model wrote it."""
    parts: tuple[PartCost, ...]
    carries: bool = False
    """Whether it holds reasoning, shown or opaque, also where that rides on another part (Gemini's signatures)."""
    maker: Maker | None = None
    """Who made that reasoning; ``None`` where it does not say."""


class _Once:
    """A counter that counts each text once, for as long as one message is looked at."""

    def __init__(self, counter: TextCounter) -> None:
        self.counter = counter
        self.name = counter.name
        self.seen: dict[str, float] = {}

    def count(self, text: str, vocabulary: str) -> float:
        known = self.seen.get(text)
        if known is None:
            known = self.seen[text] = self.counter.count(text, vocabulary)
        return known


def message_cost(
    message: Message, family: Family, counter: TextCounter, *, tool_names: Mapping[str, str], media: MediaCost
) -> MessageCost:
    """What one message costs, as a whole and by part. Counts each of its texts once; never raises."""
    once = _Once(counter)
    added = Added.of(message, family, once, tool_names=tool_names, media=media)
    answer = AnswerTokens.of(message.parts, family, once) if message.role == "assistant" else None
    row = ORIGIN_ROWS.get(message.origin) or ROLE_ROWS[message.role]
    parts = tuple(
        _part_cost(part, row, family, once, tool_names=tool_names, media=media)
        for part in message.parts
        if not isinstance(part, ReasoningPart)
    )
    reasoning = thought_tokens(answer, family) if answer is not None else 0.0
    carrying = [part for part in message.parts if _carries_reasoning(part)] if answer is not None else []
    return MessageCost(added.tokens(family), reasoning, added, answer, parts, bool(carrying), _maker(carrying))


def _maker(carrying: Sequence[Part]) -> Maker | None:
    """Who made the reasoning that these parts carry. An answer is one model's, so that one of them can tell."""
    for part in carrying:
        data = None if isinstance(part, UnknownPart) else part.provider
        if data is not None:
            return Maker(data.wire, data.provider, data.model)
    return None


def _carries_reasoning(part: Part) -> bool:
    if isinstance(part, ReasoningPart):
        return True
    if isinstance(part, ToolCallPart) and part.opaque_size:
        return True
    return (
        isinstance(part, ToolCallPart | TextPart)
        and part.provider is not None
        and b"ignature" in bytes(part.provider.data)
    )


def _part_cost(
    part: Part,
    row: str,
    family: Family,
    counter: TextCounter,
    *,
    tool_names: Mapping[str, str],
    media: MediaCost,
) -> PartCost:
    match part:
        case ToolCallPart():
            counted = argument_tokens(part.arguments, family, counter)
            wrapping = family.answering.call + family.answering.parameter * counted.parameters
            named = text_tokens(part.name, family, counter)
            return PartCost(part.id, "Tool calls", part.name, counted.tokens + named + wrapping)
        case ToolResultPart():
            name = part.name or tool_names.get(part.call_id, "")
            shown = sum(media(inner, True) for inner in part.content if isinstance(inner, ImagePart | FilePart))
            tokens = result_tokens(part.text, family, counter) + shown + family.framing.result
            return PartCost(part.id, TOOL_RESULTS, name or "unknown tool", tokens)
        case ImagePart():
            return PartCost(part.id, "Media", "images", media(part, False))
        case FilePart():
            inline = text_tokens(part.text, family, counter)
            return PartCost(part.id, "Media", "files", media(part, False) + inline)
        case UnknownPart():
            return PartCost(part.id, row, "", text_tokens(bytes(part.raw).decode("utf-8", "replace"), family, counter))
        case _:
            return PartCost(part.id, row, "", text_tokens(part.text, family, counter))
