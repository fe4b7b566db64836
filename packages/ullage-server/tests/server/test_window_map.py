"""The map of a window: what it shows, and that it stays small."""

from __future__ import annotations

import msgspec
import pytest

from ullage.advice.history import WindowHistory
from ullage.advice.lives import CallRow, ItemLife
from ullage_server.window_map import (
    COLUMNS,
    LONGEST,
    MOST_CATEGORIES,
    MOST_GROUPS,
    MOST_ITEMS,
    OTHERS,
    window_map,
)

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e" + "A" * 1_000_000


def item(part: str, tokens: int, first_call: int = 1, **more: object) -> ItemLife:
    """An item with an interval of a tenth."""
    wide = tokens // 10
    facts = {"category": "Tool results", "label": f"Read {part}", **more}
    return ItemLife(
        part=part,
        message=f"of-{part}",
        tokens=tokens,
        low=tokens - wide,
        high=tokens + wide,
        first_call=first_call,
        **facts,  # type: ignore[arg-type]
    )


def history(*items: ItemLife, calls: int = 4, **more: object) -> WindowHistory:
    """A history with as many calls, each as large as what it held."""
    rows: list[CallRow] = []
    for number in range(1, calls + 1):
        used = sum(one.tokens for one in items if one.is_held_at(number))
        rows.append(CallRow(number=number, call=f"c{number}", used=used))
    return WindowHistory(items=items, calls=tuple(rows), next_call=calls + 1, **more)  # type: ignore[arg-type]


def test_an_item_has_its_interval_and_the_calls_that_held_it() -> None:
    made = window_map(history(item("a.py", 100, 2), calls=4))
    (one,) = made.items
    assert (one.tokens, one.low, one.high) == (100, 90, 110)
    assert (one.first_call, one.last_call) == (2, None)
    assert one.sent == 3 * 100


def test_an_item_that_has_left_says_when_and_why() -> None:
    gone = item("b.py", 100, 1, last_call=2, why_left="compaction")
    (one,) = window_map(history(gone, calls=4)).items
    assert (one.last_call, one.why_left, one.sent) == (2, "compaction", 200)


def test_an_item_that_no_call_has_held_yet_was_sent_nowhere() -> None:
    (one,) = window_map(history(item("new.py", 100, 5), calls=4)).items
    assert one.sent == 0


def test_categories_are_what_is_in_the_window_the_largest_first() -> None:
    made = window_map(
        history(
            item("small", 10, category="You"),
            item("large", 500),
            item("gone", 9_000, last_call=1),
        )
    )
    assert [(one.name, one.tokens, one.items) for one in made.categories] == [
        ("Tool results", 500, 1),
        ("You", 10, 1),
    ]


def test_what_is_not_part_of_the_total_has_no_area() -> None:
    made = window_map(history(item("deferred", 500, is_summed=False)))
    assert (made.items, made.categories) == ((), ())


def test_the_areas_sum_to_what_is_in_the_window() -> None:
    items = [item(f"p{n}", 1 + n % 7, 1 + n % 50) for n in range(5_000)]
    made = window_map(history(*items, calls=50))
    assert sum(one.tokens for one in made.items) == sum(one.tokens for one in items)
    assert sum(one.count for one in made.items) == len(items)


def test_small_items_are_together_by_category_and_tool() -> None:
    small = [item(f"p{n}", 1, tool="read") for n in range(500)]
    made = window_map(history(item("huge", 10**6), *small))
    (group,) = (one for one in made.items if one.count > 1)
    assert (group.label, group.count, group.tokens) == ("500 × read", 500, 500)


def test_a_group_says_how_many_tokens_it_had_at_each_call() -> None:
    small = [item(f"p{n}", 10, n, last_call=n + 1) for n in (1, 2, 3)]
    made = window_map(history(item("huge", 10**6), *small, calls=6))
    (group,) = (one for one in made.items if one.count > 1)
    assert group.sizes == ((1, 10), (2, 20), (4, 10), (5, 0))
    assert (group.tokens, group.first_call, group.last_call) == (20, 1, 4)


@pytest.mark.sweep
def test_a_session_of_5000_calls_and_20000_items_has_a_small_map() -> None:
    items: list[ItemLife] = []
    for n in range(20_000):
        call = 1 + n // 4
        last = call + 300 if call < 4_000 else None
        tool = f"tool-{n % 400}"
        category = f"Row {n % 90}"
        items.append(
            item(f"p{n}", 1 + n % 900, call, last_call=last, tool=tool, category=category)
        )
    made = window_map(history(*items, calls=5_000))
    assert len(made.calls) <= COLUMNS
    assert len(made.categories) <= MOST_CATEGORIES + 1
    groups = MOST_GROUPS + MOST_CATEGORIES + 1
    assert len(made.items) <= 2 * (MOST_ITEMS + groups)
    assert len(msgspec.json.encode(made)) < 1_000_000
    assert {one.name for one in made.categories} >= {OTHERS}


def test_every_mark_of_a_long_session_is_still_there() -> None:
    rows: list[CallRow] = []
    for number in range(1, 5_001):
        marks = ("compaction",) if number == 2_345 else ()
        rows.append(CallRow(number=number, used=number, marks=marks))
    made = window_map(WindowHistory(calls=tuple(rows), next_call=5_001))
    marked = [call for call in made.calls if "compaction" in call.marks]
    assert len(marked) == 1
    assert marked[0].number - marked[0].calls < 2_345 <= marked[0].number
    assert made.calls[-1].number == 5_000


def test_a_call_that_paid_again_for_what_the_cache_should_have_held_is_marked() -> None:
    rows = [
        CallRow(number=1, used=20_000, cached=0),
        CallRow(number=2, used=21_000, cached=20_000),
        CallRow(number=3, used=22_000, cached=0),
    ]
    made = window_map(WindowHistory(calls=tuple(rows), next_call=4))
    assert [call.marks for call in made.calls] == [(), (), ("cache",)]


def test_an_item_says_what_it_cost_where_prices_are_known() -> None:
    rows: list[CallRow] = []
    for number in (1, 2, 3):
        row = CallRow(number=number, used=1_000, new_price=2.0, old_price=1.0)
        rows.append(row)
    priced = WindowHistory(items=(item("a.py", 1_000),), calls=tuple(rows), next_call=4)
    (one,) = window_map(priced).items
    assert one.cost == pytest.approx((2 + 1 + 1) * 1_000 / 1e6)


def test_what_the_next_compaction_takes_out_is_told() -> None:
    made = window_map(history(item("a.py", 100), item("b.py", 100)), leaving={1})
    assert {one.label: one.leaves for one in made.items} == {
        "Read a.py": False,
        "Read b.py": True,
    }


def test_texts_are_short_whatever_they_were() -> None:
    hostile = item("x", 5, label=HOSTILE, category=HOSTILE, tool=HOSTILE)
    huge_id = msgspec.structs.replace(hostile, part=HOSTILE, message=HOSTILE)
    made = window_map(history(huge_id))
    assert len(msgspec.json.encode(made)) < 20 * LONGEST


def test_two_items_of_one_name_have_two_keys() -> None:
    first = item("a.py", 5, 1, last_call=2)
    made = window_map(history(first, item("a.py", 5, 3)))
    assert len({one.key for one in made.items}) == 2


def test_no_call_and_no_item_is_an_empty_map() -> None:
    made = window_map(WindowHistory())
    assert (made.calls, made.categories, made.items) == ((), (), ())
