"""Ullage's agent, with its session in a SQLite file: everything is stored, read and counted at every step."""

from __future__ import annotations

import asyncio
import tempfile
from functools import cache
from pathlib import Path

from loop_timing import Way, read_log, report

from ullage_agent.runtime.agent import Agent

MODELS = {
    "messages": "anthropic:claude-opus-4-6",
    "chat": "openai:gpt-4.1",
    "responses": "openai:gpt-4.1",
}
ENVIRONMENT = {"ANTHROPIC_API_KEY": "none", "OPENAI_API_KEY": "none"}
PLACE = tempfile.TemporaryDirectory()


def way(wire: str) -> Way:
    @cache
    def agent(url: str) -> Agent:
        return Agent(
            MODELS[wire],
            tools=[read_log],
            store=Path(PLACE.name) / "sessions.db",
            environment=ENVIRONMENT,
            config=False,
            base_url=url,
            wire=wire,
            window=10_000_000,
            max_steps=100_000,
            max_repeats=1_000_000,
        )

    async def loop(url: str, behind: int) -> str:
        async with agent(url).session("loop") as session:
            await session.send("Read the logs.")
            async for _ in session.events(after=0, until_rest=True):
                pass
            return (await session.wait()).or_raise().text

    async def stream(url: str, number: int) -> str:
        async with agent(url).session(f"stream-{number}") as session:
            await session.send("Tell me.")
            async for _ in session.events(after=0, until_rest=True):
                await asyncio.sleep(0)
            return (await session.wait()).or_raise().text

    return Way(loop, stream)


with PLACE:
    report(["ullage", "httpx2", "msgspec"], {wire: way(wire) for wire in MODELS})
