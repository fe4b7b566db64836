"""A script that the strict simulator speaks: the same answers, over the real wire."""

import dataclasses
from typing import Any

import pytest

from ullage.errors import QuotaExhausted, RateLimited, SettingError
from ullage_agent.runtime.agent import Agent
from ullage_agent.testing import ScriptedModel, capture, reasoning, structured, tool_call


@dataclasses.dataclass
class City:
    name: str
    people: int


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def agent(**more: Any) -> Agent:
    return Agent(
        "openai:gpt-5",
        tools=[add],
        store=":memory:",
        config=False,
        environment={},
        **more,
    )


def test_the_script_goes_over_the_real_wire() -> None:
    module = agent(effort="low")
    model = ScriptedModel(
        [
            [reasoning("I add."), "One moment.", tool_call("add", a=1, b=2)],
            RateLimited("Later.", status=429, retry_after_s=0),
            "Three.",
            City("Rome", 3),
            structured([1, 2]),
        ],
        simulated=True,
    )
    with capture(module) as sent, module.override(model=model):
        assert module.run_sync("1+2?", session="s").text == "Three."
        typed = module.run_sync("Which?", output_type=City)
        listed = module.run_sync("Which?", output_type=list[int])
    assert typed.output == City("Rome", 3)
    assert listed.output == [1, 2]
    assert {request.wire for request in sent.requests} == {"messages"}
    assert typed.reading.spend.all.input > 0


def test_a_script_that_ran_out_says_so() -> None:
    model = ScriptedModel([], simulated=True)
    with agent().override(model=model) as changed:
        assert "has 0 answers and was called once more" in changed.run_sync("Hi").text


def test_errors_without_a_status_are_refused() -> None:
    with pytest.raises(
        SettingError, match="QuotaExhausted can't be simulated without its status"
    ):
        ScriptedModel([QuotaExhausted("No.")], simulated=True)
