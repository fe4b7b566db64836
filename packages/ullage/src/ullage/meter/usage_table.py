"""What calls spent, summed by day, project, model and so on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import (
    Callable,
    Iterable,
)
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import (
    Final,
    Literal,
    NamedTuple,
)

from ullage.meter.distinct_calls import PlacedCall
from ullage.meter.spend import Cost, Money, Spent
from ullage.meter.spent_calls import PriceList, SpentCall

UsageGrouping = Literal["day", "week", "month", "project", "model", "program", "session"]

IN_TIME: Final[frozenset[str]] = frozenset({"day", "week", "month"})
"""Groupings whose rows follow each other in time."""

UNKNOWN_MODEL: Final = "unknown model"

DayOf = Callable[[float], date]
"""The day that a moment (seconds since 1970) is in."""


@dataclass(slots=True)
class SpentSum:
    """Sums of calls. ``input`` is without cache, ``usd`` without the calls of ``unpriced``, whose prices are unknown.

    ``logged_usd`` is the part of ``usd`` that is not by list price: what logs say that calls cost whose price is
    unknown. Of ``cut`` calls only the first count of the output is known.
    """

    calls: int = 0
    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0
    reasoning: int = 0
    usd: float = 0.0
    logged_usd: float = 0.0
    inexact: int = 0
    cut: int = 0
    unpriced: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All tokens. Reasoning is part of the output."""
        return self.input + self.cache_write + self.cache_read + self.output

    @property
    def has_price(self) -> bool:
        """Whether the price of any call is known."""
        return self.calls > sum(self.unpriced.values())

    def add(
        self,
        call: SpentCall,
        cost: Cost | None,
    ) -> None:
        """Add a call, and what it costs at list prices, where these are known."""
        self.calls += 1
        self.input += call.fresh_input
        self.cache_write += call.cache_write or 0
        self.cache_read += call.cache_read or 0
        self.output += call.output or 0
        self.reasoning += call.reasoning or 0
        self.cut += call.is_cut
        if cost is not None:
            self.usd += cost.usd
            self.inexact += not cost.exact
        elif call.logged_usd is not None:
            self.usd += call.logged_usd
            self.logged_usd += call.logged_usd
        else:
            self.unpriced[call.model or UNKNOWN_MODEL] += 1


def spent_on(
    calls: Iterable[PlacedCall],
    since: float,
    prices: PriceList,
) -> Spent:
    """What calls spent since a time, by the same rules as in the table."""
    total = SpentSum()
    for placed in calls:
        if placed.call.at >= since:
            total.add(placed.call, prices.cost(placed.call))
    unpriced = total.unpriced.total()
    money = Money(
        usd=total.usd,
        priced=total.calls - unpriced,
        unpriced=unpriced,
        inexact=total.inexact,
    )
    return Spent(
        money=money,
        tokens=total.total,
        calls=total.calls,
    )


@dataclass(slots=True)
class UsageRow:
    """One row: what all calls of it spent, and of that the subagents. ``about`` says what a session is of."""

    key: str
    about: str = ""
    all: SpentSum = field(default_factory=SpentSum)
    subagents: SpentSum = field(default_factory=SpentSum)

    def add(
        self,
        placed: PlacedCall,
        cost: Cost | None,
    ) -> None:
        """Add a call."""
        self.all.add(placed.call, cost)
        if placed.is_child:
            self.subagents.add(placed.call, cost)


class UsageTable(NamedTuple):
    """The rows, the same calls by model, and all of them together."""

    by: UsageGrouping
    rows: list[UsageRow]
    models: list[UsageRow]
    total: UsageRow


def usage_table(
    calls: Iterable[PlacedCall],
    by: UsageGrouping,
    day_of: DayOf,
    prices: PriceList,
) -> UsageTable:
    """Sum the calls. Rows in time are in their order, others by cost, then tokens."""
    rows: dict[str, UsageRow] = {}
    models: dict[str, UsageRow] = {}
    total = UsageRow("total")
    for placed in calls:
        key = _key(
            placed,
            by,
            day_of,
        )
        model = placed.call.model or UNKNOWN_MODEL
        cost = prices.cost(placed.call)
        if key not in rows:
            rows[key] = UsageRow(key)
            if by == "session":
                rows[key].about = _about(placed)
        if model not in models:
            models[model] = UsageRow(model)
        rows[key].add(placed, cost)
        models[model].add(placed, cost)
        total.add(placed, cost)
    listed = _dearest(rows)
    if by in IN_TIME:
        listed = [rows[key] for key in sorted(rows)]
    return UsageTable(
        by,
        listed,
        _dearest(models),
        total,
    )


def _dearest(rows: dict[str, UsageRow]) -> list[UsageRow]:
    return sorted(rows.values(), key=lambda row: (-row.all.usd, -row.all.total, row.key))


def _key(
    placed: PlacedCall,
    by: UsageGrouping,
    day_of: DayOf,
) -> str:
    match by:
        case "model":
            return placed.call.model or UNKNOWN_MODEL
        case "project":
            return placed.log.project or "unknown project"
        case "program":
            return placed.log.program.partition(" ")[0] or "unknown program"
        case "session":
            return placed.log.session or "unknown session"
        case _:
            return _period(day_of(placed.call.at), by)


def _about(placed: PlacedCall) -> str:
    """The program of a session and the name of its directory."""
    program = placed.log.program.partition(" ")[0]
    directory = placed.log.project.rstrip("/\\")
    name = re.split(r"[/\\]", directory)[-1]
    return f"{program} {name}".strip()


def _period(
    day: date,
    by: UsageGrouping,
) -> str:
    """A day, the Monday of its week, or its month."""
    if by == "month":
        return day.isoformat()[:7]
    if by == "week":
        day -= timedelta(days=day.weekday())
    return day.isoformat()
