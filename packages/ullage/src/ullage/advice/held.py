"""What is in the window while events are applied, and the item that it is."""

from __future__ import annotations

from math import ceil, hypot
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.advice.lives import ItemLife
from ullage.advice.policy import SMALL_PICTURE
from ullage.advice.tool_calls import CallFacts, ResultFacts
from ullage.messages import (
    ImagePart,
    Part,
    SystemBlock,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.cost import MediaCost, PartCost
from ullage.meter.opening import OpeningWidths
from ullage.meter.policy import MEDIA_DOUBT, REASONING_DOUBT
from ullage.meter.shares import DEFERRED, REASONING, SYSTEM_ROWS
from ullage.tokens.policy import RATIO_RANGE

TOOLS: Final = "Tools"
MEDIA_ROW: Final = "Media"


class HeldItem(NamedTuple):
    """A part of a message, a block of the system prompt or a tool's declaration, and its item, not yet sized."""

    content: Part | SystemBlock | Tool | None
    item: ItemLife
    weight: float


def sized(item: ItemLife, tokens: int, widths: OpeningWidths) -> ItemLife:
    """The item at so many tokens, with the interval meant to hold the truth 95 times in 100."""
    least = 0
    if item.category in (TOOLS, DEFERRED):
        doubt = widths.tools.of(tokens)
    elif item.category == REASONING:
        doubt = REASONING_DOUBT * tokens
    else:
        doubt = widths.text.of(tokens)
        least = ceil(RATIO_RANGE[0] * tokens)
        if item.category == MEDIA_ROW:
            doubt = hypot(doubt, MEDIA_DOUBT * tokens)
    low = max(least, tokens - ceil(doubt))
    return replace(item, tokens=tokens, low=low, high=tokens + ceil(doubt))


def oversize(result: ToolResultPart, tokens: float, media: MediaCost) -> float:
    """The share of a result that its pictures have beyond a small one.

    A picture of a whole page is as high as the page, whatever the window: it is left as it is.
    """
    beyond = 0.0
    for part in result.content:
        if isinstance(part, ImagePart) and (part.width or 0) > (part.height or 0) > 0:
            small = media(replace(part, **SMALL_PICTURE), True)
            beyond += max(0.0, media(part, True) - small)
    return beyond / max(1.0, beyond, tokens)


def held_part(
    part: Part,
    cost: PartCost,
    message: str,
    first_call: int,
    calls: CallFacts,
    media: MediaCost,
) -> HeldItem:
    """A part in view."""
    facts = ResultFacts(label=cost.name)
    if isinstance(part, ToolCallPart | ToolResultPart):
        facts = calls.of(part, cost.name)
    item = ItemLife(
        part=part.id,
        message=message,
        category=cost.row,
        label=facts.label,
        first_call=first_call,
        tool=facts.tool,
        server=facts.server,
        path=facts.path,
    )
    if isinstance(part, ToolResultPart) and facts.server:
        item = replace(item, oversize=oversize(part, cost.tokens, media))
    return HeldItem(part, item, cost.tokens)


def held_fixed(content: SystemBlock | Tool, tokens: float, first_call: int) -> HeldItem:
    """A block of the system prompt or a tool."""
    if isinstance(content, Tool):
        item = ItemLife(
            part=content.name,
            category=DEFERRED if content.deferred else TOOLS,
            label=content.name,
            first_call=first_call,
            tool=content.name,
            server=content.server,
            is_summed=not content.deferred,
        )
    else:
        category = SYSTEM_ROWS[content.kind]
        item = ItemLife(
            part=content.name or content.kind,
            category=category,
            label=content.name or category,
            first_call=first_call,
            path=content.name if content.kind == "instructions" else "",
        )
    return HeldItem(content, item, tokens)
