"""A call of a subagent that needs approval."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents import haiku
from ullage.events import ApprovalAsked, TurnEnded
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hosting import Host
from ullage_agent.runtime.subagent import subagent
from ullage_agent.tools.functions import tool
from ullage_simulators import running
from ullage_simulators.scenario import read

SAID = [
    {
        "when": {"contains": "ask the presser", "after": "user"},
        "calls": [{"name": "presser", "arguments": {"task": "press the grapes"}}],
    },
    {
        "when": {"contains": "press the grapes", "after": "user"},
        "calls": [{"name": "press", "arguments": {"what": "grapes"}}],
    },
    {"text": "It is done."},
]


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with running(read({"answers": SAID})) as simulator:
        yield simulator.url("anthropic")


pressed: list[str] = []


@tool(needs_approval=True)
async def press(what: str) -> str:
    """Press something.

    Args:
        what: what to press
    """
    pressed.append(what)
    return f"{what} pressed"


def presser(provider: str, store: Path) -> Agent:
    child = haiku(store, base_url=provider, tools=[press])
    asks = subagent(child, name="presser", description="Presses grapes.")
    return haiku(store, base_url=provider, tools=[asks], yields=True)


async def child_that_asks(host: Host) -> str:
    """The id of the session whose call needs approval."""
    async with asyncio.timeout(60):
        while True:
            for row in await host.store.sessions():
                if "/" in row.id and any(
                    isinstance(event, ApprovalAsked)
                    for event in await host.store.read(row.id)
                ):
                    return row.id
            await asyncio.sleep(0.02)


async def test_a_host_waits_for_the_approval_of_a_subagent_s_call_over_restarts(
    provider: str, tmp_path: Path
) -> None:
    pressed.clear()
    agent = presser(provider, tmp_path / "s.db")
    async with Host(agent, attends=True) as host:
        session = await host.begin("s")
        await session.send("ask the presser")
        child = await child_that_asks(host)
        assert child.startswith("s/")
    async with Host(agent, attends=True) as host:
        await host.wake("s")
        held = await host.look(child)
        (question,) = await held.questions()
        assert (question.name, pressed) == ("press", [])
        await held.approve(question.call_id, digest=question.digest)
        async with asyncio.timeout(60):
            result = await (await host.look("s")).wait()
    assert (pressed, result.reason) == (["grapes"], "finished")


async def test_a_program_s_own_agent_ends_the_turn_that_nobody_can_approve(
    provider: str, tmp_path: Path
) -> None:
    agent = presser(provider, tmp_path / "s.db")
    async with agent.session("s") as session:
        await session.send("ask the presser")
        assert (await session.wait()).reason == "finished"
        (child,) = [
            row.id for row in await session._open.store.sessions() if "/" in row.id
        ]
        events = await session._open.store.read(child)
    assert [each.reason for each in events if isinstance(each, TurnEnded)] == [
        "cancelled"
    ]
