"""Rate limits that processes share: order, debt, refusals, and a provider that is simulated beside them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ullage.models.rate_limits import (
    LEARNT_S,
    PROMISED_S,
    MinuteLimit,
    RateReport,
    RateState,
    is_limited,
    is_low,
    take,
    updated,
)

ONE = {"requests": 1.0}
LEARNT = RateReport(
    learnt={"requests": MinuteLimit(60, 60)}, remaining={"requests": 0.0}, refused_s=1.0
)


def slots(state: RateState, count: int, now: float) -> tuple[RateState, list[float]]:
    waits = []
    for _ in range(count):
        taken = take(state, ONE, now)
        state = taken.state
        waits.append(taken.slot.wait_s)
    return state, waits


def test_slots_are_given_in_order_at_the_rate_of_the_limit() -> None:
    state = updated(RateState(), LEARNT, {}, 100.0)
    _, waits = slots(state, 20, 100.0)
    assert waits == sorted(waits) and waits[0] == 1.0
    steps = [after - before for before, after in pairwise(waits)]
    assert all(abs(step - 60 / 57) < 0.001 for step in steps)


def test_a_refusal_moves_the_slots_that_others_wait_for() -> None:
    state = updated(RateState(), LEARNT, {}, 100.0)
    state, waits = slots(state, 3, 100.0)
    before = state.shifted_s
    state = updated(state, RateReport(refused_s=10.0), {}, 100.5)
    moved = state.shifted_s - before
    assert abs(moved - 9.5) < 0.001, "the provider is left alone until 110.5, not 101"
    later = take(state, ONE, 100.5).slot.wait_s
    assert later + 0.5 > waits[-1] + moved
    again = updated(state, RateReport(refused_s=5.0), {}, 101.0)
    assert again.shifted_s == state.shifted_s, "a shorter wait changes nothing"


def test_a_refusal_without_limits_has_all_wait() -> None:
    state = updated(RateState(), RateReport(refused_s=7.0), {}, 50.0)
    assert take(state, ONE, 51.0).slot.wait_s == 6.0
    assert is_limited(state, 51.0) and not is_limited(state, 58.0)
    assert take(state, ONE, 58.0).slot.wait_s == 0.0


def test_what_is_taken_ahead_leaves_something_to_others_and_comes_back() -> None:
    state = updated(RateState(), RateReport(), {"requests": 6_000.0}, 0.0)
    taken = take(state, ONE, 0.0)
    ahead = taken.slot.ahead["requests"]
    assert taken.slot.wait_s == 0.0 and 400 < ahead < 5_700 / 4
    given_back = updated(
        taken.state, RateReport(returned={"requests": ahead}), {"requests": 6_000.0}, 0.0
    )
    assert given_back.buckets["requests"].level == 5_699


def test_nothing_is_taken_ahead_while_calls_wait() -> None:
    state = updated(RateState(), LEARNT, {}, 0.0)
    assert take(state, ONE, 0.0).slot.ahead == {}


def test_a_call_larger_than_the_limit_is_sent_alone_and_paid_for_afterwards() -> None:
    limits = {"input_tokens": 1_000.0}
    state = updated(RateState(), RateReport(), limits, 0.0)
    first = take(state, {"input_tokens": 3_000.0}, 0.0)
    assert first.slot.wait_s == 0.0
    second = take(first.state, {"input_tokens": 100.0}, 0.0)
    assert 120 < second.slot.wait_s < 180


def test_learnt_limits_are_forgotten_and_set_ones_are_not() -> None:
    state = updated(RateState(), LEARNT, {"input_tokens": 500.0}, 0.0)
    assert is_limited(state, LEARNT_S - 1) and not is_limited(state, LEARNT_S + 1)
    later = updated(state, RateReport(), {"input_tokens": 500.0}, LEARNT_S + 1)
    assert set(later.buckets) == {"input_tokens"}


def test_the_lower_of_a_set_and_a_learnt_limit_counts() -> None:
    for set_limit, expected in ((30.0, 30), (90.0, 60)):
        state = updated(RateState(), LEARNT, {"requests": set_limit}, 0.0)
        assert abs(state.buckets["requests"].per_minute - 0.95 * expected) < 0.001


def test_a_limit_is_low_below_a_quarter() -> None:
    limits = {"requests": MinuteLimit(100, 100)}
    assert is_low(limits, {"requests": 24.0}) and not is_low(limits, {"requests": 25.0})


def test_a_slot_is_promised_at_most_so_far_ahead() -> None:
    state = updated(RateState(), LEARNT, {}, 100.0)
    promised = 0
    while (taken := take(state, ONE, 100.0)).slot.is_promised:
        state, promised = taken.state, promised + 1
        assert taken.slot.wait_s <= PROMISED_S + 60 / 57 + 1
    assert 28 <= promised <= 31
    assert taken.state == state
    assert taken.slot.wait_s > PROMISED_S and 0 < taken.slot.ask_s < 2
    later = updated(state, RateReport(), {}, 100.0 + taken.slot.ask_s + 0.01)
    assert take(later, ONE, 100.0 + taken.slot.ask_s + 0.01).slot.is_promised


def test_small_calls_do_not_keep_a_large_one_from_its_promise() -> None:
    limits = {"input_tokens": 1_000.0}
    state = updated(RateState(), RateReport(), limits, 0.0)
    while (taken := take(state, {"input_tokens": 10.0}, 0.0)).slot.is_promised:
        state = taken.state
    at = taken.slot.ask_s + 0.01
    later = updated(state, RateReport(), limits, at)
    assert take(later, {"input_tokens": 900.0}, at).slot.is_promised


def test_calls_behind_a_refusal_without_limits_are_spread() -> None:
    state = updated(RateState(), RateReport(refused_s=7.0), {}, 50.0)
    _, waits = slots(state, 20, 50.0)
    assert waits[0] == 7.0
    assert all(after - before > 0.09 for before, after in pairwise(waits))


@given(
    per_minute=st.integers(2, 6_000),
    calls=st.integers(1, 40),
    gap_s=st.floats(0, 2),
    cancelled=st.sets(st.integers(0, 39)),
)
def test_a_provider_with_the_same_limit_refuses_nothing_once_it_is_known(
    per_minute: int, calls: int, gap_s: float, cancelled: set[int]
) -> None:
    """Calls that come ``gap_s`` after each other, to a provider whose bucket is empty at the beginning."""
    report = RateReport(
        learnt={"requests": MinuteLimit(per_minute, per_minute)},
        remaining={"requests": 0.0},
        refused_s=60 / per_minute,
    )
    state = updated(RateState(), report, {}, 0.0)
    sent: list[float] = []
    line: list[int] = []
    back, now, came = 0, 0.0, 0
    while came < calls or line:
        while came < calls and came * gap_s <= now:
            line.append(came)
            came += 1
        ask_s = gap_s or 1.0
        while line:
            state = updated(state, RateReport(returned={"requests": back}), {}, now)
            taken = take(state, ONE, now)
            state, back = taken.state, 0
            if not taken.slot.is_promised:
                ask_s = min(ask_s, taken.slot.ask_s + 0.001)
                break
            if line.pop(0) in cancelled:
                back = 1
            else:
                sent.append(now + taken.slot.wait_s)
        now += max(0.001, ask_s)
    assert all(at <= calls * gap_s + 60 + calls * 64 / per_minute for at in sent)
    if not cancelled:
        assert sent == sorted(sent)
        left, last = 0.0, 0.0
        for at in sent:
            left, last = min(per_minute, left + (at - last) * per_minute / 60), at
            left -= 1
            assert left > -1e-6
