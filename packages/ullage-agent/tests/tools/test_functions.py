from __future__ import annotations

import functools
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.tools.tool_context import FakeToolContext
from ullage.errors import SettingError
from ullage_agent.tools.functions import as_tools, tool
from ullage_agent.tools.tool import BadArguments, Output, ToolContext


@tool
def weather(city: str, days: int = 1) -> dict[str, Any]:
    """The forecast for a city.

    Args:
        city: Its name.
    """
    return {"city": city, "days": days}


def test_a_decorated_function_is_a_tool() -> None:
    schema = json.loads(bytes(weather.declaration.schema))
    assert weather.name == "weather"
    assert weather.declaration.description == "The forecast for a city."
    assert schema["properties"]["city"] == {"type": "string", "description": "Its name."}
    assert schema["required"] == ["city"]


async def test_it_runs_with_arguments_made_into_its_types() -> None:
    found = await weather.run({"city": "Bern", "days": "2"}, FakeToolContext())
    assert found == Output('{"city":"Bern","days":2}')
    with pytest.raises(BadArguments):
        await weather.run({}, FakeToolContext())


async def test_a_function_that_is_not_async_runs_in_a_thread() -> None:
    def where() -> int:
        return threading.get_ident()

    made = tool(where)
    assert made.outlives_cancel
    assert await made.run({}, FakeToolContext()) != Output(str(threading.get_ident()))


async def _greet(word: str) -> str:
    return f"hello {word}"


class Greeter:
    """Greets."""

    async def __call__(self, word: str) -> str:
        return await _greet(word)

    def method(self, word: str) -> str:
        """Greets, too."""
        return f"hello {word}"


@functools.wraps(_greet)
def _wrapped(*args: Any, **keywords: Any) -> Any:
    return _greet(*args, **keywords)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (_greet, "_greet"),
        (Greeter(), "greeter"),
        (Greeter().method, "method"),
        (functools.partial(_greet), "_greet"),
        (_wrapped, "_greet"),
    ],
)
async def test_methods_partials_and_wrappers_work(function: Any, name: str) -> None:
    made = tool(function)
    assert made.name == name
    assert await made.run({"word": "you"}, FakeToolContext()) == Output("hello you")


async def test_a_parameter_of_that_type_gets_the_surroundings() -> None:
    def which(session: ToolContext) -> str:
        return session.session

    assert await tool(which).run({}, FakeToolContext()) == Output("s1")


def test_what_is_said_of_the_tool_wins() -> None:
    made = tool(
        name="look",
        description="Looks.",
        sequential=True,
        idempotent=True,
        timeout_s=1,
        result_tokens=9,
    )(_greet)
    assert (made.name, made.declaration.description) == ("look", "Looks.")
    assert made.sequential is True
    assert made.idempotent is True
    assert made.timeout_s == 1
    assert made.result_tokens == 9


def test_a_condition_may_ask_for_approval() -> None:
    made = tool(needs_approval=lambda arguments: arguments["word"] == "rm")(_greet)
    assert callable(made.needs_approval)
    assert made.needs_approval({"word": "rm"})


def _counting() -> Iterator[int]:
    yield 1


async def _counting_slowly() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [lambda: 1, _counting, _counting_slowly, vars])
def test_what_can_be_no_tool_is_refused(function: Any) -> None:
    with pytest.raises(SettingError):
        tool(function)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(SettingError, match="weather"):
        as_tools([weather, tool(name="weather")(_greet)])


def test_a_method_that_is_marked_in_its_class_is_refused_and_the_object_s_is_a_tool() -> (
    None
):
    class Cellar:
        def level(self, cask: int) -> str:
            return f"Cask {cask} is half full."

    def peek(ctx, cask: int) -> str:  # type: ignore[no-untyped-def]
        return f"Cask {cask} of {ctx} is half full."

    with pytest.raises(SettingError, match=r"give `tools=\[thing\.method\]`"):
        tool(Cellar.level)
    with pytest.raises(SettingError, match=r"write `ctx: ullage\.ToolContext`"):
        tool(peek)
    assert b"self" not in bytes(tool(Cellar().level).declaration.schema)
