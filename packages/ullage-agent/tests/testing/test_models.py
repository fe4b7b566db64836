"""Models of a test: each kind of answer, in both, and the messages of a script that does not fit."""

import asyncio
import dataclasses
import enum
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest

from ullage.errors import (
    AnswerInvalid,
    InternalError,
    QuotaExhausted,
    RateLimited,
    WrongType,
)
from ullage.messages import ReasoningPart, Request, Stopped, ToolCallPart
from ullage.usage import Usage
from ullage_agent.runtime.agent import Agent
from ullage_agent.testing import (
    Delay,
    FunctionModel,
    ScriptedModel,
    reasoning,
    structured,
    tool_call,
)


def agent(model: Any, store: Path, **more: Any) -> Agent[Any, Any]:
    made: Agent[Any, Any] = Agent(
        model, store=store / "s.db", config=False, environment={}, **more
    )
    return made


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_a_script_of_reasoning_text_calls_and_usage(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            [
                reasoning("I add."),
                "One moment.",
                tool_call("add", a=1, b=2),
                Usage(input=140, output=9),
            ],
            ["Three.", Usage(input=150, output=3)],
        ]
    )
    result = agent(model, tmp_path, tools=[add], system="Be brief.").run_sync("1+2?")
    assert result.text == "Three."
    spend = result.reading.spend.all
    assert (spend.input, spend.output) == (290, 12)
    first, second = model.requests
    assert first.system[0].text == "Be brief."
    assert "add" in [tool.name for tool in first.tools]
    said = second.messages[-2]
    assert [part.text for part in said.of_type(ReasoningPart)] == ["I add."]
    assert [part.arguments for part in said.of_type(ToolCallPart)] == ['{"a":1,"b":2}']


def test_two_calls_at_once_are_two(tmp_path: Path) -> None:
    model = ScriptedModel(
        [[tool_call("add", a=1, b=2), tool_call("add", a=3, b=4)], "Ok."]
    )
    agent(model, tmp_path, tools=[add]).run_sync("Add.")
    results = [message.role for message in model.requests[1].messages[2:]]
    assert results == ["tool", "tool"]


def test_text_streams_word_by_word(tmp_path: Path) -> None:
    async def pieces() -> list[str]:
        model = ScriptedModel([["The hall ", Delay(0.001), "is empty."]], pause_s=0.0001)
        return [piece async for piece in agent(model, tmp_path).stream("Hi")]

    assert asyncio.run(pieces()) == ["The ", "hall ", "is ", "empty."]


def test_usage_that_is_not_scripted_is_made_up(tmp_path: Path) -> None:
    result = agent(ScriptedModel(["Hello."]), tmp_path).run_sync("Hi")
    assert result.reading.used.tokens > 10


def test_errors_are_raised_and_tried_again_as_real_ones(tmp_path: Path) -> None:
    model = ScriptedModel([RateLimited("Later.", retry_after_s=0.001), "Hello."])
    assert agent(model, tmp_path).run_sync("Hi").text == "Hello."
    with pytest.raises(QuotaExhausted):
        agent(ScriptedModel([QuotaExhausted("No money.")]), tmp_path).run_sync("Hi")


def test_an_answer_may_be_cut(tmp_path: Path) -> None:
    model = ScriptedModel([["The", Stopped("refused")]])
    assert agent(model, tmp_path).run_sync("Hi").reason != "finished"


@dataclasses.dataclass
class City:
    name: str
    people: int


class Town(pydantic.BaseModel):
    name: str


class Village(msgspec.Struct):
    name: str


class Size(enum.Enum):
    SMALL = "small"


TYPED = [
    (City, City("Rome", 3)),
    (Town, Town(name="Bath")),
    (Village, Village("Ash")),
    (list[str], structured(["a", "b"])),
    (int, 7),
    (Size, Size.SMALL),
    (bool, True),
]


@pytest.mark.parametrize("by", ["schema", "tool"])
@pytest.mark.parametrize(("kind", "answer"), TYPED)
def test_typed_answers(tmp_path: Path, kind: Any, answer: Any, by: Any) -> None:
    expected = getattr(answer, "value", answer) if kind == list[str] else answer
    made = agent(ScriptedModel([answer]), tmp_path, output_type=kind, output_by=by)
    assert made.run_sync("Which?").output == expected
    function = agent(FunctionModel(lambda request: answer), tmp_path, output_type=kind)
    assert function.run_sync("Which?").output == expected


def test_a_typed_answer_in_words_is_asked_for_again(tmp_path: Path) -> None:
    made = agent(ScriptedModel(["Rome", City("Rome", 3)]), tmp_path, output_type=City)
    assert made.run_sync("Which?").output == City("Rome", 3)
    made = agent(ScriptedModel(["Rome"]), tmp_path, output_type=City, output_retries=0)
    with pytest.raises(AnswerInvalid):
        made.run_sync("Which?")


def test_functions_of_every_kind(tmp_path: Path) -> None:
    async def awaited(request: Request) -> str:
        return request.messages[-1].text

    async def streamed(request: Request) -> AsyncIterator[object]:
        yield "I hear: "
        yield request.messages[-1].text

    def plain(request: Request) -> str:
        return f"{len(request.tools)} tools"

    texts = [
        agent(FunctionModel(function), tmp_path).run_sync("Hi").text
        for function in (awaited, streamed, plain)
    ]
    assert texts == ["Hi", "I hear: Hi", "0 tools"]


def test_a_script_may_hold_functions(tmp_path: Path) -> None:
    model = ScriptedModel([lambda request: request.messages[-1].text.upper()])
    assert agent(model, tmp_path).run_sync("hi").text == "HI"


def test_an_assertion_inside_reaches_the_test(tmp_path: Path) -> None:
    def check(request: Request) -> str:
        assert request.tools, "no tools were sent"
        return ""

    with pytest.raises(InternalError, match="no tools were sent") as raised:
        agent(FunctionModel(check), tmp_path).run_sync("Hi")
    assert isinstance(raised.value.__cause__, AssertionError)


def test_a_script_that_ran_out_says_for_what(tmp_path: Path) -> None:
    with pytest.raises(
        InternalError, match=r"once more, for '2', the result of add\. Add"
    ):
        agent(
            ScriptedModel([tool_call("add", a=1, b=1)]), tmp_path, tools=[add]
        ).run_sync("Hi")


def test_a_script_that_is_left_says_what(tmp_path: Path) -> None:
    module = agent("openai:gpt-5", tmp_path)
    model = ScriptedModel(["One.", "Two."])
    with (
        pytest.raises(AssertionError, match=r"1 of 2 answers .* 'Two\.'"),
        module.override(model=model),
    ):
        module.run_sync("Hi")
    model.requests.clear()


def test_an_answer_without_a_json_form_is_named(tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="type object has no JSON form"):
        agent(ScriptedModel([object()]), tmp_path).run_sync("Hi")


def test_what_is_reported_is_what_a_reading_expects(tmp_path: Path) -> None:
    answers: list[object] = [tool_call("add", a=1, b=2), "Three.", "more words " * 300]
    answers += ['{"json": [1, 2]}' * 40, "漢字" * 200, "Done."]
    made = agent(ScriptedModel(answers), tmp_path, tools=[add], system="Be brief.")
    with made.session_sync("s") as session:
        for _ in range(5):
            reading = session.ask("A longer question " * 20).reading
            assert reading.notes == ()
            assert "doubt" not in str(reading)


async def test_the_arguments_of_a_call_stream_in_pieces() -> None:
    given = FunctionModel(lambda request: tool_call("note", text="one two three"))
    request = Request(model="function", wire="chat")
    calls = [one async for one in given.stream(request) if isinstance(one, ToolCallPart)]
    assert len(calls) == 3
    assert len({one.id for one in calls}) == 1
    assert "".join(one.arguments for one in calls) == '{"text":"one two three"}'


def test_one_text_is_no_list_of_answers() -> None:
    with pytest.raises(WrongType, match=r"ScriptedModel\(\['Hello'\]\)"):
        ScriptedModel("Hello")
