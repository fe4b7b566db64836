import pytest

from ullage.meter.limits import Prices, Rate
from ullage.meter.meter import Meter
from ullage.meter.reading import (
    Reading,
)
from ullage.meter.spend import (
    Money,
    Spend,
    cost_of,
    merge_sums,
)
from ullage.usage import Usage, UsageSum

PRICES = Prices((Rate(0, 3.0, 15.0, 0.3, 3.75), Rate(200_000, 6.0, 22.5, 0.6, 7.5)))


def test_tokens_are_summed_by_kind_under_what_the_call_was_for() -> None:
    spend = Spend()
    spend = spend.plus(
        Usage(input=100, output=10, cache_read=40, cache_write=0, reasoning=4)
    )
    spend = spend.plus(
        Usage(input=200, output=20, cache_read=60, cache_write=5, reasoning=6)
    )
    spend = spend.plus(Usage(input=50, output=5), purpose="summary")
    main = spend.by_purpose["main"]
    assert main.calls == 2
    assert main.input == 300
    assert main.output == 30
    assert main.cache_read == 100
    assert main.cache_write == 5
    assert main.reasoning == 10
    assert spend.by_purpose["summary"].input == 50
    assert spend.all.input == 350
    assert spend.all.calls == 3


def test_a_sum_says_how_many_calls_did_not_report_a_kind() -> None:
    spend = (
        Spend()
        .plus(Usage(input=100))
        .plus(Usage(input=1, output=2, reasoning=0))
        .plus(None, purpose="cancelled")
    )
    expected = {"output": 1, "reasoning": 1, "cache_read": 2, "cache_write": 2}
    assert spend.by_purpose["main"].unsaid == expected
    assert spend.by_purpose["cancelled"].calls == 1
    assert spend.all.unsaid["input"] == 1


def test_money_is_charged_by_kind_at_list_prices() -> None:
    usage = Usage(input=100_000, output=1_000, cache_read=60_000, cache_write=10_000)
    cost = cost_of(usage, PRICES)
    assert cost is not None
    assert cost.usd == pytest.approx(
        (30_000 * 3 + 60_000 * 0.3 + 10_000 * 3.75 + 1_000 * 15) / 1e6
    )
    assert cost.exact


def test_a_prompt_past_a_tier_pays_that_tier_for_everything() -> None:
    usage = Usage(input=200_001, output=10, cache_read=0, cache_write=0)
    cost = cost_of(usage, PRICES)
    assert cost is not None
    assert cost.usd == pytest.approx((200_001 * 6 + 10 * 22.5) / 1e6)
    at_the_edge = cost_of(Usage(input=200_000, output=0, cache_read=0), PRICES)
    assert at_the_edge is not None
    assert at_the_edge.usd == pytest.approx(0.6)


def test_a_cost_with_something_missing_is_not_exact() -> None:
    no_cache_price = Prices((Rate(0, 1.0, 2.0, None, None),))
    reported = Usage(input=1_000_000, output=0, cache_read=500_000, cache_write=0)
    bound = cost_of(reported, no_cache_price)
    assert bound is not None
    assert (bound.usd, bound.exact) == (1.0, False)
    unsaid_cache = cost_of(Usage(input=100, output=1), PRICES)
    assert unsaid_cache is not None
    assert not unsaid_cache.exact
    unsaid_output = cost_of(Usage(input=100, cache_read=0), PRICES)
    assert unsaid_output is not None
    assert not unsaid_output.exact
    assert cost_of(Usage(), PRICES) is None


def test_money_keeps_priced_and_unpriced_calls_apart() -> None:
    spend = Spend().plus(
        Usage(input=1_000_000, output=0, cache_read=0, cache_write=0), prices=PRICES
    )
    spend = (
        spend.plus(Usage(input=5, output=5))
        .plus(None, prices=PRICES)
        .plus(Usage(input=5, output=5), prices=PRICES)
    )
    assert spend.money.usd == pytest.approx(6.0, abs=0.001)
    assert (spend.money.priced, spend.money.unpriced, spend.money.inexact) == (2, 2, 1)
    assert Money().plus(None) == Money(unpriced=1)


def test_merging_sums_is_summing_their_calls() -> None:
    first = UsageSum().plus(Usage(input=1)).plus(Usage(input=2, output=3))
    second = UsageSum().plus(None)
    assert merge_sums([first, second]) == UsageSum().plus(Usage(input=1)).plus(
        Usage(input=2, output=3)
    ).plus(None)
    assert merge_sums([]) == UsageSum()


def test_a_spend_and_a_reading_share_no_field_and_no_bare_number_of_tokens() -> None:
    spend_names = {name for name in dir(Spend) if not name.startswith("_")}
    reading_names = {name for name in dir(Reading) if not name.startswith("_")}
    assert not spend_names & reading_names
    assert not {"tokens", "total", "total_tokens"} & (spend_names | reading_names)
    assert not hasattr(Spend(), "__int__")
    assert not hasattr(Spend(), "__index__")


def test_passes_billed_beside_a_call_stand_under_their_own_purpose() -> None:
    meter = Meter("anthropic:claude-opus-4-6", window=200_000)
    hello = {"role": "user", "content": "Hi"}
    body = {"model": "claude-opus-4-6", "max_tokens": 99, "messages": [hello]}
    passes = [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {"type": "message", "input_tokens": 9_000, "output_tokens": 50},
        {
            "type": "advisor_message",
            "model": "claude-opus-4-1",
            "input_tokens": 400,
            "output_tokens": 30,
        },
    ]
    reported = {"input_tokens": 9_000, "output_tokens": 50, "iterations": passes}
    spend = meter.after(meter.before(body).call, reported).spend
    sums = {name: (each.input, each.output) for name, each in spend.by_purpose.items()}
    expected = {"main": (9_000, 50), "compaction": (180_000, 3_500), "advisor": (400, 30)}
    assert sums == expected
    # 5 and 25 dollars a million for the model that was asked, 15 and 75 for its adviser.
    own = 5 * (9_000 + 180_000) + 25 * (50 + 3_500)
    assert spend.money.usd == pytest.approx((own + 15 * 400 + 75 * 30) / 1_000_000)
    assert meter.reading().basis.last_input == 9_000


def test_a_call_that_was_a_compaction_alone_is_billed_once() -> None:
    meter = Meter("anthropic:claude-opus-4-6", window=200_000)
    hello = {"role": "user", "content": "Hi"}
    body = {"model": "claude-opus-4-6", "max_tokens": 99, "messages": [hello]}
    meter.after(meter.before(body).call, {"input_tokens": 9_000, "output_tokens": 50})
    used = meter.reading().used.tokens
    passes = [{"type": "compaction", "input_tokens": 9_050, "output_tokens": 37}]
    reported = {"input_tokens": 0, "output_tokens": 0, "iterations": passes}
    after = meter.after(meter.before(body).call, reported)
    assert (after.spend.all.input, after.spend.all.estimated) == (18_050, 0)
    assert after.used.tokens == pytest.approx(used, rel=0.02)


def test_a_call_whose_input_is_unknown_costs_what_is_known() -> None:
    cost = cost_of(Usage(output=100, cache_read=1_000_000), PRICES)
    assert cost is not None
    assert cost.usd == pytest.approx((100 * 15.0 + 1_000_000 * 0.3) / 1e6)
    assert not cost.exact
