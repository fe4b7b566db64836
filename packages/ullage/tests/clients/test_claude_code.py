import pytest

from ullage_programs.claude_code.facts import FACTS
from ullage_programs.facts import Circumstances, ClientSetting

NEW, OLD, OLDER = (2, 1, 330), (2, 1, 197), (2, 1, 70)


def known(
    model: str, version: tuple[int, ...] = NEW, **settings: object
) -> Circumstances:
    return Circumstances(
        model=model,
        version=version,
        max_output=64_000,
        settings={name: ClientSetting(value, name) for name, value in settings.items()},
    )


def compacts_at(
    model: str, version: tuple[int, ...] = NEW, **settings: object
) -> int | None:
    return compacts_with(model, settings, version)


def compacts_with(
    model: str, settings: dict[str, object], version: tuple[int, ...] = NEW
) -> int | None:
    circumstances = Circumstances(
        model=model,
        version=version,
        max_output=64_000,
        settings={name: ClientSetting(value, name) for name, value in settings.items()},
    )
    window = FACTS.window(circumstances)
    assert window is not None and window.tokens is not None
    threshold = FACTS.threshold(circumstances, window.tokens)
    assert threshold is not None
    return threshold.tokens


@pytest.mark.parametrize(
    ("model", "version", "tokens"),
    [
        ("claude-opus-4-6", NEW, 200_000),
        ("claude-sonnet-4-6", OLD, 200_000),
        ("claude-sonnet-4-5-20250929", NEW, 200_000),
        ("claude-opus-4-20250514", NEW, 200_000),
        ("claude-haiku-4-5", NEW, 200_000),
        ("claude-opus-4-6[1m]", NEW, 1_000_000),
        ("claude-opus-4-8[1m]", OLD, 1_000_000),
        ("claude-opus-4-8", NEW, 1_000_000),
        ("claude-opus-5-5", NEW, 1_000_000),
        ("us.anthropic.claude-sonnet-5", NEW, 1_000_000),
        ("claude-opus-4-8", OLD, 200_000),
        ("claude-sonnet-5", OLD, 200_000),
    ],
)
def test_the_window_is_200k_unless_the_model_or_its_name_says_1m(
    model: str, version: tuple[int, ...], tokens: int
) -> None:
    window = FACTS.window(known(model, version))
    assert window is not None
    assert (window.tokens, window.source) == (tokens, "documented")


def test_a_model_of_another_vendor_has_no_known_window() -> None:
    assert FACTS.window(known("gpt-5")) is None
    assert FACTS.window(known("")) is None


def test_the_long_window_can_be_turned_off() -> None:
    window = FACTS.window(known("claude-opus-5-5", CLAUDE_CODE_DISABLE_1M_CONTEXT="1"))
    assert window == (200_000, "settings", "CLAUDE_CODE_DISABLE_1M_CONTEXT")


def test_it_compacts_33000_tokens_below_its_window() -> None:
    assert compacts_at("claude-opus-4-6") == 167_000
    assert compacts_at("claude-opus-5-5") == 967_000
    assert compacts_at("claude-sonnet-4-5", OLDER) == 167_000


def test_a_model_with_short_answers_leaves_less_room_for_the_summary() -> None:
    circumstances = Circumstances(model="claude-3-5-haiku", max_output=8_192)
    threshold = FACTS.threshold(circumstances, 200_000)
    assert threshold is not None
    assert threshold.tokens == 200_000 - 8_192 - 13_000


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-6[1m]"]
)
def test_some_models_are_compacted_only_when_the_provider_refuses(model: str) -> None:
    circumstances = known(model)
    window = FACTS.window(circumstances)
    assert window is not None and window.tokens is not None
    threshold = FACTS.threshold(circumstances, window.tokens)
    assert threshold is not None
    assert threshold.tokens == window.tokens
    assert "refuses" in threshold.note


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ("150000", 117_000),
        ("150k", 117_000),
        ("1m", 167_000),
        ("20000", 67_000),
        ("many", 167_000),
        ("", 167_000),
    ],
)
def test_the_environment_sets_a_window_of_at_least_100k(value: str, tokens: int) -> None:
    assert compacts_at("claude-opus-4-6", CLAUDE_CODE_AUTO_COMPACT_WINDOW=value) == tokens


def test_the_settings_file_sets_it_too_and_the_environment_wins() -> None:
    assert compacts_at("claude-opus-4-6", autoCompactWindow=120_000) == 87_000
    assert (
        compacts_at(
            "claude-opus-4-6",
            autoCompactWindow=120_000,
            CLAUDE_CODE_AUTO_COMPACT_WINDOW="150000",
        )
        == 117_000
    )


def test_a_window_of_one_model_wins_over_that_of_all_models() -> None:
    table = {"claude-opus-4-6": {"autoCompactWindow": 130_000}}
    assert (
        compacts_at("claude-opus-4-6", autoCompactWindow=120_000, modelSettings=table)
        == 97_000
    )
    assert (
        compacts_at("claude-sonnet-4-6", autoCompactWindow=120_000, modelSettings=table)
        == 87_000
    )


def test_a_window_that_is_set_counts_for_every_model() -> None:
    assert compacts_at("claude-sonnet-4-5", autoCompactWindow=120_000) == 87_000


def test_a_percentage_only_lowers_the_threshold() -> None:
    assert compacts_at("claude-opus-4-6", CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="50") == 90_000
    assert compacts_at("claude-opus-4-6", CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="99") == 167_000


@pytest.mark.parametrize(
    "settings",
    [
        {"DISABLE_AUTO_COMPACT": "1"},
        {"DISABLE_COMPACT": "true"},
        {"autoCompactEnabled": False},
    ],
)
def test_it_never_compacts_when_that_is_turned_off(settings: dict[str, object]) -> None:
    assert compacts_with("claude-opus-4-6", settings) is None


@pytest.mark.parametrize("value", [None, [], {}, -1, 1e400, float("nan"), True, "x" * 9])
def test_settings_of_wrong_types_change_nothing(value: object) -> None:
    settings: dict[str, object] = {
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": value,
        "autoCompactWindow": value,
        "modelSettings": value,
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": value,
        "autoCompactEnabled": value,
    }
    assert compacts_with("claude-opus-4-6", settings) == 167_000
