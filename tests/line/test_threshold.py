import pytest

from ullage_line.threshold import Threshold, threshold


def point(
    window: int = 200_000,
    observed: int = 0,
    environment: dict[str, str] | None = None,
    *settings: dict[str, object],
) -> tuple[int, bool, bool]:
    found = threshold(window, observed, environment or {}, list(settings))
    assert found is not None
    return found.tokens, found.is_observed, found.compacts


def test_the_program_compacts_33000_below_the_window_which_is_not_yet_observed() -> None:
    assert point() == (167_000, False, True)
    assert point(1_000_000) == (967_000, False, True)


def test_an_unknown_window_has_no_threshold_but_an_observed_one() -> None:
    assert threshold(0, 0, {}, []) is None
    found = threshold(0, 167_094, {}, [])
    assert isinstance(found, Threshold)
    assert found.tokens == 167_094


@pytest.mark.parametrize("observed", [167_094, 167_117, 167_731, 170_251])
def test_a_compaction_just_above_the_threshold_confirms_it(observed: int) -> None:
    assert point(observed=observed) == (167_000, True, True)


def test_a_compaction_elsewhere_is_where_this_session_compacts() -> None:
    assert point(observed=155_066) == (155_066, True, True)
    assert point(observed=60_500) == (60_500, True, True)


def test_a_percentage_is_of_the_window_without_the_answer_and_only_lowers() -> None:
    assert point(environment={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"})[0] == 90_000
    assert point(environment={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "95"})[0] == 167_000


@pytest.mark.parametrize("word", ["", "0", "-5", "101", "nan", "inf", "many", "1e999"])
def test_a_percentage_that_makes_no_sense_is_not_used(word: str) -> None:
    assert point(environment={"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": word})[0] == 167_000


def test_a_narrower_window_can_be_set_in_the_environment_or_the_settings() -> None:
    variable = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
    assert point(1_000_000, 0, variable)[0] == 167_000
    assert point(1_000_000, 0, {}, {"autoCompactWindow": 300_000})[0] == 267_000
    assert point(200_000, 0, {}, {"autoCompactWindow": 300_000})[0] == 167_000


def test_the_stronger_settings_file_wins_and_its_env_counts_as_environment() -> None:
    percent = {"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}}
    other = {"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "20"}}
    assert point(200_000, 0, {}, dict(percent), dict(other))[0] == 90_000


@pytest.mark.parametrize(
    "settings",
    [{"autoCompactEnabled": False}, {"env": {"DISABLE_AUTO_COMPACT": "1"}}],
)
def test_with_compaction_switched_off_the_window_is_the_end(
    settings: dict[str, object],
) -> None:
    assert point(200_000, 0, {}, settings) == (200_000, True, False)


def test_settings_of_wrong_types_are_not_used() -> None:
    strange: dict[str, object] = {
        "autoCompactEnabled": "no",
        "autoCompactWindow": "many",
        "env": ["x"],
    }
    assert point(200_000, 0, {}, strange)[0] == 167_000
