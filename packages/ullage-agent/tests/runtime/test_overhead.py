"""What an agent's system prompt and tools cost is known from its last session on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from ullage.events import Event, OverheadLearnt
from ullage.meter.meter import Meter
from ullage.store.overhead import OverheadStore
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_simulators import running
from ullage_simulators.scenario import read
from ullage_simulators.server import Server


@pytest.fixture
def provider() -> Iterator[Server]:
    drawn = {"factor": 1.5, "tools": 700, "tool": 90}
    with running(read({"answers": [{"text": "Full."}], "drawn": drawn})) as simulator:
        yield simulator


def weigh(cask: int) -> str:
    """Weighs one cask of the cellar, with everything that is in it.

    Args:
        cask: Its number.
    """
    return f"Cask {cask} weighs 300 kg."


def agent_of(place: Path, provider: Server, **more: Any) -> Agent:
    settings: dict[str, Any] = {
        "system": "Keep the rules of the cellar, and say what is full. " * 40,
        "learns": True,
        "count": "never",  # a count would make the first call exact without what was learnt
        **more,
    }
    return haiku(
        place / "s.db",
        tools=[weigh, "none"],
        environment={"ANTHROPIC_API_KEY": "x", "ULLAGE_DATA": str(place / "data")},
        base_url=provider.url("anthropic"),
        **settings,
    )


async def first_step(agent: Agent, name: str, question: str) -> Any:
    async with agent.session(name) as session:
        await session.ask(question)
        meter = await session._meter()
        return meter.steps[0]


async def events_of(place: Path, session: str) -> list[Event]:
    store = SqliteStore(place / "s.db")
    events = await store.read(session)
    await store.close()
    return list(events)


async def test_a_second_session_starts_exact(tmp_path: Path, provider: Server) -> None:
    agent = agent_of(tmp_path, provider)
    first = await first_step(agent, "monday", "Which cask is full?")
    second = await first_step(agent, "tuesday", "How many casks are there in the cellar?")
    assert first.actual is not None and second.actual is not None
    assert abs(first.error) > 0.1 * first.actual
    assert abs(second.error) <= 0.01 * second.actual
    assert second.is_inside
    events = await events_of(tmp_path, "tuesday")
    (learnt,) = [event for event in events if isinstance(event, OverheadLearnt)]
    assert learnt.seq <= 3
    assert len(learnt.calls) == 1
    replayed = Meter()
    for event in events:
        replayed.apply(event)
    assert replayed.steps[0] == second  # from the ledger alone


@pytest.mark.parametrize("off", [{"learns": False}])
async def test_nothing_is_stored_or_used_where_it_is_turned_off(
    off: dict[str, Any], tmp_path: Path, provider: Server
) -> None:
    await first_step(agent_of(tmp_path, provider, **off), "monday", "Which cask?")
    assert OverheadStore(tmp_path / "data").read() == ()
    await first_step(agent_of(tmp_path, provider), "tuesday", "Which cask?")
    assert len(OverheadStore(tmp_path / "data").read()) == 1
    await first_step(agent_of(tmp_path, provider, **off), "friday", "Which cask?")
    events = await events_of(tmp_path, "friday")
    assert not any(isinstance(event, OverheadLearnt) for event in events)


async def test_another_prompt_is_estimated_anew(tmp_path: Path, provider: Server) -> None:
    await first_step(agent_of(tmp_path, provider), "monday", "Which cask is full?")
    other = agent_of(
        tmp_path, provider, system="Keep the rules of the press house. " * 60
    )
    step = await first_step(other, "tuesday", "Which cask is full?")
    assert abs(step.error) > 0.05 * step.actual
