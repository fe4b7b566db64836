"""A child's calls as spend of its parent: each once, whatever came in between, and without reading what is known."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.promises.stage import CLAUDE, KEYS, SYSTEM, ended, of_kind, script, until
from ullage.errors import AnswerInvalid, CommandRefused
from ullage.events import ChildStarted, Event, ToolEnded, ToolStarted, TurnEnded
from ullage.messages import Message, Request, ToolResultPart
from ullage.store.refusals import check_new_id
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.children import child_of
from ullage_agent.runtime.subagent import subagent
from ullage_agent.testing import FunctionModel, ScriptedModel, tool_call
from ullage_agent.tools.functions import tool
from ullage_agent.tools.tool import ToolContext
from ullage_simulators import Scenario, Server, running


class Crash(Exception):
    """Leaves a session in the middle of what it does."""


class Watched(SqliteStore):
    """Notes of which session all events were read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.whole: list[str] = []

    async def read(
        self, session: str, *, after: int = 0, limit: int | None = None, at: float = 0.0
    ) -> list[Event]:
        if not after:
            self.whole.append(session)
        return await super().read(session, after=after, limit=limit, at=at)


def with_child() -> Scenario:
    task = [{"name": "research", "arguments": {"task": "Find out about the hall."}}]
    return script(
        {"when": {"contains": "Ask somebody", "after": "user"}, "calls": task},
        {
            "when": {"contains": "Find out", "after": "user"},
            "calls": [{"name": "look", "arguments": {}}],
        },
        {"text": "It is empty."},
    )


def parent(
    store: SqliteStore, look: Callable[..., Any], settings: dict[str, Any]
) -> Agent:
    def agent(*tools: Any) -> Agent:
        return Agent(
            tools=tools,
            system=SYSTEM,
            store=store,
            environment=KEYS,
            config=False,
            **settings,
        )

    return agent(subagent(agent(look), name="research", description="Finds things out."))


def reached(server: Server) -> dict[str, Any]:
    return {**CLAUDE.settings(), "base_url": server.url(CLAUDE.serves)}


async def test_a_new_child_reads_nothing_of_its_parent_s_past(tmp_path: Path) -> None:
    def look() -> str:
        """Look into the hall."""
        return "It is empty."

    store = Watched(tmp_path / "s.db")
    with running(with_child()) as server:
        async with parent(store, look, reached(server)).session("s") as session:
            store.whole.clear()
            await session.ask("Ask somebody about the hall.")
            assert "s" not in store.whole
            assert len(ended(await session.history(), "child")) == 2
    await store.close()


async def test_a_resumed_child_is_spend_of_its_parent_once(tmp_path: Path) -> None:
    begun: list[bool] = []

    async def look() -> str:
        """Look into the hall."""
        begun.append(True)
        await asyncio.sleep(60)
        return "never"

    store = Watched(tmp_path / "s.db")
    with running(with_child()) as server:
        with pytest.raises(Crash):
            async with parent(store, look, reached(server)).session("s") as session:
                await session.send("Ask somebody about the hall.")
                await until(lambda: begun)
                raise Crash
        assert len(ended(await store.read("s"), "child")) == 1
        async with parent(store, look, reached(server)).session("s") as session:
            assert (await session.wait()).reason == "finished"
            events, spend = await session.history(), (await session.context()).spend
    assert [event.name for event in of_kind(events, ToolStarted)] == [
        "research",
        "research",
    ]
    assert len(ended(events, "child")) == spend.by_purpose["child"].calls == 2
    await store.close()


def test_a_child_is_named_by_its_call_or_by_a_digest_of_it() -> None:
    assert child_of("s", "toolu_01") == "s/toolu_01"
    for call in ("", "..", "a\nb", "\ud800", "x" * 2_000):
        child = child_of("s", call)
        check_new_id(child)
        assert child.startswith("s/")
        assert child == child_of("s", call)


@dataclass
class Finding:
    """What a researcher answers with."""

    topic: str
    sources: int


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    call = [{"name": name, "arguments": arguments}]
    return {"when": {"contains": "Please", "after": "user"}, "calls": call}


def found(topic: str, sources: int = 3) -> dict[str, Any]:
    text = json.dumps({"topic": topic, "sources": sources})
    return {"when": {"contains": f"about {topic}"}, "text": text}


def agent_of(server: Server, store: Path, *tools: Any, **more: Any) -> Agent[Any]:
    settings = {**reached(server), **more}
    return Agent(
        tools=tools, store=store / "s.db", environment=KEYS, config=False, **settings
    )


def results_of(messages: Sequence[Message]) -> list[ToolResultPart]:
    return [part for one in messages for part in one.of_type(ToolResultPart)]


async def test_a_subagent_takes_several_typed_parameters_and_answers_with_a_type(
    tmp_path: Path,
) -> None:
    script_of = script(
        calling("research", topic="oak", years=2, kind="wood"),
        found("oak"),
        {"text": "Three sources."},
    )
    with running(script_of) as server:
        researcher = agent_of(server, tmp_path, output_type=Finding)

        @subagent(researcher)
        def research(topic: str, kind: Literal["wood", "wine"], years: int = 5) -> str:
            """Finds out what was written.

            Args:
                topic: In one word.
            """
            return f"What was written about {topic} ({kind}) in {years + 1} years?"

        assert research.name == "research"
        schema = json.loads(bytes(research.declaration.schema))
        assert schema["properties"]["years"] == {"type": "integer", "default": 5}
        assert schema["properties"]["topic"]["description"] == "In one word."
        async with agent_of(server, tmp_path, research).session("s") as session:
            await session.ask("Please find out about it.")
            (result,) = results_of(await session.messages())
            events, spend = await session.history(), (await session.context()).spend
        assert json.loads(result.text) == {"topic": "oak", "sources": 3}
        asked = [
            str(each.body) for each in server.exchanges if "oak (wood)" in str(each.body)
        ]
        assert asked and "in 3 years?" in asked[0]
        assert spend.by_purpose["child"].calls == len(ended(events, "child")) == 1


async def test_arguments_of_another_type_are_told_to_the_model(tmp_path: Path) -> None:
    script_of = script(calling("research", years="many"), {"text": "No."})
    with running(script_of) as server:

        @subagent(agent_of(server, tmp_path))
        def research(years: int) -> str:
            """Finds out."""
            return str(years)

        async with agent_of(server, tmp_path, research).session("s") as session:
            await session.ask("Please find out.")
            (result,) = results_of(await session.messages())
            events = await session.history()
        assert "argument 'years'" in result.text and result.is_error
        assert not of_kind(events, ChildStarted)


def comparing(researcher: Agent[Finding], begun: list[bool]) -> Any:
    @tool(idempotent=True)
    async def compare(one: str, other: str, context: ToolContext) -> int:
        """Compares two topics."""
        found = await asyncio.gather(
            *(researcher.ask(f"about {topic}", within=context) for topic in (one, other))
        )
        begun.append(True)
        if len(begun) == 1:
            await asyncio.sleep(60)
        return sum(each.output.sources for each in found)

    return compare


async def test_a_tool_asks_agents_gets_objects_and_the_same_ones_after_a_crash(
    tmp_path: Path,
) -> None:
    script_of = script(
        calling("compare", one="oak", other="elm"),
        found("oak", 3),
        found("elm", 4),
        {"text": "Seven."},
    )
    begun: list[bool] = []
    with running(script_of) as server:
        researcher = agent_of(server, tmp_path, output_type=Finding)
        compare = comparing(researcher, begun)
        with pytest.raises(Crash):
            async with agent_of(server, tmp_path, compare).session("s") as session:
                await session.send("Please compare them.")
                await until(lambda: begun)
                raise Crash
        async with agent_of(server, tmp_path, compare).session("s") as session:
            assert (await session.wait()).text == "Seven."
            (result,) = results_of(await session.messages())
            events, spend = await session.history(), (await session.context()).spend
        assert result.text == "7"
        children = {event.child for event in of_kind(events, ChildStarted)}
        (call,) = {event.call_id for event in of_kind(events, ToolEnded)}
        assert children == {f"s/{call}", f"s/{call}.2"}
        # Each was asked once: the second run has its answers from the store.
        assert spend.by_purpose["child"].calls == len(ended(events, "child")) == 2


async def test_a_cancelled_tool_cancels_the_agent_that_it_asked(tmp_path: Path) -> None:
    begun: list[bool] = []

    async def look() -> str:
        """Look."""
        begun.append(True)
        await asyncio.sleep(60)
        return ""

    look_up = {"when": {"contains": "about oak"}, "calls": [{"name": "look"}]}
    with running(script(calling("ask"), look_up)) as server:
        researcher = agent_of(server, tmp_path, look)

        async def ask(context: ToolContext) -> str:
            """Asks."""
            return (await researcher.ask("about oak", within=context)).text

        async with agent_of(server, tmp_path, ask).session("s") as session:
            await session.send("Please ask.")
            await until(lambda: begun)
            await session.cancel()
            await session.wait()
            (started,) = of_kind(await session.history(), ChildStarted)
            store = (await session._look()).ledger.store
            child = await store.read(started.child)
        assert of_kind(child, TurnEnded)[0].reason == "cancelled"


async def test_an_agent_asked_within_a_call_raises_and_types_as_ask_does(
    tmp_path: Path,
) -> None:
    raised: list[Exception] = []
    script_of = script(calling("ask"), {"when": {"contains": "about"}, "text": "none"})
    with running(script_of) as server:
        researcher = agent_of(server, tmp_path, output_retries=0)

        async def ask(context: ToolContext) -> str:
            """Asks."""
            try:
                await researcher.ask("about oak", within=context, output_type=Finding)
            except AnswerInvalid as problem:
                raised.append(problem)
            return "asked"

        await agent_of(server, tmp_path, ask).ask("Please ask.")
        assert raised
        with pytest.raises(CommandRefused, match="`within` takes the ToolContext"):
            await researcher.ask("about oak", within=object())  # type: ignore[call-overload]


def test_an_agent_is_named_with_the_type_of_its_answers_alone_where_that_is_evaluated() -> (
    None
):
    assert Agent[Finding] == Agent[Finding, Any]


def count(number: int) -> str:
    """Count on."""
    return f"{number}, and so on"


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_budget_of_the_parent_stops_subagents_too(depth: int) -> None:
    made = 0

    def endless(request: Request) -> Any:
        nonlocal made
        made += 1
        return tool_call("count", number=made)

    agent = Agent(FunctionModel(endless), tools=[count], store=":memory:")
    for _ in range(depth):
        helper = subagent(agent, name="helper", description="Helps.")
        model = ScriptedModel([tool_call("helper", task="Count.")])
        agent = Agent(model, tools=[helper], store=":memory:", budget={"calls": 5})
    result = await agent.ask("Count.", check=False)
    assert result.reason == "budget"
    assert made <= 6


async def test_the_last_answer_of_a_subagent_within_the_budget_is_kept() -> None:
    helper = Agent(ScriptedModel(["One."]), store=":memory:")
    agent = Agent(
        ScriptedModel([tool_call("helper", task="Count."), "It says one."]),
        tools=[subagent(helper, name="helper", description="Helps.")],
        budget={"calls": 2},
        store=":memory:",
    )
    async with agent.session("s") as session:
        assert (await session.ask("Count.", check=False)).reason == "budget"
        told = (await session.messages())[-1].parts[0]
        assert isinstance(told, ToolResultPart) and told.text == "One."
        await session.resume()
        assert (await session.wait()).text == "It says one."
