"""Ullage's agent; its store is SQLite or PostgreSQL."""

from __future__ import annotations

from durable_steps import ASKED, MODEL, PLACE, level, run

import ullage

agent = ullage.Agent(f"anthropic:{MODEL}", tools=[level], store=PLACE, config=False)


async def converse(name: str, is_resumed: bool) -> object:
    async with agent.session(name) as session:
        if not is_resumed:
            await session.send(ASKED)
        return (await session.wait()).text


run("ullage", converse)
