"""The map of a window for the page: a bounded picture of a history, however long the session is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from ullage.advice.cache_misses import cache_misses
from ullage.advice.history import WindowHistory
from ullage.advice.lives import CallRow, ItemLife
from ullage.advice.savings import SessionCosts
from ullage_server.live_types import MapCall, MapCategory, MapItem, WindowMap

COLUMNS: Final = 240
"""Calls that are shown one by one; of more, neighbours are shown together."""

MOST_ITEMS: Final = 200
"""Items in the window that are shown one by one, and as many that have left it."""

LEAST_SHARE: Final = 0.0001
"""A smaller share of the largest call is no area that can be seen."""

MOST_GROUPS: Final = 48
"""Groups of small items by tool, in the window and as many that have left it; of more there is one for a category."""

MOST_CATEGORIES: Final = 24

OTHERS: Final = "Others"

LONGEST: Final = 160
"""Characters of a label."""

MARKS: Final = ("compaction", "prune", "rewind", "model")


def window_map(history: WindowHistory, leaving: Collection[int] = ()) -> WindowMap:
    """The map of a history's window. ``leaving`` are the places of items that the next compaction takes out."""
    columns = _columns(history)
    names = _category_names(history.items)
    now: list[_Placed] = []
    gone: list[_Placed] = []
    for place, item in enumerate(history.items):
        if item.is_summed and item.tokens > 0:
            placed = _Placed(item, names[item.category], place in leaving)
            (now if item.last_call is None else gone).append(placed)
    most = max([history.used, *(call.tokens for call in columns)])
    made = _Maker(SessionCosts(history), [call.number for call in columns])
    shown: list[MapItem] = []
    for placed_items in (gone, now):
        single, small = _parted(placed_items, LEAST_SHARE * most)
        shown += [made.single(placed) for placed in single]
        shown += made.together(small)
    shown.sort(key=lambda item: (item.count > 1, item.first_call))
    return WindowMap(
        calls=tuple(columns), categories=_categories(now), items=tuple(shown)
    )


def item_key(item: ItemLife) -> str:
    """The key of an item that is shown by itself."""
    return _key(item.message, item.part, item.category, item.first_call)


class _Placed(NamedTuple):
    """An item with the name of the category that it is shown in."""

    item: ItemLife
    category: str
    leaves: bool


# -- calls --


def _columns(history: WindowHistory) -> list[MapCall]:
    """The calls in at most ``COLUMNS`` columns, each with all marks of its calls."""
    calls = history.main_calls
    missed = {miss.row.number for miss in cache_misses(history)}
    size = -(-len(calls) // COLUMNS) or 1
    columns: list[MapCall] = []
    for start in range(0, len(calls), size):
        columns.append(_column(calls[start : start + size], missed))
    return columns


def _column(calls: Sequence[CallRow], missed: Collection[int]) -> MapCall:
    marks: list[str] = []
    cost: float | None = None
    for call in calls:
        marks += [mark for mark in MARKS if mark in call.marks]
        if call.number in missed:
            marks.append("cache")
        if call.usd is not None:
            cost = (cost or 0.0) + call.usd
    largest = max(calls, key=lambda call: call.used)
    return MapCall(
        number=calls[-1].number,
        calls=len(calls),
        at=largest.at,
        model=largest.model[:LONGEST],
        tokens=largest.used,
        cached=largest.cached,
        cost=cost,
        marks=tuple(dict.fromkeys(marks)),
    )


# -- items --


def _category_names(items: Iterable[ItemLife]) -> dict[str, str]:
    """The name that each category is shown by: rare ones beyond ``MOST_CATEGORIES`` have one together."""
    totals: dict[str, int] = {}
    for item in items:
        totals[item.category] = totals.get(item.category, 0) + item.tokens
    largest = sorted(totals, key=lambda name: -totals[name])
    names = {name: name[:LONGEST] for name in largest[:MOST_CATEGORIES]}
    for name in largest[MOST_CATEGORIES:]:
        names[name] = OTHERS
    return names


def _categories(placed: Iterable[_Placed]) -> tuple[MapCategory, ...]:
    tokens: dict[str, int] = {}
    count: dict[str, int] = {}
    for item, name, _ in placed:
        tokens[name] = tokens.get(name, 0) + item.tokens
        count[name] = count.get(name, 0) + 1
    largest = sorted(tokens, key=lambda name: -tokens[name])
    return tuple(
        MapCategory(name=name, tokens=tokens[name], items=count[name]) for name in largest
    )


def _parted(placed: list[_Placed], least: float) -> tuple[list[_Placed], list[_Placed]]:
    """The items that are shown one by one, and the small ones."""
    ranked = sorted(placed, key=lambda each: -each.item.tokens)
    count = 0
    most = min(len(ranked), MOST_ITEMS)
    while count < most and ranked[count].item.tokens >= least:
        count += 1
    return ranked[:count], ranked[count:]


class _Maker:
    """Makes items of the map. ``steps`` are the numbers of the calls that are shown."""

    def __init__(self, costs: SessionCosts, steps: list[int]) -> None:
        self._costs = costs
        self._steps = steps

    def single(self, placed: _Placed) -> MapItem:
        """One item."""
        item = placed.item
        return MapItem(
            key=item_key(item),
            part=item.part[:LONGEST],
            message=item.message[:LONGEST],
            category=placed.category,
            label=item.label[:LONGEST] or placed.category,
            tool=item.tool[:LONGEST],
            tokens=item.tokens,
            low=item.low,
            high=item.high,
            first_call=item.first_call,
            last_call=item.last_call,
            why_left=item.why_left,
            sent=self._costs.so_far(item),
            cost=self._costs.usd_of(item),
            leaves=placed.leaves,
            count=1,
            sizes=(),
        )

    def together(self, small: Iterable[_Placed]) -> list[MapItem]:
        """One item for all small ones of a category, and of a tool where there are not too many."""
        by_tool: dict[tuple[str, str], list[_Placed]] = {}
        for placed in small:
            key = (placed.category, placed.item.tool)
            by_tool.setdefault(key, []).append(placed)
        largest = sorted(by_tool, key=lambda key: -len(by_tool[key]))
        groups: dict[tuple[str, str], list[_Placed]] = {}
        for place, key in enumerate(largest):
            shown = key if place < MOST_GROUPS else (key[0], "")
            groups.setdefault(shown, []).extend(by_tool[key])
        return [self._group(*key, groups[key]) for key in groups]

    def _group(self, name: str, tool: str, placed: list[_Placed]) -> MapItem:
        items = [each.item for each in placed]
        tokens = sum(item.tokens for item in items)
        low = sum(item.low for item in items)
        high = sum(item.high for item in items)
        sizes = _sizes(items, self._steps)
        ends = [item.last_call for item in items if item.last_call is not None]
        if ends:  # they were there at different times: what they had at most
            tokens = low = high = max((size for _, size in sizes), default=0)
        reasons = {item.why_left for item in items}
        label = f"{len(items):,} × {tool}" if tool else f"{len(items):,} others"
        return MapItem(
            key=_key(name, tool, "gone" if ends else "small"),
            part="",
            message="",
            category=name,
            label=label[:LONGEST],
            tool=tool[:LONGEST],
            tokens=tokens,
            low=low,
            high=high,
            first_call=min(item.first_call for item in items),
            last_call=max(ends) if ends else None,
            why_left=reasons.pop() if len(reasons) == 1 else "",
            sent=sum(self._costs.so_far(item) for item in items),
            cost=self._cost(items),
            leaves=all(each.leaves for each in placed),
            count=len(items),
            sizes=sizes,
        )

    def _cost(self, items: Iterable[ItemLife]) -> float | None:
        total: float | None = None
        for item in items:
            usd = self._costs.usd_of(item)
            if usd is not None:
                total = (total or 0.0) + usd
        return total


def _sizes(items: Iterable[ItemLife], steps: list[int]) -> tuple[tuple[int, int], ...]:
    """How many tokens the items are together, from which call on."""
    changes = [0] * (len(steps) + 1)
    for item in items:
        changes[bisect_left(steps, item.first_call)] += item.tokens
        if item.last_call is not None:
            changes[bisect_left(steps, item.last_call + 1)] -= item.tokens
    sizes: list[tuple[int, int]] = []
    tokens = 0
    for step, change in zip(steps, changes, strict=False):
        tokens += change
        if change:
            sizes.append((step, tokens))
    return tuple(sizes)


def _key(*names: object) -> str:
    return blake2b(repr(names).encode("utf-8", "replace"), digest_size=8).hexdigest()
