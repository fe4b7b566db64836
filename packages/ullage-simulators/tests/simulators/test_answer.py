import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage_simulators.answer import Call, ScriptedAnswer, default_answer, speak
from ullage_simulators.drawn import Drawn
from ullage_simulators.models import Model
from ullage_simulators.prompt import DeclaredTool, ScriptContext

MODEL = Model("m", "openai", 1_000, 100)
PLAIN = Drawn(1.0, 1.0, 2.0, 1, 2, 3, 4, 5, 6, 7, True, False)


def test_the_default_assistant_repeats_calls_and_reports() -> None:
    weather = DeclaredTool(
        "get_weather",
        {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    )
    clock = DeclaredTool(
        "get_time",
        {"properties": {"zone": {"enum": ["UTC", "CET"]}}, "required": ["zone"]},
    )
    assert (
        default_answer(ScriptContext(1, "hello", (), (weather,))).text
        == "You said: hello"
    )
    called = default_answer(
        ScriptContext(1, "get_weather and get_time", (), (weather, clock))
    ).calls
    assert [json.loads(call.arguments) for call in called] == [
        {"city": "get_weather and get_time", "days": 1},
        {"zone": "UTC"},
    ]
    assert (
        default_answer(ScriptContext(2, "", (("get_weather", "sunny"),))).text
        == "Done: get_weather gave sunny"
    )


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": 1},
        {"properties": {"a": None}},
        {"properties": {"a": {"type": ["x"]}}},
        {"type": "x"},
    ],
)
def test_the_default_assistant_takes_any_schema(schema: dict[str, object]) -> None:
    assert (
        json.loads(
            default_answer(ScriptContext(1, "f", (), (DeclaredTool("f", schema),)))
            .calls[0]
            .arguments
        )
        is not None
    )


@given(st.integers(1, 60), st.text(max_size=60), st.text(max_size=40))
def test_an_answer_keeps_to_its_budget(budget: int, text: str, reasoning: str) -> None:
    answer = ScriptedAnswer(
        reasoning, text, (Call("f", '{"a": "a long value with some words"}'),)
    )
    spoken = speak(answer, MODEL, PLAIN, budget=budget, thinks=True)
    assert spoken.output <= budget
    assert (spoken.stop == "length") == (spoken.answer != answer)


def test_an_answer_within_its_budget_is_whole() -> None:
    answer = ScriptedAnswer("hm", "yes", (Call("f"),))
    spoken = speak(answer, MODEL, PLAIN, budget=None, thinks=True)
    assert (spoken.answer, spoken.stop, spoken.reasoning) == (answer, "", 2)
    assert speak(answer, MODEL, PLAIN, budget=None, thinks=False).answer.reasoning == ""
