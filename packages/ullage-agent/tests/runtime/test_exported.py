"""An agent as a function, and over MCP."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.promises import stage
from ullage import Agent
from ullage.errors import SettingError
from ullage.hooks import Refusal
from ullage_agent.runtime.exported import mcp_server_of
from ullage_agent.tools.functions import tool
from ullage_simulators import running
from ullage_simulators.server import Server


@dataclass
class Finding:
    topic: str
    sources: int


def researcher(server: Server, store: Path, **more: Any) -> Agent[Any]:
    environment = {"ANTHROPIC_API_KEY": "none"}
    return Agent(
        "anthropic:claude-haiku-4-5",
        base_url=server.url("anthropic"),
        store=store / "s.db",
        config=False,
        environment=environment,
        name="research",
        description="Finds out what was written.",
        **more,
    )


async def test_an_agent_is_a_function_as_one_writes_it(tmp_path: Path) -> None:
    with running(stage.script({"text": '{"topic": "oak", "sources": 3}'})) as server:
        agent = researcher(server, tmp_path, output_type=Finding)
        research = agent.as_tool()
        assert inspect.iscoroutinefunction(research)
        assert str(inspect.signature(research)) == "(task: str) -> str"
        assert inspect.get_annotations(research) == {"task": str, "return": str}
        assert research.__name__ == "research"
        assert str(inspect.getdoc(research)).startswith(
            "Finds out what was written.\n\nArgs:\n    task: What"
        )
        assert await research("about oak") == '{"topic":"oak","sources":3}'
        assert (
            agent.as_tool(name="ask_other", description="Other.").__name__ == "ask_other"
        )


def test_a_function_that_is_not_async_asks_too(tmp_path: Path) -> None:
    with running(stage.script({"text": "Three sources."})) as server:
        research = researcher(server, tmp_path).as_tool(sync=True)
        assert research("about oak") == "Three sources."


def test_a_function_needs_a_name_and_a_description() -> None:
    agent = Agent("anthropic:claude-haiku-4-5", config=False)
    with pytest.raises(SettingError, match="needs a name like a function's"):
        agent.as_tool(description="Something.")
    with pytest.raises(SettingError, match="and a description"):
        agent.as_tool(name="something")
    with pytest.raises(SettingError, match="needs a name like a function's"):
        agent.as_tool(name="a tool", description="Something.")


async def test_a_call_that_needs_approval_is_told_and_not_taken_for_an_answer(
    tmp_path: Path,
) -> None:
    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    calls = [{"name": "pay", "arguments": {}}]
    with running(stage.script({"text": "I pay.", "calls": calls})) as server:
        said = await researcher(server, tmp_path, tools=[pay]).as_tool()("Pay.")
    assert said.startswith(
        "The agent stopped (approval). Needs a person's approval: pay."
    )


async def test_an_agent_over_mcp_answers_and_tells_what_went_wrong(
    tmp_path: Path,
) -> None:
    def no_keys(text: str) -> Refusal | None:
        return Refusal("It holds a key.") if "sk-" in text else None

    with running(stage.script({"text": "Three sources."})) as server:
        agent = researcher(server, tmp_path, input_guardrails=[no_keys])
        async with Client(mcp_server_of(agent, "", "")) as client:
            (offered,) = (await client.list_tools()).tools
            assert (offered.name, list(offered.input_schema["properties"])) == (
                "research",
                ["task"],
            )
            answer = await client.call_tool("research", {"task": "about oak"})
            assert [part.text for part in answer.content if part.type == "text"] == [
                "Three sources."
            ]
            refused = await client.call_tool("research", {"task": "sk-123"})
            assert refused.is_error and "It holds a key." in str(refused.content)


async def test_among_the_tools_of_an_agent_the_function_is_a_subagent(
    tmp_path: Path,
) -> None:
    calls = [{"name": "research", "arguments": {"task": "about oak"}}]
    script = stage.script(
        {"when": {"contains": "Please", "after": "user"}, "calls": calls},
        {"text": "Three sources."},
    )
    with running(script) as server:
        inner = researcher(server, tmp_path)
        outer = researcher(server, tmp_path, tools=[inner.as_tool()])
        async with outer.session("s") as session:
            await session.ask("Please find out.")
            spend = (await session.context()).spend
    assert spend.by_purpose["child"].calls == 1
