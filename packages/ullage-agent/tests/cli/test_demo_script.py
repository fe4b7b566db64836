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


def test_every_call_of_the_script_is_one_of_a_tool_there_is() -> None:
    names = {tool.name for tool in script.tools_of(pause_s=0)}
    assert {
        call["name"] for answer in script.answers() for call in answer.get("calls", [])
    } == names
