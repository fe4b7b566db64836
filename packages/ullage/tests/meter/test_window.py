"""Whose word on a limit counts, and what follows from it."""

import math
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.errors import SettingError
from ullage.events import LimitLearnt
from ullage.meter.policy import DEFAULT_RESERVE, DEFAULT_TRIGGER
from ullage.meter.reading import Window
from ullage.meter.window import Limit, Limits

CATALOGUED = Limits().of_model(200_000, None, 64_000)

sizes = st.integers(1, 2_000_000)
limits = st.none() | st.builds(
    Limit,
    tokens=sizes,
    source=st.sampled_from(["user", "provider", "error", "catalogue"]),
)
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


def learnt(source: str, **limits: int) -> LimitLearnt:
    return LimitLearnt(model="m", source=source, **limits)  # type: ignore[arg-type]


# -- whose word counts --


def test_an_unknown_window_is_said_and_nothing_is_made_of_it() -> None:
    unknown = Limits()
    assert unknown.denominators.window == Window(tokens=None, source="unknown")


def test_a_default_window_counts_as_the_users_word_and_only_where_nobody_knows() -> None:
    assert Limits(default_window=128_000).denominators.window == Window(
        tokens=128_000, source="user"
    )
    known = Limits(
        window=Limit(tokens=200_000, source="catalogue"), default_window=128_000
    )
    assert known.denominators.window == Window(tokens=200_000, source="catalogue")


def test_a_better_source_wins_and_a_worse_one_changes_nothing() -> None:
    told = CATALOGUED.learn(learnt("provider", window=128_000))
    assert told.denominators.window.tokens == 128_000
    later = told.learn(learnt("error", window=1_000))
    assert later.denominators == told.denominators


@pytest.mark.parametrize(
    "order",
    list(
        permutations(
            [
                learnt("user", window=1),
                learnt("provider", window=2),
                learnt("error", window=3),
            ]
        )
    ),
)
def test_the_best_source_wins_in_whatever_order_they_come(
    order: tuple[LimitLearnt, ...],
) -> None:
    known = Limits(window=Limit(tokens=4, source="catalogue"))
    for event in order:
        known = known.learn(event)
    assert known.denominators.window == Window(tokens=1, source="user")


@pytest.mark.parametrize(("older", "newer"), [(8_192, 32_768), (128_000, 130_000)])
@pytest.mark.parametrize("known", [Limits(), CATALOGUED], ids=["unknown", "catalogued"])
def test_a_newer_word_of_the_same_source_replaces_the_older(
    known: Limits, older: int, newer: int
) -> None:
    known = known.learn(learnt("provider", window=older)).learn(
        learnt("provider", window=newer)
    )
    assert known.denominators.window.tokens == newer


@pytest.mark.parametrize("source", ["user", "provider"])
@pytest.mark.parametrize("known", [Limits(), CATALOGUED], ids=["unknown", "catalogued"])
@pytest.mark.parametrize("nonsense", [0, -1])
def test_a_limit_that_can_not_be_true_teaches_nothing(
    source: str, known: Limits, nonsense: int
) -> None:
    assert known.learn(learnt(source, window=nonsense)) == known


def test_every_limit_an_event_names_is_learnt() -> None:
    known = Limits().learn(
        learnt("provider", window=400_000, input_cap=272_000, max_output=128_000)
    )
    assert (known.window, known.input_cap, known.max_output) == tuple(
        Limit(tokens=each, source="provider") for each in (400_000, 272_000, 128_000)
    )


def test_another_model_forgets_what_was_learnt_but_not_what_the_user_said() -> None:
    learned = CATALOGUED.learn(learnt("provider", window=128_000))
    assert learned.of_model(None, None, None).denominators.window.source == "unknown"
    assert (
        CATALOGUED.with_settings({"window": 5_000})
        .of_model(100_000, None, None)
        .denominators.window.tokens
        == 5_000
    )


# -- settings --


@pytest.mark.parametrize("trigger", [0, -0.1, -0.5, math.nan, math.inf])
def test_a_trigger_that_can_not_be_reached_is_refused(trigger: float) -> None:
    with pytest.raises(SettingError, match=r"trigger=.*can't be reached"):
        Limits(trigger=trigger)


def test_a_reserve_below_zero_is_refused() -> None:
    with pytest.raises(SettingError, match=r"reserve=-1.*below zero"):
        Limits(reserve=-1)
    with pytest.raises(SettingError, match=r"reserve=-1.*below zero"):
        CATALOGUED.with_settings({"reserve": -1})


def test_settings_of_name_take_effect_and_none_takes_them_back() -> None:
    said = {
        "window": 50_000,
        "default_window": 9_000,
        "reserve": 1_000,
        "trigger": 0.5,
        "auto": False,
        "other": 1,
    }
    limits = Limits().with_settings(said)
    assert limits == Limits(
        window=Limit(tokens=50_000, source="user"),
        default_window=9_000,
        reserve=1_000,
        trigger=0.5,
        has_trigger=True,
        auto=False,
    )
    assert limits.with_settings(dict.fromkeys(said)) == Limits()


# -- what follows --

WINDOW = Limits(window=window(200_000))
CAPPED = Limits(window=window(400_000), input_cap=window(272_000))
TIGHT = Limits(window=window(8_000), reserve=9_000)
TRIGGER = int(DEFAULT_TRIGGER * 200_000)


@pytest.mark.parametrize(
    ("known", "reserve", "input_limit", "point"),
    [
        (WINDOW, 16_000, 184_000, 160_000),
        # The reserve is at most the model's output and a fifth of the window.
        (Limits(), DEFAULT_RESERVE, None, None),
        (CATALOGUED, DEFAULT_RESERVE, 184_000, TRIGGER),
        (replace(WINDOW, max_output=window(8_192)), 8_192, 191_808, TRIGGER),
        (Limits().of_model(200_000, None, 4_000), 4_000, 196_000, TRIGGER),
        (Limits(window=window(32_000)), 6_400, 25_600, 25_600),
        (Limits().of_model(10_000, None, None), 2_000, 8_000, 8_000),
        # The user's reserve is taken as it is, and the input limit never below zero.
        (Limits(reserve=7), 7, None, None),
        (TIGHT, 9_000, 0, 0),
        (Limits(reserve=20_000, default_window=10_000), 20_000, 0, 0),
        # An input cap below the window is the input limit, also where no window is known.
        (CAPPED, 16_000, 272_000, 272_000),
        (Limits().of_model(200_000, 100_000, None), 16_000, 100_000, 100_000),
        (Limits(input_cap=window(100_000)), 16_000, 100_000, 100_000),
        (Limits().of_model(None, 90_000, None), 16_000, 90_000, 90_000),
        # A trigger is a share, or above one a number of tokens; never above the limit.
        (replace(WINDOW, trigger=1), 16_000, 184_000, 184_000),
        (CATALOGUED.with_settings({"trigger": 10**9}), 16_000, 184_000, 184_000),
        (replace(WINDOW, trigger=150_000), 16_000, 184_000, 150_000),
        (CATALOGUED.with_settings({"trigger": 1_000}), 16_000, 184_000, 1_000),
        (replace(WINDOW, auto=False), 16_000, 184_000, None),
        (CATALOGUED.with_settings({"auto": False}), 16_000, 184_000, None),
    ],
)
def test_reserve_input_limit_and_compaction_point_follow_from_the_limits(
    known: Limits, reserve: int, input_limit: int | None, point: int | None
) -> None:
    found = known.denominators
    figures = (found.reserve, found.input_limit, found.compaction_point)
    assert figures == (reserve, input_limit, point)


@given(known=any_limits)
def test_denominators_keep_their_order(known: Limits) -> None:
    size, limit, point = (
        known.denominators.window.tokens,
        known.denominators.input_limit,
        known.denominators.compaction_point,
    )
    assert known.denominators.reserve >= 0
    if size is not None:
        assert limit is not None
        assert 0 <= limit <= size
    if point is not None:
        assert limit is not None
        assert 0 <= point <= limit
    assert (point is None) == (limit is None or not known.auto)


def test_a_window_that_is_set_too_large_is_capped_by_the_providers_refusal() -> None:
    refused = Limits(window=Limit(tokens=50_000, source="user")).learn(
        learnt("error", window=9_000)
    )
    window = refused.denominators.window
    assert (window.tokens, window.source) == (9_000, "error")
    assert (
        window.note == "50,000 tokens are set, but the provider refuses more than 9,000."
    )
    assert refused.learn(learnt("error", window=60_000)).denominators.window.tokens == 50_000  # fmt: skip
    same, other = {"window": 50_000}, {"window": 20_000}
    assert refused.with_settings(same).denominators.window.tokens == 9_000
    assert refused.with_settings(other).denominators.window.tokens == 20_000
    assert refused.of_model(1_000, None, None).denominators.window.tokens == 50_000
