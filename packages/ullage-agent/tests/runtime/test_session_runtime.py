"""Settings and endpoint of a session are worked out once, and again after the session's own settings have changed."""

from pathlib import Path

from tests.agents import haiku
from ullage_agent.runtime.agent import Agent


def agent(place: Path) -> Agent:
    return haiku(
        place / "s.db", environment={"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "y"}
    )


async def test_settings_are_resolved_again_after_own_changes(tmp_path: Path) -> None:
    async with agent(tmp_path).session("one") as session:
        await session.wait()
        runtime = await session._look()
        before, endpoint = runtime.resolve_settings(), runtime.endpoint()
        await session.rename("one")
        await session.wait()
        assert runtime.resolve_settings() is before
        assert runtime.endpoint() is endpoint
        await session.set(model="openai:gpt-5")
        await session.wait()
        assert runtime.resolve_settings().settings.model == "openai:gpt-5"
        assert runtime.settings is runtime.resolve_settings().settings
        assert runtime.endpoint().provider == "openai"
