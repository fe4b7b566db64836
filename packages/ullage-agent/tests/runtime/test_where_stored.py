"""Where an agent stores its sessions, and how it says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import CLAUDE, agent_for
from ullage.directories import data_directory
from ullage.errors import SettingError
from ullage.isolation import VARIABLE
from ullage.store.memory import MemoryStore
from ullage.store.protocol import Store
from ullage_agent.runtime.agent import Agent
from ullage_agent.testing import ScriptedModel
from ullage_simulators import Server, running
from ullage_simulators.scenario import read


@pytest.fixture
def server() -> Iterator[Server]:
    """A simulator that repeats what the user said."""
    with running(read({})) as simulator:
        yield simulator


def agent_at(server: Server, **more: Any) -> Agent:
    return agent_for(server=server, **CLAUDE.settings(), **more)


async def test_an_agent_in_memory_keeps_its_sessions_and_makes_no_file(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agent = agent_at(server, store=":memory:")
    first = await agent.ask("One.", session="s")
    assert first.text
    await agent.ask("Two.", session="s")
    assert [(row.id, row.title) for row in await agent.sessions()] == [("s", "One.")]
    async with agent.session("s") as session:
        assert len([each async for each in session.events(after=0, until_rest=True)]) > 8
    assert list(tmp_path.iterdir()) == []


def test_run_sync_shares_the_memory_with_ask(server: Server) -> None:
    memory = MemoryStore()
    agent = agent_at(server, store=memory)
    agent.run_sync("One.", session="s")
    agent_at(server, store=memory).run_sync("Two.", session="s")
    assert "'s'" in str(memory._sessions.keys())


async def test_without_a_store_nothing_is_left(server: Server, tmp_path: Path) -> None:
    agent = agent_at(server, store=None)
    assert (await agent.ask("One.", session="s")).text
    assert await agent.sessions() == []
    async with agent.session("other") as other:
        await other.ask("Two.")
        await agent.ask("Three.", session="s")
        assert [row.id for row in await agent.sessions()] == ["other"]


def test_an_agent_says_where_it_stores(
    caplog: pytest.LogCaptureFixture, server: Server
) -> None:
    own = Agent(CLAUDE.model, config=False)
    assert own.stored_in == str(data_directory() / "sessions.db")
    assert repr(own) == f"Agent({CLAUDE.model!r}, store={own.stored_in!r})"
    assert Agent(CLAUDE.model, config=False, store=None).stored_in == "nowhere"
    assert Agent(CLAUDE.model, config=False, store="a/b.db").stored_in == "a/b.db"
    memory = agent_at(server, store=":memory:", name="desk")
    assert repr(memory) == f"Agent({CLAUDE.model!r}, name='desk', store='memory')"
    with caplog.at_level(logging.INFO, "ullage.agent"):
        memory.run_sync("One.")
        memory.run_sync("Two.")
    said = [each for each in caplog.messages if "stored" in each]
    assert said == ["Sessions are stored in: memory"]


def test_what_is_no_store_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(SettingError, match="42 is no store"):
        Agent(CLAUDE.model, config=False, store=42)  # type: ignore[arg-type]


def test_an_override_stores_elsewhere_or_nowhere(server: Server) -> None:
    agent = agent_at(server, store=":memory:")
    agent.run_sync("Kept.", session="kept")
    with agent.override(store=None) as changed:
        assert (agent.stored_in, changed.stored_in) == ("nowhere", "nowhere")
        agent.run_sync("Not kept.", session="other")
    with agent.override(tools=[]) as changed:
        assert changed.stored_in == "memory"
    assert [row.id for row in asyncio.run(agent.sessions())] == ["kept"]


def test_the_file_of_an_imported_agent_is_left_alone_by_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "s.db"
    monkeypatch.setenv(VARIABLE, "ISOLATED 0")
    imported = Agent(ScriptedModel(["One."]), store=file, config=False)
    monkeypatch.setenv(VARIABLE, "ISOLATED 1")
    assert imported.stored_in == "memory"
    assert imported.run_sync("Hi", session="s").text == "One."
    assert not file.exists()
    made = Agent(ScriptedModel(["Two."]), store=file, config=False)
    assert made.stored_in == str(file)


class _Unwritten(Store):
    async def delete(self, session: str, version: int) -> bool:
        return False


def test_a_store_without_its_methods_is_refused_and_they_are_named() -> None:
    with pytest.raises(SettingError, match="no read_values, read_rows, write, sessions"):
        Agent(ScriptedModel([]), store=_Unwritten(), config=False)  # type: ignore[abstract]
