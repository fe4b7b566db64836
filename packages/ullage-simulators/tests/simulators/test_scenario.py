import json
from pathlib import Path
from typing import Any

import pytest

from tests.simulators.asking import WEATHER, Ask, Body, Talk
from ullage_simulators import Scenario, SimulatorError, load, running
from ullage_simulators.prompt import ScriptContext as Asked
from ullage_simulators.scenario import read

EXAMPLES = sorted((Path(__file__).parents[4] / "examples" / "scenarios").glob("*.toml"))


def claude(*messages: Body, **more: Any) -> Ask:
    return Ask(
        "/v1/messages",
        {
            "model": "claude-opus-4-6",
            "max_tokens": 5_000,
            "messages": list(messages),
            **more,
        },
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_load(path: Path) -> None:
    scenario = load(path)
    assert scenario.answers or scenario.faults or scenario.models


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    content = {
        "answers": [{"text": "Yes.", "when": {"contains": "?"}}],
        "server": {"key": "k"},
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    (tmp_path / "a.toml").write_text(
        '[server]\nkey = "k"\n[[answers]]\ntext = "Yes."\nwhen = { contains = "?" }\n'
    )
    assert load(tmp_path / "a.json") == load(tmp_path / "a.toml") == read(content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"answer": []}, "Did you mean 'answers'"),
        ({"answers": {}}, r"write \[\[answers\]\]"),
        ({"answers": [{"txt": "x"}]}, "Did you mean 'text'"),
        ({"answers": [{"text": 1}]}, r"Expected `str`, got `int` - at `\$.answer.text`"),
        ({"answers": [{"text": "x", "stop": "end"}]}, r"Invalid enum value 'end' - at `\$.answer.stop`"),
        ({"answers": [{"text": "x", "when": {"after": "model"}}]}, r"Invalid enum value 'model' - at `\$.when.after`"),
        ({"answers": [{"calls": [{"name": "f", "arguments": 1}]}]}, r"Expected `str`, got `int` - at `\$.answer.calls"),
        ({"faults": [{"kind": "explode"}]}, "a fault's kind is one of"),
        ({"faults": [{"kind": "cut", "at": -1}]}, r"Expected `int` >= 0 - at `\$.at`"),
        ({"faults": [{"kind": "cut", "at": True}]}, r"Expected `int`, got `bool` - at `\$.at`"),
        ({"models": [{"name": "mine"}]}, "which it is like"),
        ({"server": {"port": 1}}, "may have"),
        ({"drawn": {"factors": 1}}, "Did you mean 'factor'"),
        ({"drawn": {"loop": 1}}, r"Expected `bool`, got `int` - at `\$.loop`"),
        ({"drawn": {"gpt-5": {"factors": 1}}}, "Did you mean 'factor'"),
        ([], "a scenario is a table"),
    ],
)  # fmt: skip
def test_what_a_scenario_may_not_say_is_named(content: Any, says: str) -> None:
    with pytest.raises(SimulatorError, match=says):
        read(content)


def test_a_file_that_is_not_there_or_no_toml_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="can't be read"):
        load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(SimulatorError, match="no valid TOML"):
        load(tmp_path / "bad.toml")


def test_answers_are_matched_by_step_by_words_by_what_came_last_and_by_model() -> None:
    lines = [
        {"when": {"step": 2}, "text": "second step"},
        {"when": {"contains": "rain"}, "text": "about rain"},
        {"when": {"after": "tool"}, "text": "after a tool"},
        {"when": {"model": "gpt-5"}, "text": "only gpt-5"},
        {"times": 1, "text": "once"},
        {"text": "always"},
    ]
    scenario, spent = read({"answers": lines}), dict[int, int]()
    said = [
        scenario.answer(asked, model, spent).text
        for asked, model in [
            (Asked(2), "m"),
            (Asked(1, "will it rain?"), "m"),
            (Asked(1, "", (("f", "rain"),)), "m"),
            (Asked(1, "", (("f", "sun"),)), "m"),
            (Asked(1), "gpt-5"),
            (Asked(1), "m"),
            (Asked(1), "m"),
        ]
    ]
    assert said == [
        "second step",
        "about rain",
        "about rain",
        "after a tool",
        "only gpt-5",
        "once",
        "always",
    ]


def test_a_dated_name_is_its_model_and_its_answers() -> None:
    line = {"when": {"model": "gpt-5"}, "text": "only gpt-5"}
    scenario, dated = read({"answers": [line]}), "gpt-5-2025-08-07"
    model = scenario.model(dated, "openai")
    assert model is not None
    assert model.name == "gpt-5"
    assert scenario.answer(Asked(1), dated, {}).text == "only gpt-5"
    assert scenario.answer(Asked(1), "gpt-5-turbo", {}).text != "only gpt-5"


def test_an_unknown_name_is_treated_as_the_newest_of_its_family() -> None:
    scenario = Scenario()
    model = scenario.model("gpt-99", "openai")
    assert model is not None
    assert model.name == "gpt-99"
    assert scenario.model("gpt-99", "anthropic") is None


def test_arguments_a_model_got_wrong_are_streamed_as_they_are() -> None:
    lines = [{"calls": [{"name": "get_weather", "arguments": '{"city": "Par'}]}]
    tool = {"name": "get_weather", "input_schema": WEATHER}
    with running(read({"answers": lines})) as server:
        asked = claude({"role": "user", "content": "x"}, tools=[tool], stream=True)
        events = Talk(server).events("anthropic", asked)
    parts = [
        each["delta"]["partial_json"]
        for each in events
        if each.get("delta", {}).get("type") == "input_json_delta"
    ]
    assert "".join(parts) == '{"city": "Par'


def test_redacted_reasoning_comes_back_accepted_and_altered_refused() -> None:
    with running(
        read({"answers": [{"reasoning": "Secret.", "redacted": True, "text": "No."}]})
    ) as server:
        talk = Talk(server)
        first = claude({"role": "user", "content": "x"}, thinking={"type": "adaptive"})
        content = talk.ok("anthropic", first)["content"]
        assert [block["type"] for block in content] == ["redacted_thinking", "text"]
        said = {"role": "assistant", "content": content}
        again = first.but(
            messages=[*first.body["messages"], said, {"role": "user", "content": "y"}]
        )
        assert talk.status("anthropic", again) == 200
        altered = again.but()
        altered.body["messages"][1]["content"][0]["data"] = "c2VjcmV0"
        assert (
            "Invalid `data` in `redacted_thinking` block"
            in talk.send("anthropic", altered).text
        )


def test_items_of_kinds_nobody_knows_are_sent_and_taken_back() -> None:
    extra = {"type": "simulated_block", "payload": {"n": [1, 2]}}
    item = {"type": "simulated_item", "id": "sim_1", "payload": {"n": [1, 2]}}
    lines = [
        {"when": {"model": "claude-opus-4-6"}, "text": "x", "extra": [extra]},
        {"text": "x", "extra": [item]},
    ]
    with running(read({"answers": lines})) as server:
        talk = Talk(server)
        first = claude({"role": "user", "content": "x"})
        content = talk.ok("anthropic", first)["content"]
        assert extra in content
        said = {"role": "assistant", "content": content}
        again = first.but(
            messages=[*first.body["messages"], said, {"role": "user", "content": "y"}]
        )
        assert talk.status("anthropic", again) == 200
        output = talk.ok("openai", Ask("/responses", {"model": "gpt-4.1", "input": "x"}))[
            "output"
        ]
        assert item in output
        sent = Ask(
            "/responses",
            {"model": "gpt-4.1", "input": [*output, {"role": "user", "content": "y"}]},
        )
        assert talk.status("openai", sent) == 200


def test_refusals_and_filters_end_as_each_wire_says_it() -> None:
    with running(read({"answers": [{"text": "I can't.", "stop": "refusal"}]})) as server:
        talk = Talk(server)
        assert (
            talk.ok("anthropic", claude({"role": "user", "content": "x"}))["stop_reason"]
            == "refusal"
        )
        output = talk.ok("openai", Ask("/responses", {"model": "gpt-4.1", "input": "x"}))[
            "output"
        ]
        assert output[0]["content"] == [{"type": "refusal", "refusal": "I can't."}]
        chat = Ask(
            "/chat/completions",
            {"model": "gpt-4.1", "messages": [{"role": "user", "content": "x"}]},
        )
        assert talk.ok("openai", chat)["choices"][0]["message"]["refusal"] == "I can't."
        body = {"contents": [{"parts": [{"text": "x"}]}]}
        given = talk.ok(
            "gemini", Ask("/v1beta/models/gemini-2.5-flash:generateContent", body)
        )
        assert given["candidates"][0]["finishReason"] == "PROHIBITED_CONTENT"
