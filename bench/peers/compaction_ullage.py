"""Ullage's agent with its own settings, but for the window and where compaction starts."""

from __future__ import annotations

import tempfile
from pathlib import Path

from compaction_session import (
    MODEL,
    MOST_STEPS,
    SYSTEM,
    TRIGGER,
    URL,
    WINDOW,
    report,
    use,
)

from ullage.runtime.agent import Agent

PLACE = tempfile.TemporaryDirectory()
AGENT = Agent(
    f"openai:{MODEL}",
    tools=[use],
    system=SYSTEM,
    store=Path(PLACE.name) / "sessions.db",
    environment={"OPENAI_API_KEY": "none"},
    config=False,
    base_url=URL,
    wire="chat",
    window=WINDOW,
    trigger=TRIGGER,
    max_steps=MOST_STEPS,
)
counts = [0, 0]


async def turn(said: str) -> None:
    async with AGENT.session("long") as session:
        result = await session.ask(said)
        sums = (await session.spend()).by_purpose.values()
        counts[:] = (
            sum(one.input or 0 for one in sums),
            sum(one.output or 0 for one in sums),
        )
        result.or_raise()


with PLACE:
    report(["ullage"], turn, lambda: (counts[0], counts[1]))
