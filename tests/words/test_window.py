import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.errors import SettingError
from ullage.events import LimitLearnt
from ullage.meter.reading import Window
from ullage.meter.window import DEFAULT_RESERVE, Limit, Limits

sizes = st.integers(1, 2_000_000)
limits = st.none() | st.builds(Limit, tokens=sizes, source=st.sampled_from(["user", "provider", "error", "catalogue"]))
any_limits = st.builds(
    Limits,
    window=limits,
    input_cap=limits,
    max_output=limits,
    reserve=st.none() | st.integers(0, 3_000_000),
    trigger=st.floats(0.001, 1) | st.integers(2, 3_000_000),
    auto=st.booleans(),
    default_window=st.none() | sizes,
)


def window(tokens: int) -> Limit:
    return Limit(tokens=tokens, source="user")


def learnt(source: str, tokens: int) -> LimitLearnt:
    return LimitLearnt(model="m", source=source, window=tokens)  # type: ignore[arg-type]


def test_an_unknown_window_is_said_and_nothing_is_made_of_it() -> None:
    unknown = Limits()
    assert unknown.known_window == Window(tokens=None, source="unknown")
    assert (unknown.input_limit, unknown.compaction_point) == (None, None)


def test_a_default_window_counts_as_the_users_word_and_only_where_nobody_knows() -> None:
    assert Limits(default_window=128_000).known_window == Window(tokens=128_000, source="user")
    known = Limits(window=Limit(tokens=200_000, source="catalogue"), default_window=128_000)
    assert known.known_window == Window(tokens=200_000, source="catalogue")


def test_the_figures_of_a_window_of_200_000() -> None:
    known = Limits(window=window(200_000))
    assert (known.kept_reserve, known.input_limit, known.compaction_point) == (16_000, 184_000, 160_000)


def test_the_reserve_is_at_most_the_models_output_and_a_fifth_of_the_window() -> None:
    assert Limits(window=window(200_000), max_output=window(8_192)).kept_reserve == 8_192
    assert Limits(window=window(32_000)).kept_reserve == 6_400
    assert Limits().kept_reserve == DEFAULT_RESERVE


def test_the_users_reserve_is_taken_as_it_is_and_the_input_limit_never_goes_below_zero() -> None:
    tight = Limits(window=window(8_000), reserve=9_000)
    assert (tight.kept_reserve, tight.input_limit, tight.compaction_point) == (9_000, 0, 0)


def test_an_input_cap_below_the_window_is_the_input_limit() -> None:
    capped = Limits(window=window(400_000), input_cap=window(272_000))
    assert (capped.input_limit, capped.compaction_point) == (272_000, 272_000)


def test_an_input_cap_alone_gives_a_compaction_point() -> None:
    assert Limits(input_cap=window(100_000)).compaction_point == 100_000


def test_a_trigger_above_one_is_a_number_of_tokens() -> None:
    assert Limits(window=window(200_000), trigger=150_000).compaction_point == 150_000
    assert Limits(window=window(200_000), trigger=1).compaction_point == 184_000


def test_without_auto_nothing_ever_compacts() -> None:
    never = Limits(window=window(200_000), auto=False)
    assert (never.input_limit, never.compaction_point) == (184_000, None)


@pytest.mark.parametrize("trigger", [0, -0.1, math.nan, math.inf])
def test_a_trigger_that_can_not_be_reached_is_refused(trigger: float) -> None:
    with pytest.raises(SettingError, match="trigger="):
        Limits(trigger=trigger)


def test_a_negative_reserve_is_refused() -> None:
    with pytest.raises(SettingError, match="reserve=-1"):
        Limits(reserve=-1)


@pytest.mark.parametrize("order", list(permutations([learnt("user", 1), learnt("provider", 2), learnt("error", 3)])))
def test_the_best_source_wins_in_whatever_order_they_come(order: tuple[LimitLearnt, ...]) -> None:
    known = Limits(window=Limit(tokens=4, source="catalogue"))
    for event in order:
        known = known.learn(event)
    assert known.known_window == Window(tokens=1, source="user")


def test_a_newer_word_of_the_same_source_replaces_the_older() -> None:
    known = Limits().learn(learnt("provider", 8_192)).learn(learnt("provider", 32_768))
    assert known.known_window.tokens == 32_768


@pytest.mark.parametrize("tokens", [0, -1])
def test_a_limit_that_can_not_be_true_teaches_nothing(tokens: int) -> None:
    assert Limits().learn(learnt("provider", tokens)) == Limits()


def test_every_limit_an_event_names_is_learnt() -> None:
    event = LimitLearnt(model="m", source="provider", window=400_000, input_cap=272_000, max_output=128_000)
    known = Limits().learn(event)
    assert (known.window, known.input_cap, known.max_output) == tuple(
        Limit(tokens=each, source="provider") for each in (400_000, 272_000, 128_000)
    )


@given(known=any_limits)
def test_denominators_keep_their_order(known: Limits) -> None:
    size, limit, point = known.known_window.tokens, known.input_limit, known.compaction_point
    assert known.kept_reserve >= 0
    if size is not None:
        assert limit is not None
        assert 0 <= limit <= size
    if point is not None:
        assert limit is not None
        assert 0 <= point <= limit
    assert (point is None) == (limit is None or not known.auto)
