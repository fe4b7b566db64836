"""What is in the window while events are applied, and the item that it is."""

from __future__ import annotations

from math import ceil, hypot
from typing import Final, NamedTuple

from ullage.advice.lives import ItemLife
from ullage.advice.tool_calls import CallFacts, ResultFacts
from ullage.messages import (
    Part,
    SystemBlock,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.cost import PartCost
from ullage.meter.opening import MEDIA, OpeningWidths
from ullage.meter.shares import (
    DEFERRED,
    LEAST_TEXT,
    SYSTEM_ROWS,
)
from ullage.meter.view import Entry

TOOLS: Final = "Tools"
MEDIA_ROW: Final = "Media"


class HeldPart(NamedTuple):
    """A part in view."""

    part: Part
    cost: PartCost
    entry: Entry
    first_call: int


class HeldFixed(NamedTuple):
    """A block of the system prompt or a tool's declaration."""

    content: SystemBlock | Tool
    tokens: float
    first_call: int


class TokenInterval(NamedTuple):
    """Tokens, and the interval meant to hold the truth 95 times in 100."""

    tokens: int
    low: int
    high: int


def text_interval(
    category: str,
    tokens: int,
    widths: OpeningWidths,
) -> TokenInterval:
    """Of a single part: by how much a text may be off, and an image beyond that."""
    doubt = widths.text.of(tokens)
    if category == MEDIA_ROW:
        doubt = hypot(doubt, MEDIA * tokens)
    least = ceil(LEAST_TEXT * tokens)
    low = max(least, tokens - ceil(doubt))
    high = tokens + ceil(doubt)
    return TokenInterval(tokens, low, high)


def part_item(
    held: HeldPart,
    tokens: int,
    calls: CallFacts,
    widths: OpeningWidths,
) -> ItemLife:
    """The item of a part in view, at so many tokens."""
    part, cost = held.part, held.cost
    facts = ResultFacts(label=cost.name)
    if isinstance(part, ToolCallPart | ToolResultPart):
        facts = calls.of(part, cost.name)
    size = text_interval(cost.row, tokens, widths)
    return ItemLife(
        part=part.id,
        message=held.entry.id,
        category=cost.row,
        label=facts.label,
        tokens=tokens,
        low=size.low,
        high=size.high,
        first_call=held.first_call,
        tool=facts.tool,
        server=facts.server,
        path=facts.path,
    )


def fixed_item(held: HeldFixed, widths: OpeningWidths) -> ItemLife:
    """The item of a block of the system prompt or of a tool."""
    if isinstance(held.content, Tool):
        return _tool_item(held.content, held, widths)
    return _block_item(held.content, held, widths)


def _tool_item(
    tool: Tool,
    held: HeldFixed,
    widths: OpeningWidths,
) -> ItemLife:
    tokens = round(held.tokens)
    doubt = ceil(widths.tools.of(tokens))
    category = TOOLS
    if tool.deferred:
        category = DEFERRED
    return ItemLife(
        part=tool.name,
        category=category,
        label=tool.name,
        tokens=tokens,
        low=max(0, tokens - doubt),
        high=tokens + doubt,
        first_call=held.first_call,
        tool=tool.name,
        server=tool.server,
        is_summed=not tool.deferred,
    )


def _block_item(
    block: SystemBlock,
    held: HeldFixed,
    widths: OpeningWidths,
) -> ItemLife:
    tokens = round(held.tokens)
    category = SYSTEM_ROWS[block.kind]
    size = text_interval(category, tokens, widths)
    path = ""
    if block.kind == "instructions":
        path = block.name
    return ItemLife(
        part=block.name or block.kind,
        category=category,
        label=block.name or category,
        tokens=tokens,
        low=size.low,
        high=size.high,
        first_call=held.first_call,
        path=path,
    )
