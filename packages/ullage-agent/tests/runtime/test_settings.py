from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.errors import SettingError
from ullage_agent.loop.budgets import Budget
from ullage_agent.runtime.setting_values import McpServerSetting
from ullage_agent.runtime.settings import (
    KEYS,
    PER_MODEL,
    Settings,
    meaning_of,
)


def changed(settings: Settings, changes: dict[str, Any]) -> Settings:
    return replace(settings, **changes)


def test_every_key_says_what_it_means_and_reads_its_own_default() -> None:
    for key in KEYS:
        meaning = meaning_of(key)
        assert meaning.meaning
        default = getattr(Settings(), key)
        assert meaning.read(default) == default


def test_an_unknown_key_is_named_with_the_nearest() -> None:
    with pytest.raises(
        SettingError,
        match=r"'max-step' is no argument or setting here. Did you mean 'max_steps'\?",
    ):
        meaning_of("max-step")


WRONG: dict[str, Any] = {
    "trigger": 0, "window": 0, "reserve": -1, "auto": "perhaps", "reasoning": "some", "estimator": "guess", "keep": 1,
    "effort": "huge", "temperature": float("nan"), "wire": "smoke", "max_steps": 2.5, "budget": "much",
    "session_budget": {"usd": "much"}, "rates": {"calls": 5},
    "instruction_files": ["../secret"], "tools": 3, "root": 3, "params": [], "model": 1,
    "mcp": {"a": {}}, "models": {"m": 1}, "lease_ttl_s": 0, "max_output": True, "cancel_tools": "kill",
    "approve": [""], "timeout": 0, "strategy": "hybird",
}  # fmt: skip


@pytest.mark.parametrize("key", WRONG)
def test_a_value_that_can_not_be_is_refused_with_its_key(key: str) -> None:
    with pytest.raises(SettingError, match=key):
        changed(Settings(), {key: WRONG[key]})
    with pytest.raises(SettingError, match=key):
        Settings(**{key: WRONG[key]})


def test_a_session_compacts_by_itself_unless_that_is_off_or_nothing_is_chosen() -> None:
    assert Settings().compacts
    assert not changed(Settings(), {"auto": False}).compacts
    assert not changed(Settings(), {"strategy": "noop"}).compacts
    assert changed(Settings(), {"strategy": "prune"}).compacts


def test_the_table_of_a_model_holds_only_keys_of_a_model() -> None:
    read = Settings(models={"m": {"window": "32k"}})
    assert read.models == {"m": {"window": 32_000}}
    with pytest.raises(
        SettingError,
        match=r"models\.m: 'windo' is no argument or setting here. Did you mean 'window'",
    ):
        Settings(models={"m": {"windo": 1}})
    assert set(PER_MODEL) == {
        "window", "reserve", "trigger", "max_output", "effort", "temperature", "params",
    }  # fmt: skip


def test_what_a_call_asks_for_is_handed_over_whole() -> None:
    options = Settings(
        max_output="2k",  # type: ignore[arg-type]
        effort="none",
        temperature=1,
    ).options
    assert options.max_output == 2_000
    assert options.effort == "none"
    assert options.temperature == 1.0
    assert options.thinking_budget is None
    for value in ("8k", 8_000):
        options = changed(Settings(), {"effort": value}).options
        assert (options.effort, options.thinking_budget) == (None, 8_000)


def test_a_budget_is_a_table_or_one_text() -> None:
    wanted = Budget(usd=5.0, tokens=2_000_000)
    for value in (wanted, {"usd": 5, "tokens": "2M"}, "usd=5, tokens=2M"):
        settings = changed(Settings(), {"budget": value, "session_budget": "none"})
        assert (settings.budget, settings.session_budget) == (wanted, Budget())
    rates = changed(Settings(), {"rates": "requests=50"}).rates
    assert rates.per_minute == {"requests": 50.0}
    with pytest.raises(SettingError, match=r"budget=.*'usdd' is none of .*mean 'usd'"):
        changed(Settings(), {"budget": {"usdd": 5}})
    with pytest.raises(SettingError, match=r"budget=.* tokens: give a whole number"):
        changed(Settings(), {"budget": {"tokens": "many"}})


def test_a_refused_table_is_not_printed() -> None:
    with pytest.raises(SettingError) as caught:
        Settings(mcp={"a": {"headers": {"Authorization": "hush"}}})  # type: ignore[dict-item]
    assert "hush" not in str(caught.value)
    assert "hush" not in repr(
        Settings(
            mcp={"a": McpServerSetting(url="http://x", headers={"Authorization": "hush"})}
        )
    )


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "window": st.integers(1, 10**7),
            "trigger": st.floats(0.01, 1) | st.integers(2, 10**7),
            "auto": st.booleans(),
            "keep": st.floats(0.01, 0.99),
            "tools": st.lists(st.text("abc_", min_size=1)),
            "max_steps": st.integers(1, 10**4),
        },
    )
)
def test_reading_what_was_read_changes_nothing(changes: dict[str, Any]) -> None:
    settings = changed(Settings(), changes)
    assert changed(settings, {key: getattr(settings, key) for key in KEYS}) == settings
    written = {
        key: value if isinstance(value, list) else str(value)
        for key, value in changes.items()
    }
    assert changed(Settings(), written) == settings
