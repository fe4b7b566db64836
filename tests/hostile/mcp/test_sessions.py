"""Sessions whose MCP servers do harm: the run goes on, and what is missing or has changed is told."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.hostile.mcp.test_raw_servers import hostile
from tests.promises.stage import CLAUDE, agent_for, of_kind, script
from ullage.events import Event, ToolsChanged, ToolServerNoticed
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.tools.mcp import McpServer
from ullage_simulators import running

SERVER = str(Path(__file__).with_name("raw_server.py"))


async def stored(path: Path) -> list[Event]:
    store = SqliteStore(path)
    try:
        return list(await store.read("one"))
    finally:
        await store.close()


async def test_a_server_that_does_not_start_does_not_stop_the_run(tmp_path: Path) -> None:
    missing = McpServer("missing", command="/no/such/program")
    good = McpServer("good", command=sys.executable, args=[SERVER, "greets"])
    with running(script({"text": "Fine."})) as server:
        agent = agent_for(
            tmp_path / "s.db", server=server, tools=[missing, good], **CLAUDE.settings()
        )
        async with agent.session("one") as session:
            assert (await session.ask("Hello")).text == "Fine."
    events = await stored(tmp_path / "s.db")
    (notice,) = of_kind(events, ToolServerNoticed)
    assert notice.server == "missing"
    assert (
        "/no/such/program" in notice.problem
        and "No such file or directory" in notice.problem
    )
    assert [tool.name for tool in of_kind(events, ToolsChanged)[-1].tools] == [
        "good__work",
        "read_result",
    ]


@pytest.mark.parametrize("defer_tools", ["never", "always"])
async def test_tools_that_change_in_a_session_are_told_by_name(
    defer_tools: str, tmp_path: Path
) -> None:
    scenario = script(
        {
            "when": {"contains": "work", "after": "user"},
            "calls": [{"name": "t__work", "arguments": {}}],
        },
        {"text": "Done."},
    )
    has_changed = asyncio.Event()
    poisoned = hostile("poisons")
    with running(scenario) as server:
        agent = agent_for(
            tmp_path / "s.db",
            server=server,
            tools=[poisoned],
            defer_tools=defer_tools,
            **CLAUDE.settings(),
        )
        async with agent.session("one") as session:
            poisoned.on_state(has_changed.set)
            await session.ask("work")
            await asyncio.wait_for(has_changed.wait(), 60)
            await session.ask("and again: work")
    events = await stored(tmp_path / "s.db")
    (notice,) = of_kind(events, ToolServerNoticed)
    assert (notice.added, notice.removed, notice.changed) == (
        ("t__new",),
        ("t__gone",),
        ("t__work",),
    )
