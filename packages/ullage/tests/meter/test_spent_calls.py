import pytest

from tests.meter.calls import spent_call
from ullage.codec.dialects import normalise
from ullage.events import CallEnded, ModelChanged, SessionStarted
from ullage.meter.spent_calls import CallCollector, PriceList

USAGE = {
    "input_tokens": 5,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 600,
    "output_tokens": 100,
    "cache_creation": {
        "ephemeral_5m_input_tokens": 100,
        "ephemeral_1h_input_tokens": 200,
    },
}


def ended(call: str = "msg_1", dialect: str = "anthropic", **more: object) -> CallEnded:
    usage = normalise(dialect, USAGE | more)
    return CallEnded(call=call, usage=usage, at=7.0)


def test_a_call_has_its_tokens_with_the_model_and_provider_of_its_session() -> None:
    collector = CallCollector()
    collector.add([SessionStarted(model="m-1", provider="anthropic")])
    collector.add([ended(), ModelChanged(model="m-2"), ended()])
    first, second = collector.calls
    assert (first.model, first.provider, first.at) == ("m-1", "anthropic", 7.0)
    assert first.input == 905
    assert first.cache_write == 300
    assert first.cache_read == 600
    assert first.output == 100
    assert (first.fresh_input, first.hour_write, first.total) == (5, 200, 1_005)
    assert (second.model, second.provider) == ("m-2", "anthropic")


def test_only_the_providers_ids_name_a_call_and_its_copies() -> None:
    named, unnamed = CallCollector(has_ids=True), CallCollector()
    for collector in (named, unnamed):
        collector.add([ended("msg_1"), ended("msg_1@2"), ended("child-msg_1")])
    named.add([ended("unlogged-other")])
    assert [call.name for call in named.calls] == ["msg_1", "msg_1", "msg_1", ""]
    assert [call.name for call in unnamed.calls] == [""] * 3


def test_a_call_without_usage_is_counted_unless_it_failed() -> None:
    collector = CallCollector()
    collector.add([CallEnded(call="a"), CallEnded(call="b", outcome="failed")])
    assert (collector.calls, collector.unreported) == ([], 1)


@pytest.mark.parametrize("value", [1e300, -5, 10**40, "many", True, 1.5])
def test_a_count_that_can_not_be_true_is_left_out_and_the_call_counted(
    value: object,
) -> None:
    collector = CallCollector()
    collector.add([ended(output_tokens=value)])
    assert [call.output for call in collector.calls] == [None]
    assert collector.implausible == 1


def test_passes_that_are_billed_beside_a_call_are_calls_of_their_own() -> None:
    passes = [
        {"type": "compaction", "input_tokens": 70, "output_tokens": 7},
        {"type": "message", "input_tokens": 5, "output_tokens": 100},
    ]
    collector = CallCollector(has_ids=True)
    collector.add([ended(iterations=passes)])
    expected = [("main", 905), ("other", 70)]
    assert [(call.purpose, call.input) for call in collector.calls] == expected


def test_a_summary_that_the_provider_wrote_is_its_pass() -> None:
    passes = [{"type": "compaction", "input_tokens": 70, "output_tokens": 7}]
    usage = {"input_tokens": 0, "output_tokens": 0, "iterations": passes}
    collector = CallCollector()
    collector.add([CallEnded(call="a", usage=normalise("anthropic", usage))])
    assert sum(call.input or 0 for call in collector.calls) == 70
    assert (collector.unreported, collector.implausible) == (0, 0)


def test_an_output_that_was_logged_while_it_began_counts_and_is_marked() -> None:
    usage = normalise("anthropic", USAGE | {"output_tokens": 3}, placeholder=True)
    collector = CallCollector()
    collector.add([CallEnded(call="a", usage=usage), ended()])
    expected = [(3, True), (100, False)]
    assert [(call.output, call.is_cut) for call in collector.calls] == expected


@pytest.mark.parametrize(
    ("cost", "usd"),
    [
        (0.25, 0.25),
        ({"input": 0.1, "total": 0.5}, 0.5),
        (-1, None),
        (1e300, None),
        ("much", None),
        ({"total": None}, None),
    ],
)
def test_what_a_log_says_that_a_call_cost_is_kept_where_it_can_be_true(
    cost: object, usd: float | None
) -> None:
    collector = CallCollector()
    collector.add([ended(cost=cost)])
    assert collector.calls[0].logged_usd == usd


def test_the_price_is_that_of_the_catalogue_and_unknown_for_an_unknown_model() -> None:
    prices = PriceList()
    cost = prices.cost(spent_call())
    assert cost is not None
    assert cost.usd == pytest.approx((100 * 3 + 600 * 0.3 + 300 * 3.75 + 100 * 15) / 1e6)
    assert prices.cost(spent_call(model="nobodys-model-1")) is None


def test_a_cache_write_for_an_hour_costs_twice_the_input() -> None:
    prices = PriceList()
    short, long = prices.cost(spent_call()), prices.cost(spent_call(hour_write=300))
    assert short is not None
    assert long is not None
    assert long.usd - short.usd == pytest.approx(300 * (6 - 3.75) / 1e6)


def test_above_200k_all_tokens_of_a_call_have_the_higher_price() -> None:
    long = spent_call(input=300_000, cache_read=0, cache_write=0, output=0)
    cost = PriceList().cost(long)
    assert cost is not None
    assert cost.usd == pytest.approx(300_000 * 6 / 1e6)
