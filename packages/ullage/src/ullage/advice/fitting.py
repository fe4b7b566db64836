"""The items of the next request, fitted to the rows of its reading: those of a row sum to it."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ullage.advice.following import ItemFollower
from ullage.advice.held import TOOLS, HeldItem, sized
from ullage.advice.lives import ItemLife
from ullage.meter.opening import OpeningWidths
from ullage.meter.reading import Reading, Row
from ullage.meter.rows import apportion
from ullage.meter.shares import DEFERRED, FOR_ALL_TOOLS, REASONING, widths_of

MESSAGES: Final = "Messages"
UNATTRIBUTED: Final = "Unattributed"


def items_now(follower: ItemFollower, reading: Reading) -> list[ItemLife]:
    """The items of the next request, whose reading this is."""
    widths = widths_of(follower.fold)
    known: dict[str, list[HeldItem]] = {}
    for held in (*follower.held, *_thoughts(follower)):
        known.setdefault(held.item.category, []).append(held)
    rows: list[Row] = []
    for row in reading.rows:
        if row.name != MESSAGES:
            rows.append(row)
            continue
        rows.extend(row.children)
        rest = row.tokens - sum(child.tokens for child in row.children)
        if rest:
            rows.append(Row(name=UNATTRIBUTED, tokens=rest, source="by_difference"))
    fitted: list[ItemLife] = []
    for row in rows:
        category = row.name.split(" (")[0]
        inside = known.pop(category, [])
        if not inside:
            fitted.append(_whole_row(row, category))
        elif category in (TOOLS, DEFERRED):
            fitted += _tool_items(row, inside, widths)
        else:
            fitted += _shared(row, inside, widths)
    for category, others in known.items():
        if category != REASONING:
            fitted += [sized(held.item, 0, widths) for held in others]
    return fitted


def _thoughts(follower: ItemFollower) -> list[HeldItem]:
    """The reasoning of each message, which has a row of its own."""
    found: list[HeldItem] = []
    for message_id, tokens in follower.fold.reasoning.tokens.items():
        firsts = [follower.next_call]
        for held in follower.parts.get(message_id, {}).values():
            firsts.append(held.item.first_call)
        item = ItemLife(
            part=f"{message_id}.reasoning",
            message=message_id,
            category=REASONING,
            label=REASONING,
            first_call=min(firsts),
        )
        found.append(HeldItem(None, item, tokens))
    return found


def _shared(row: Row, inside: list[HeldItem], widths: OpeningWidths) -> list[ItemLife]:
    """The row in proportion to what its items weigh."""
    fitted: list[ItemLife] = []
    shares = apportion(row.tokens, [held.weight for held in inside])
    for held, tokens in zip(inside, shares, strict=True):
        if not tokens and held.item.category == REASONING:
            continue  # reasoning that is not sent back
        item = sized(held.item, tokens, widths)
        if row.high is not None:
            item = replace(item, high=max(tokens, min(item.high, row.high)))
        if row.low is not None and len(inside) == 1:
            item = replace(item, low=row.low)
        fitted.append(item)
    return fitted


def _tool_items(
    row: Row, inside: list[HeldItem], widths: OpeningWidths
) -> list[ItemLife]:
    """The declared tools by their rows, and what the batch costs beside them."""
    leaves: dict[str, Row] = {}
    for child in row.children:
        for leaf in child.children or (child,):
            leaves[leaf.id] = leaf
    fitted: list[ItemLife] = []
    rest = row.tokens
    for held in inside:
        item = sized(held.item, 0, widths)
        own = leaves.pop(item.part, None)
        if own is not None:
            rest -= own.tokens
            size = _whole_row(own, item.category)
            item = replace(item, tokens=size.tokens, low=size.low, high=size.high)
        fitted.append(item)
    if rest:
        batch = Row(
            name=FOR_ALL_TOOLS, tokens=rest, source="by_difference", summed=row.summed
        )
        item = _whole_row(batch, inside[0].item.category)
        fitted.append(replace(item, part=FOR_ALL_TOOLS))
    return fitted


def _whole_row(row: Row, category: str) -> ItemLife:
    """A row that is one item: what no event shows, or shows as a whole."""
    low, high = row.low, row.high
    if low is None or high is None:
        low = high = row.tokens
    return ItemLife(
        part=category,
        category=category,
        label=row.name,
        tokens=row.tokens,
        low=low,
        high=high,
        first_call=1,
        is_summed=row.summed,
    )
