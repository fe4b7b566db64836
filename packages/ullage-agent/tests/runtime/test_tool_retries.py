"""Retries of tools in a session: the model sees them, and the ledger counts them over a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import SIX, Speaker, agent_for, script
from tests.runtime.test_session_deps import results
from ullage import ToolRetry, tool
from ullage.events import ToolEnded, ToolStarted
from ullage_agent.runtime.agent import Agent
from ullage_simulators import running
from ullage_simulators.server import Server

CALL: dict[str, Any] = {"calls": [{"name": "level", "arguments": {"cask": 12}}]}


@tool(retries=2)
def level(cask: int) -> str:
    """How full a cask is."""
    if cask > 9:
        raise ToolRetry("There are casks 1 to 9 only.")
    return "half"


def agent_of(server: Server, place: Path, speaker: Speaker = SIX[0]) -> Agent:
    return agent_for(place / "s.db", server=server, tools=[level], **speaker.settings())


@pytest.mark.parametrize("speaker", SIX, ids=lambda speaker: speaker.name)
async def test_the_model_is_asked_to_try_again_and_succeeds(
    speaker: Speaker, tmp_path: Path
) -> None:
    good = {"calls": [{"name": "level", "arguments": {"cask": 3}}], "times": 1}
    with running(script({**CALL, "times": 1}, good, {"text": "Half."})) as server:
        async with agent_of(server, tmp_path, speaker).session() as session:
            assert (await session.ask("How full?")).text == "Half."
            first, second = results(await session.history())
    assert first.startswith("There are casks 1 to 9 only.\n[level can be called again 2")
    assert second == "half"


async def test_after_the_last_retry_the_next_turn_may_call(tmp_path: Path) -> None:
    gives_up = {"text": "I give up.", "times": 1}
    once = {**CALL, "times": 1}
    scenario = script({**CALL, "times": 4}, gives_up, once, {"text": "No."})
    with running(scenario) as server:
        async with agent_of(server, tmp_path).session() as session:
            assert (await session.ask("How full?")).text == "I give up."
            events = await session.history()
            ended = [event for event in events if isinstance(event, ToolEnded)]
            assert [event.outcome for event in ended] == [*["failed"] * 3, "not_started"]
            assert [event.retry_of for event in ended] == [*["level"] * 3, ""]
            assert len([one for one in events if isinstance(one, ToolStarted)]) == 3
            assert results(events)[-1].startswith("Nothing was done: level has asked 3")
            await session.ask("Once more.")
            assert "again 2 times" in results(await session.history())[-1]


async def test_a_restart_in_the_middle_of_a_turn_counts_on(tmp_path: Path) -> None:
    scenario = script(
        {**CALL, "times": 4}, {"text": "I give up."}, server={"delay_s": 0.1}
    )
    with running(scenario) as server:
        async with agent_of(server, tmp_path).session("one") as session:
            await session.send("How full?")
            async for event in session.events(after=0):
                if isinstance(event, ToolEnded):
                    break
            await session.close()  # as a crash would
        async with agent_of(server, tmp_path).session("one", resume=False) as left:
            assert await left._is_interrupted()
        async with agent_of(server, tmp_path).session("one") as session:
            result = await session.wait()
            history = await session.history()
    assert result.text == "I give up."
    ended = [event for event in history if isinstance(event, ToolEnded)]
    assert [event.outcome for event in ended] == [*["failed"] * 3, "not_started"]
