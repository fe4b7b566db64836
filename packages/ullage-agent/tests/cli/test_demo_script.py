from ullage.context.prompt import TASK
from ullage_agent.cli import demo_script as script
from ullage_simulators.scenario import read


def test_the_summary_is_told_by_the_words_of_our_own_request() -> None:
    (summary,) = [answer for answer in script.answers() if "times" not in answer]
    assert len(summary["when"]["contains"]) > 40
    assert TASK.startswith(summary["when"]["contains"])


def test_the_script_is_a_scenario_and_each_answer_but_the_summary_is_given_once() -> None:
    scenario = read({"answers": script.answers()})
    assert [line.times for line in scenario.answers].count(0) == 1
    assert len(scenario.answers) == script.DAYS + script.ROUNDS + 4


def test_the_story_is_long_enough_to_be_cancelled_in_the_middle() -> None:
    (story,) = [
        answer
        for answer in script.answers()
        if answer.get("when", {}).get("contains") == script.STORY
    ]
    assert len(story["text"]) > 1_500


def test_calls_run_side_by_side_and_are_never_the_same_in_one_answer() -> None:
    batches = [
        [str(call) for call in answer.get("calls", [])] for answer in script.answers()
    ]
    assert any(len(batch) == 3 for batch in batches)
    assert all(len(set(batch)) == len(batch) for batch in batches)


def test_the_logs_are_the_same_on_every_run() -> None:
    assert script.log_of(7) == script.log_of(7) != script.log_of(8)
    assert "the pump failed" in script.log_of(
        2
    ) and "the pump failed" not in script.log_of(3)


def test_every_call_of_the_script_is_one_of_a_tool_there_is() -> None:
    names = {tool.name for tool in script.tools_of(pause_s=0)}
    assert {
        call["name"] for answer in script.answers() for call in answer.get("calls", [])
    } == names
