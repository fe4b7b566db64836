from datetime import UTC, date, datetime

import pytest

from tests.meter.calls import NOON, placed, spent_call
from ullage.meter.distinct_calls import PlacedCall
from ullage.meter.spent_calls import PriceList
from ullage.meter.usage_table import UsageGrouping, UsageTable, usage_table

DAY = 86_400.0


def day_of(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def table(by: UsageGrouping, *calls: PlacedCall) -> UsageTable:
    return usage_table(calls, by, day_of, PriceList())


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("day", ["2026-11-21", "2026-11-22"]),
        ("week", ["2026-11-16"]),
        ("month", ["2026-11"]),
        ("project", ["/home/ann/shop"]),
        ("model", ["claude-opus-4-5", "claude-sonnet-4-5"]),
        ("program", ["claude-code"]),
        ("session", ["s-1"]),
    ],
)
def test_rows_are_in_the_order_of_time_or_of_cost(
    by: UsageGrouping, keys: list[str]
) -> None:
    later = spent_call(at=NOON + DAY, model="claude-opus-4-5")
    found = table(by, placed(later), placed(spent_call()))
    assert [row.key for row in found.rows] == keys
    assert sum(row.all.calls for row in found.rows) == 2


def test_kinds_of_tokens_are_disjoint_and_add_up_to_the_total() -> None:
    sums = table("day", placed(spent_call())).total.all
    assert (sums.input, sums.cache_write, sums.cache_read) == (100, 300, 600)
    assert (sums.output, sums.reasoning, sums.total) == (100, 40, 1_100)


def test_a_day_without_calls_has_no_row() -> None:
    later = placed(spent_call(at=NOON + 300 * DAY))
    assert len(table("day", placed(spent_call()), later).rows) == 2


def test_subagents_are_in_the_sums_and_shown_apart() -> None:
    found = table("day", placed(spent_call()), placed(spent_call(), is_child=True))
    (row,) = found.rows
    assert (row.all.calls, row.subagents.calls) == (2, 1)
    assert found.total.subagents.total == 1_100


def test_a_call_of_unknown_price_is_named_and_not_in_the_money() -> None:
    unknown = placed(spent_call(model="nobodys-model-1"))
    known = placed(spent_call())
    both = table("day", unknown, known).total.all
    assert both.unpriced == {"nobodys-model-1": 1}
    assert both.usd == table("day", known).total.all.usd
    assert not table("day", unknown).total.all.has_price


def test_what_the_log_says_is_the_cost_only_where_the_price_is_unknown() -> None:
    listed = placed(spent_call(logged_usd=9.0))
    logged = placed(spent_call(model="nobodys-model-1", logged_usd=0.5))
    sums = table("day", logged).total.all
    assert (sums.usd, sums.logged_usd, dict(sums.unpriced)) == (0.5, 0.5, {})
    assert table("day", listed).total.all.logged_usd == 0
