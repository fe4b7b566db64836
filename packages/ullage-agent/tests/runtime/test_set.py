"""Settings that are changed in a running session, beside arguments of the agent that say otherwise."""

from pathlib import Path

from tests.agents import haiku
from ullage_agent.runtime.agent import Agent


def agent(place: Path) -> Agent:
    return haiku(place / "s.db", trigger=0.5, window=100_000)


async def test_what_is_set_in_a_session_counts_over_the_argument(tmp_path: Path) -> None:
    async with agent(tmp_path).session("one") as session:
        assert (await session.context()).model == "claude-haiku-4-5"
        await session.set(trigger=0.7, model="openai:gpt-5")
        await session.wait()
        reading = await session.context()
        assert reading.compaction_point == 70_000
        assert reading.model == "gpt-5"


async def test_an_argument_counts_again_when_a_session_reopens(tmp_path: Path) -> None:
    async with agent(tmp_path).session("one") as session:
        await session.set(trigger=0.7)
        await session.wait()
    async with agent(tmp_path).session("one") as session:
        await session.set(timeout=500)  # anything, so that it is driven
        await session.wait()
        assert (await session.context()).compaction_point == 50_000
