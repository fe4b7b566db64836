"""A ``Provider`` of the program in every place that takes the name of a model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ullage.errors import Overflow, QuotaExhausted, SettingError, WrongType
from ullage.events import CallEnded, CompactionCommitted, SessionStarted
from ullage.messages import ReasoningPart, Request, ToolCallPart, ToolResultPart
from ullage.provider import AnswerPiece, Provider
from ullage.usage import Usage
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.subagent import subagent


class Own(Provider):
    """Calls ``look`` where it can and has not, else says what it read."""

    model, learns = "own-1", False
    window: int | None = 20_000

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[AnswerPiece]:
        self.requests.append(request)
        results = list(request.messages[-1].of_type(ToolResultPart))
        if request.tools and not results:
            yield ReasoningPart(id="r", text="I look.")
            yield ToolCallPart(id="1", call_id="1", name="look", arguments="{}")
        else:
            yield f"I read {results[0].text}." if results else "Hello."
        yield Usage(input=1_234, output=7)


class Broke(Provider):
    learns = False

    async def stream(self, request: Request) -> AsyncIterator[AnswerPiece]:
        raise QuotaExhausted("No money.")
        yield ""


def look() -> str:
    """Look."""
    return "the hall"


def agent(model: Any, store: Path, **more: Any) -> Agent:
    return Agent(model, store=store / "s.db", config=False, environment={}, **more)


def test_it_answers_with_tools_and_its_usage_is_the_reading(tmp_path: Path) -> None:
    own = Own()
    result = agent(own, tmp_path, tools=[look]).run_sync("What is there?")
    assert result.text == "I read the hall."
    assert result.reading.used.tokens == 1_241
    assert result.reading.window.tokens == 20_000
    reasoning = [list(m.of_type(ReasoningPart)) for m in own.requests[1].messages]
    assert [part.text for parts in reasoning for part in parts] == ["I look."]


def test_a_session_stores_its_name(tmp_path: Path) -> None:
    async def first() -> SessionStarted:
        async with agent(Own(), tmp_path).session("s") as session:
            await session.ask("Hi")
            (started,) = [
                event
                for event in await session.history()
                if isinstance(event, SessionStarted)
            ]
            return started

    started = asyncio.run(first())
    assert (started.provider, started.model, started.wire) == ("own", "own-1", "python")


def test_a_program_without_it_is_told_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(
        SettingError, match=r"object to the agent again, as in Agent\(MyProvider"
    ):
        agent("own:own-1", tmp_path).run_sync("Hi")


def test_it_continues_where_another_model_fails(tmp_path: Path) -> None:
    own = Own()
    result = agent(Broke(), tmp_path, fallback=[own]).run_sync("Hi")
    assert result.text == "Hello."
    assert len(own.requests) == 1


def test_two_of_one_name_are_told_apart(tmp_path: Path) -> None:
    first, second = Own(), Own()
    made = agent(first, tmp_path, fallback=[second], summary_model=first)
    assert made.settings.model == made.settings.summary_model == "own:own-1"
    assert made.settings.fallback == ("own-2:own-1",)
    assert made.settings.endpoints["own-2"].source is second


def test_an_overflow_leads_to_a_compaction_by_the_provider(tmp_path: Path) -> None:
    class Small(Own):
        window = None

        async def stream(self, request: Request) -> AsyncIterator[AnswerPiece]:
            self.requests.append(request)
            size = sum(len(message.text) for message in request.messages)
            if size > 30_000:
                raise Overflow("Too long.", count=size // 4, limit=7_500)
            yield "I keep that in mind. " * 20
            yield Usage(input=size // 4 + 1, output=100)

    small = Small()

    async def talk() -> list[Any]:
        async with agent(small, tmp_path).session("s") as session:
            for number in range(9):
                await session.ask(f"{number} " * 2_000)
            return list(await session.history())

    events = asyncio.run(talk())
    assert any(isinstance(event, CompactionCommitted) for event in events)
    purposes = {event.purpose for event in events if isinstance(event, CallEnded)}
    assert purposes == {"main", "summary"}


def test_a_sub_agent_has_its_own(tmp_path: Path) -> None:
    class Parent(Own):
        async def stream(self, request: Request) -> AsyncIterator[AnswerPiece]:
            results = list(request.messages[-1].of_type(ToolResultPart))
            if results:
                yield f"Said: {results[0].text}"
            else:
                task = '{"task": "Greet."}'
                yield ToolCallPart(id="1", call_id="1", name="child", arguments=task)

    child = agent(Own(), tmp_path)
    tool = subagent(child, name="child", description="Greets.")
    result = agent(Parent(), tmp_path, tools=[tool]).run_sync("Hi")
    assert result.text == "Said: Hello."


@pytest.mark.parametrize("model", [3, object(), Own])
def test_no_other_object_is_a_model(tmp_path: Path, model: Any) -> None:
    with pytest.raises(WrongType, match=r"ullage\.Provider"):
        agent(model, tmp_path)


def test_a_name_that_can_not_be_one_is_refused(tmp_path: Path) -> None:
    own = Own()
    own.name = "my model"
    with pytest.raises(SettingError, match="my model"):
        agent(own, tmp_path)
