"""A session's dependencies: given to its tools, never stored, and missed before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.promises.stage import CLAUDE, agent_for, generated, script
from ullage import ToolContext, subagent, tool
from ullage.errors import SettingError
from ullage.events import Event, MessageAdded, Queued, TurnStarted
from ullage.messages import Message, TextPart, ToolResultPart
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_simulators import running
from ullage_simulators.server import Server


class Cellar:
    def __init__(self, name: str) -> None:
        self.name = name


@tool
async def whose(context: ToolContext[Cellar]) -> str:
    """Whose cellar it is."""
    return f"It is {context.deps.name}'s."


CALL = {"text": "", "calls": [{"name": "whose", "arguments": {}}]}
SCRIPT = ({"text": "Done.", "when": {"after": "tool"}}, CALL)


def agent_of(server: Server, place: Path, *tools: object) -> Agent:
    return agent_for(
        place / "s.db", server=server, tools=tools or [whose], **CLAUDE.settings()
    )


def results(events: list[Event]) -> list[str]:
    return [
        result.text
        for event in events
        if isinstance(event, MessageAdded)
        for result in event.message.of_type(ToolResultPart)
    ]


async def test_a_tool_gets_the_deps_of_its_opened_session(tmp_path: Path) -> None:
    with running(script(*SCRIPT)) as server:
        agent = agent_of(server, tmp_path)
        for name in ("Ada", "Bo"):
            async with agent.session(name, deps=Cellar(name)) as session:
                await session.ask("Whose is it?")
                assert results(await session.history()) == [f"It is {name}'s."]
        await agent.ask("Whose is it?", session="Ada", deps=Cellar("Cy"))
        async with agent.session("Ada", resume=False) as session:
            assert results(await session.history()) == ["It is Ada's.", "It is Cy's."]


async def test_a_session_without_deps_is_refused_before_storing(tmp_path: Path) -> None:
    with running(script(*SCRIPT)) as server:
        agent = agent_of(server, tmp_path)
        with pytest.raises(
            SettingError, match=r"whose needs deps of type Cellar.*deps=…"
        ):
            await agent.ask("Whose is it?", session="one")
        assert await agent.sessions() == []
        assert generated(server) == []


async def test_an_interrupted_turn_is_resumed_with_deps_alone(tmp_path: Path) -> None:
    with running(script(*SCRIPT)) as server:
        agent = agent_of(server, tmp_path)
        async with agent.session("one", deps=Cellar("Ada")):
            pass
        await leave_open(tmp_path / "s.db", "one")
        with pytest.raises(SettingError, match="whose needs deps"):
            async with agent.session("one"):
                pass
        async with agent.session("one", resume=False) as looked_at:
            assert await looked_at._is_interrupted()
            with pytest.raises(SettingError, match="whose needs deps"):
                await looked_at.send("And now?")
            with pytest.raises(SettingError, match="whose needs deps"):
                await looked_at.resume()
        async with agent.session("one", deps=Cellar("Ada")) as session:
            await session.wait()
            assert results(await session.history()) == ["It is Ada's."]


async def leave_open(place: Path, session: str) -> None:
    """What a driver leaves that died before it delivered a message."""
    parts = (TextPart(id="m.0", text="Whose is it?"),)
    message = Message(id="m", role="user", parts=parts)
    store = SqliteStore(place)
    await store.command(
        session,
        [TurnStarted(turn="turn-1"), Queued(message=message, kind="steer", position=1)],
    )
    await store.close()


async def test_a_subagent_gets_the_deps_of_its_parent(tmp_path: Path) -> None:
    ask = {"name": "helper", "arguments": {"task": "Find out whose it is."}}
    scenario = script(
        {"text": "Done.", "when": {"after": "tool"}},
        {"text": "", "calls": [ask], "when": {"contains": "parent"}},
        CALL,
    )
    with running(scenario) as server:
        inner = agent_of(server, tmp_path)
        helper = subagent(inner, name="helper", description="Finds out.")
        agent = agent_of(server, tmp_path, helper)
        async with agent.session("one", deps=Cellar("Ada")) as session:
            await session.ask("parent: whose is it?")
        rows = [row.id for row in await agent.sessions() if "/" in row.id]
        async with inner.session(rows[0], resume=False) as child:
            assert results(await child.history()) == ["It is Ada's."]


async def test_missing_deps_of_a_handover_agent_are_told_at_once(tmp_path: Path) -> None:
    with running(script(*SCRIPT)) as server:
        other = agent_for(
            tmp_path / "s.db", server=server, name="cellar", tools=[whose], **CLAUDE.settings()
        )  # fmt: skip
        desk = agent_for(
            tmp_path / "s.db", server=server, name="desk", handoffs=[other], **CLAUDE.settings()
        )  # fmt: skip
        with pytest.raises(SettingError, match="whose needs deps of type Cellar"):
            await desk.ask("Whose is it?")
        assert generated(server) == []
