"""A child's calls as spend of its parent: each once, whatever came in between, and without reading what is known."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import CLAUDE, KEYS, SYSTEM, ended, of_kind, script, until
from ullage.events import Event, ToolStarted
from ullage.store.refusals import check_new_id
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.subagent import child_of, subagent
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
    assert len(ended(events, "child")) == spend.by_purpose["child"].calls == 1
    await store.close()


def test_a_child_is_named_by_its_call_or_by_a_digest_of_it() -> None:
    assert child_of("s", "toolu_01") == "s/toolu_01"
    for call in ("", "..", "a\nb", "\ud800", "x" * 2_000):
        child = child_of("s", call)
        check_new_id(child)
        assert child.startswith("s/")
        assert child == child_of("s", call)
