"""Scenarios of the plug-in bench: what the person does, and what the model answers."""

import pytest

from bench.plugins.framework import MODELS, PLAIN_CHAT, Framework
from bench.plugins.scenarios import (
    ASKED_FOR_SUMMARY,
    LONG,
    MIXED,
    SCENARIOS,
    SHORT,
    Played,
    PluginScenario,
    script,
)
from ullage_simulators.prompt import ScriptContext

FRAMEWORK = Framework("Cask", (PLAIN_CHAT,))
BY_NAME = {each.name: each for each in (*SCENARIOS, MIXED)}


def played(name: str, window: int = 9_000) -> Played:
    return BY_NAME[name].played(FRAMEWORK, window, 4)


@pytest.mark.parametrize("scenario", list(BY_NAME.values()), ids=lambda each: each.name)
def test_a_scenario_is_the_same_at_every_run_and_another_with_another_seed(
    scenario: PluginScenario,
) -> None:
    once = scenario.played(FRAMEWORK, 9_000, 4)
    assert once == scenario.played(FRAMEWORK, 9_000, 4)
    assert once != scenario.played(FRAMEWORK, 9_000, 5)


@pytest.mark.parametrize("window", list(LONG))
def test_the_long_session_has_all_its_turns_and_nothing_else(window: int) -> None:
    steps = played("long session", window).steps
    assert len(steps) == LONG[window] > SHORT[window]
    assert not any(step.streams or step.stop_after or step.lost_call for step in steps)


def test_a_restart_gives_two_parts_of_one_session() -> None:
    parts = played("restart").parts
    assert [len(part) for part in parts] == [15, 15]


def test_every_tenth_turn_is_followed_by_a_cancelled_one_with_an_answer_of_its_own() -> (
    None
):
    whole = played("cancelled stream")
    left = [step for step in whole.steps if step.stop_after]
    assert len(left) == 3
    assert not any(step.is_kept for step in left)
    answer = script(whole, FRAMEWORK).answer(
        ScriptContext(1, text=left[0].said), MODELS[0], {}
    )
    assert len(answer.text) > 5_000


def test_lost_calls_have_ids_of_their_own() -> None:
    steps = played("lost tool call").steps
    lost = [step.lost_call for step in steps if step.lost_call]
    assert len(lost) == len(set(lost)) == 2


def test_a_lost_call_is_followed_by_a_turn_in_whose_request_it_can_be_seen() -> None:
    assert not played("lost tool call").steps[-1].lost_call


def test_the_model_changes_and_changes_back() -> None:
    models = [step.model for step in played("model change").steps]
    assert (models[0], models[15], models[-1]) == (MODELS[0], MODELS[1], MODELS[0])


def test_the_mixed_scenario_has_a_restart_a_cancelled_stream_and_a_model_change() -> None:
    mixed = played("mixed")
    assert len(mixed.parts) == 2
    assert any(step.stop_after for step in mixed.steps)
    assert {step.model for step in mixed.steps} == set(MODELS)


def test_a_part_tells_its_own_steps_and_where_its_store_is() -> None:
    plan = played("restart").plan(1, "there")
    assert (plan["folder"], plan["window"], len(plan["steps"])) == ("there", 9_000, 15)


@pytest.mark.parametrize("marker", ASKED_FOR_SUMMARY)
def test_every_request_for_a_summary_is_answered_by_the_same_text(marker: str) -> None:
    answers = script(played("long session"), FRAMEWORK)
    said = answers.answer(ScriptContext(1, text=f"{marker} …"), MODELS[0], {}).text
    assert said.startswith("## Goal")
