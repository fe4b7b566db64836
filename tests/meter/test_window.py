"""Whose word on a limit counts, and what follows from it."""

import pytest

from ullage.errors import SettingError
from ullage.events import LimitLearnt
from ullage.meter.window import DEFAULT_RESERVE, DEFAULT_TRIGGER, Limit, Limits

CATALOGUED = Limits().of_model(200_000, None, 64_000)


def learnt(source: str, **limits: int) -> LimitLearnt:
    return LimitLearnt(model="m", source=source, **limits)  # type: ignore[arg-type]


def test_a_better_source_wins_and_a_worse_one_changes_nothing() -> None:
    told = CATALOGUED.learn(learnt("provider", window=128_000))
    assert told.known_window.tokens == 128_000
    assert told.learn(learnt("error", window=1_000)) == told
    assert told.learn(learnt("provider", window=130_000)).known_window.tokens == 130_000


@pytest.mark.parametrize("nonsense", [0, -1])
def test_a_limit_that_cannot_be_is_not_believed(nonsense: int) -> None:
    assert CATALOGUED.learn(learnt("user", window=nonsense)) == CATALOGUED


@pytest.mark.parametrize("trigger", [0, -0.5, float("inf"), float("nan")])
def test_a_trigger_that_can_not_be_reached_is_refused(trigger: float) -> None:
    with pytest.raises(SettingError, match="can't be reached"):
        Limits(trigger=trigger)


def test_a_reserve_below_zero_is_refused() -> None:
    with pytest.raises(SettingError, match="below zero"):
        CATALOGUED.with_settings({"reserve": -1})


def test_settings_by_name_take_effect_and_none_takes_them_back() -> None:
    said = {"window": 50_000, "default_window": 9_000, "reserve": 1_000, "trigger": 0.5, "auto": False, "other": 1}
    limits = Limits().with_settings(said)
    assert limits == Limits(
        window=Limit(tokens=50_000, source="user"), default_window=9_000, reserve=1_000, trigger=0.5, auto=False
    )
    assert limits.with_settings(dict.fromkeys(said)) == Limits()


def test_another_model_forgets_what_was_learnt_but_not_what_the_user_said() -> None:
    learned = CATALOGUED.learn(learnt("provider", window=128_000))
    assert learned.of_model(None, None, None).known_window.source == "unknown"
    assert CATALOGUED.with_settings({"window": 5_000}).of_model(100_000, None, None).known_window.tokens == 5_000


def test_the_reserve_is_capped_by_the_models_output_and_by_a_fifth_of_the_window() -> None:
    assert CATALOGUED.kept_reserve == DEFAULT_RESERVE
    assert Limits().of_model(200_000, None, 4_000).kept_reserve == 4_000
    assert Limits().of_model(10_000, None, None).kept_reserve == 2_000
    assert Limits(reserve=7).kept_reserve == 7


def test_the_input_limit_is_the_smaller_bound_and_never_below_zero() -> None:
    assert Limits().of_model(200_000, 100_000, None).input_limit == 100_000
    assert Limits().of_model(None, 100_000, None).input_limit == 100_000
    assert Limits(reserve=20_000, default_window=10_000).input_limit == 0
    assert Limits().input_limit is None


def test_compaction_starts_at_the_trigger_but_never_above_the_input_limit() -> None:
    assert CATALOGUED.compaction_point == int(DEFAULT_TRIGGER * 200_000)
    assert CATALOGUED.with_settings({"trigger": 1_000}).compaction_point == 1_000
    assert CATALOGUED.with_settings({"trigger": 10**9}).compaction_point == CATALOGUED.input_limit
    assert Limits().of_model(None, 90_000, None).compaction_point == 90_000
    assert CATALOGUED.with_settings({"auto": False}).compaction_point is None
    assert Limits().compaction_point is None
