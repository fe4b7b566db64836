"""Ullage's agent with its own settings, but for the window and where compaction starts."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from plugin_session import MOST_STEPS, OURS, SYSTEM, URL, Program, Step, drive, use

from ullage_agent.runtime.agent import Agent


class Ullage(Program):
    packages = ("ullage",)

    def __init__(self) -> None:
        super().__init__()
        self.model = ""
        self.session: Any = None
        self.opened = AsyncExitStack()

    async def turn(self, step: Step) -> None:
        if step.model != self.model:
            await self.open(step.model)
        result = await self.session.ask(step.said)
        self.counts = [0, 0]
        for one in (await self.session.context()).spend.by_purpose.values():
            self.add(one.input, one.output)
        result.or_raise()

    async def open(self, model: str) -> None:
        await self.opened.aclose()
        agent = Agent(
            f"openai:{model}",
            tools=[use],
            system=SYSTEM,
            environment={"OPENAI_API_KEY": "none"},
            config=False,
            base_url=URL,
            wire="chat",
            max_steps=MOST_STEPS,
            **OURS,
        )
        self.session = await self.opened.enter_async_context(agent.session("long"))
        self.model = model

    async def close(self) -> None:
        await self.opened.aclose()


drive(Ullage())
