"""The items of the next request, fitted to the rows of its reading: those of a row sum to it."""

from __future__ import annotations

from math import ceil
from typing import Final

from msgspec.structs import replace

from ullage.advice.following import ItemFollower
from ullage.advice.held import (
    TOOLS,
    TokenInterval,
    fixed_item,
    part_item,
    text_interval,
)
from ullage.advice.lives import ItemLife
from ullage.meter.opening import OpeningWidths
from ullage.meter.reading import Reading, Row
from ullage.meter.rows import apportion
from ullage.meter.shares import (
    DEFERRED,
    ONCE,
    REASONING,
    REASONING_DOUBT,
    widths_of,
)

MESSAGES: Final = "Messages"
BATCH: Final = "what tools cost together"
UNATTRIBUTED: Final = "Unattributed"


class _Categories:
    """Items by the row that they belong to, each with its share of it."""

    def __init__(self) -> None:
        self.items: dict[str, list[ItemLife]] = {}
        self.weights: dict[str, list[float]] = {}

    def add(self, item: ItemLife, weight: float) -> None:
        """One more item."""
        category = item.category
        self.items.setdefault(category, []).append(item)
        self.weights.setdefault(category, []).append(weight)


def items_now(follower: ItemFollower, reading: Reading) -> list[ItemLife]:
    """The items of the next request, whose reading this is."""
    widths = widths_of(follower.fold)
    known = _categories_of(follower, widths)
    rows: list[Row] = []
    for row in reading.rows:
        if row.name != MESSAGES:
            rows.append(row)
            continue
        rows.extend(row.children)
        inside = sum(child.tokens for child in row.children)
        rest = row.tokens - inside
        if rest:
            rows.append(_row(UNATTRIBUTED, rest))
    fitted: list[ItemLife] = []
    seen = {REASONING}
    for row in rows:
        category = row.name.split(" (")[0]
        seen.add(category)
        fitted += _row_items(row, category, known, widths)
    for category, items in known.items.items():
        if category not in seen:
            fitted += _without_cost(items)
    return fitted


def _categories_of(
    follower: ItemFollower,
    widths: OpeningWidths,
) -> _Categories:
    found = _Categories()
    for fixed in (*follower.system, *follower.tools):
        item = fixed_item(fixed, widths)
        found.add(item, fixed.tokens)
    for parts in follower.parts.values():
        for held in parts.values():
            item = part_item(
                held,
                0,
                follower.tool_calls,
                widths,
            )
            found.add(item, held.cost.tokens)
    thoughts = follower.fold.reasoning.tokens
    for message_id, tokens in thoughts.items():
        firsts = [follower.next_call]
        parts = follower.parts.get(message_id, {})
        for held in parts.values():
            firsts.append(held.first_call)
        item = ItemLife(
            part=f"{message_id}.reasoning",
            message=message_id,
            category=REASONING,
            label=REASONING,
            tokens=0,
            low=0,
            high=0,
            first_call=min(firsts),
        )
        found.add(item, tokens)
    return found


def _row_items(
    row: Row,
    category: str,
    known: _Categories,
    widths: OpeningWidths,
) -> list[ItemLife]:
    items = known.items.get(category)
    if items is None:
        return [_whole_row(row, category)]
    if category in (TOOLS, DEFERRED):
        return _tool_items(row, items)
    weights = known.weights[category]
    granted = apportion(row.tokens, weights)
    fitted: list[ItemLife] = []
    for item, tokens in zip(items, granted, strict=True):
        size = _interval(category, tokens, widths)
        low, high = size.low, size.high
        if row.high is not None:
            high = max(tokens, min(high, row.high))
        if len(items) == 1 and row.low is not None:
            low = row.low
        is_sent = tokens > 0 or category != REASONING
        if is_sent:
            fitted.append(
                replace(
                    item,
                    tokens=tokens,
                    low=low,
                    high=high,
                )
            )
    return fitted


def _interval(
    category: str,
    tokens: int,
    widths: OpeningWidths,
) -> TokenInterval:
    if category != REASONING:
        return text_interval(category, tokens, widths)
    doubt = ceil(REASONING_DOUBT * tokens)
    return TokenInterval(
        tokens,
        tokens - doubt,
        tokens + doubt,
    )


def _tool_items(row: Row, items: list[ItemLife]) -> list[ItemLife]:
    """The declared tools by their rows, and what the batch costs beside them."""
    leaves: dict[str, Row] = {}
    for child in row.children:
        for leaf in child.children or (child,):
            leaves[leaf.id] = leaf
    fitted: list[ItemLife] = []
    rest = row.tokens
    for item in items:
        leaf = leaves.pop(item.part, row)
        if leaf is row:
            fitted += _without_cost([item])
            continue
        rest -= leaf.tokens
        found = _whole_row(leaf, item.category)
        fitted.append(
            replace(
                item,
                tokens=leaf.tokens,
                low=found.low,
                high=found.high,
            )
        )
    if rest:
        batch = _row(ONCE, rest)
        batch = replace(batch, summed=row.summed)
        category = items[0].category
        fitted.append(
            replace(
                _whole_row(batch, category),
                part=ONCE,
                label=BATCH,
            )
        )
    return fitted


def _without_cost(items: list[ItemLife]) -> list[ItemLife]:
    found: list[ItemLife] = []
    for item in items:
        found.append(
            replace(
                item,
                tokens=0,
                low=0,
                high=0,
            )
        )
    return found


def _row(name: str, tokens: int) -> Row:
    return Row(
        name=name,
        tokens=tokens,
        source="by_difference",
    )


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
