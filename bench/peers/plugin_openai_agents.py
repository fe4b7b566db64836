"""The OpenAI Agents SDK with Ullage: the third argument is ``responses`` or ``chat``."""

from __future__ import annotations

import sys

from plugin_session import FOLDER, TRIGGER, WINDOW, drive
from plugin_with_openai_agents import OpenAIAgents

from ullage.events import CallEnded, Event
from ullage.plugins.openai_agents import instrument


class WithUllage(OpenAIAgents):
    """Counts what the plug-in has counted, summaries included: they are in no run's usage."""

    def __init__(self, api: str) -> None:
        super().__init__(api)
        self.counts = [0, 0]
        self.config = instrument(
            self.config,
            window=WINDOW,
            trigger=TRIGGER,
            store=FOLDER / "ullage.db",
            session="bench",
            on_event=self.note,
        )

    def note(self, event: Event) -> None:
        if isinstance(event, CallEnded) and event.usage is not None:
            self.counts[0] += event.usage.input or 0
            self.counts[1] += event.usage.output or 0

    def counted(self) -> tuple[int, int]:
        return self.counts[0], self.counts[1]

    async def close(self) -> None:
        await self.config.model_provider.aclose()
        await super().close()


drive(WithUllage(sys.argv[3]))
