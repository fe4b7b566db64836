"""What an item has cost: its tokens at each call, at the price of the cache where it was read from there."""

import pytest

from tests.advice.story import Story, prose
from ullage.advice.history import history_of
from ullage.advice.savings import SavedShare, SessionCosts

LONG = "go\n" + prose(1_200)


def test_an_item_costs_the_full_price_once_and_then_the_price_of_the_cache() -> None:
    history = history_of(Story().user(LONG).chat(3).billed())
    costs = SessionCosts(history)
    item = next(each for each in history.items if each.tokens > 5_000)
    assert costs.calls_of(item) == 3
    assert costs.so_far(item) == 3 * item.tokens
    # claude-haiku-4-5: written for $1.25, read for $0.10 a million
    expected = item.tokens * (1.25 + 0.1 + 0.1) / 1_000_000
    assert costs.usd_of(item) == pytest.approx(expected)


def test_at_a_miss_the_full_price_is_paid_again() -> None:
    history = history_of(Story().user(LONG).chat(3).billed(lost=frozenset({2})))
    item = next(each for each in history.items if each.tokens > 5_000)
    expected = item.tokens * (1.25 + 1.25 + 0.1) / 1_000_000
    assert SessionCosts(history).usd_of(item) == pytest.approx(expected)


def test_without_a_known_price_there_is_no_money() -> None:
    story = Story(model="nobody-knows-this").user(LONG).chat(3)
    history = history_of(story.billed())
    saving = SessionCosts(history).saving([SavedShare(0)])
    assert saving.usd is None


def test_the_money_of_all_items_is_at_most_that_of_the_calls() -> None:
    history = history_of(Story().user(LONG).chat(6).billed(lost=frozenset({4})))
    costs = SessionCosts(history)
    items = sum(costs.usd_of(each) or 0.0 for each in history.items)
    calls = sum(row.usd or 0.0 for row in history.calls)
    assert 0.9 * calls <= items <= calls
