from hypothesis import given
from hypothesis import strategies as st

from ullage.usage import KINDS, Usage, UsageSum

counts = st.none() | st.integers(0, 10**7)
usages = st.builds(Usage, **dict.fromkeys(KINDS, counts), context_input=counts)


def test_unknown_is_none_and_never_zero() -> None:
    usage = Usage()
    assert (usage.context, usage.fresh_input, usage.visible_output) == (None, None, None)


def test_fresh_input_is_what_no_cache_saw() -> None:
    assert Usage(input=1000, cache_read=600, cache_write=150).fresh_input == 250


def test_fresh_input_is_unknown_when_the_cache_was_not_said() -> None:
    assert Usage(input=1000).fresh_input is None
    assert Usage(cache_read=5).fresh_input is None


def test_visible_output_is_output_without_reasoning() -> None:
    assert Usage(output=900, reasoning=700).visible_output == 200
    assert Usage(output=900, reasoning=0).visible_output == 900


def test_the_context_is_the_last_pass_where_several_were_summed() -> None:
    assert Usage(input=30_000).context == 30_000
    assert Usage(input=90_000, context_input=31_000).context == 31_000
    assert Usage(input=90_000, context_input=0).context == 0


def test_the_answer_is_the_last_pass_where_several_were_summed() -> None:
    assert Usage(output=900).answer == 900
    assert Usage(output=900, context_output=300).answer == 300
    assert Usage().answer is None


@given(calls=st.lists(st.none() | usages, max_size=6))
def test_a_sum_adds_every_kind_and_counts_the_calls_that_did_not_say(
    calls: list[Usage | None],
) -> None:
    total = UsageSum()
    for call in calls:
        total = total.plus(call)
    assert total.calls == len(calls)
    for kind in KINDS:
        said = [
            value
            for call in calls
            if call is not None and (value := getattr(call, kind)) is not None
        ]
        assert getattr(total, kind) == sum(said)
        assert total.unsaid.get(kind, 0) == len(calls) - len(said)


@given(usage=usages)
def test_adding_a_call_leaves_the_earlier_sum_as_it_was(usage: Usage) -> None:
    before = UsageSum().plus(None)
    before.plus(usage)
    assert before == UsageSum().plus(None)


def test_usage_and_its_sum_can_not_be_added_as_if_they_were_numbers() -> None:
    assert not any(hasattr(kind, "__add__") for kind in (Usage, UsageSum))
