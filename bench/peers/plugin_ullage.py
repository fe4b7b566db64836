"""Ullage's agent with its own settings, but for the window and where compaction starts."""

from __future__ import annotations

from plugin_session import MOST_STEPS, OURS, SYSTEM, URL, Program, Step, drive, use

from ullage_agent.runtime.agent import Agent


class Ullage(Program):
    packages = ("ullage",)

    async def turn(self, step: Step) -> None:
        agent = Agent(
            f"openai:{step.model}",
            tools=[use],
            system=SYSTEM,
            environment={"OPENAI_API_KEY": "none"},
            config=False,
            base_url=URL,
            wire="chat",
            max_steps=MOST_STEPS,
            **OURS,
        )
        async with agent.session("long") as session:
            result = await session.ask(step.said)
            self.counts = [0, 0]
            for one in (await session.context()).spend.by_purpose.values():
                self.add(one.input, one.output)
            result.or_raise()


drive(Ullage())
