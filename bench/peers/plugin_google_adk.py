"""google-adk's agent with Ullage's plugin."""

from __future__ import annotations

from typing import Any

from plugin_session import FOLDER, TRIGGER, WINDOW, Step, drive
from plugin_with_google_adk import GoogleAdk

from ullage.events import CallEnded, Event
from ullage.plugins.google_adk import UllagePlugin


class WithUllage(GoogleAdk):
    """Counts by what the plugin has counted, not by the events."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.counts = [0, 0]
        self.is_left = False

    async def turn(self, step: Step) -> None:
        self.is_left = bool(step.stop_after)
        await super().turn(step)

    def note(self, event: Event) -> None:
        """Count a call that has ended, but for streams that are left: ADK has most often read them by then."""
        if not isinstance(event, CallEnded) or not event.usage:
            return
        if event.purpose == "summary" or not self.is_left:
            self.counts[0] += event.usage.input or 0
            self.counts[1] += event.usage.output or 0

    def counted(self) -> tuple[int, int]:
        return self.counts[0], self.counts[1]


def noted(event: Event) -> None:
    PROGRAM.note(event)


PLUGIN = UllagePlugin(
    window=WINDOW, trigger=TRIGGER, store=FOLDER / "ullage.db", on_event=noted
)
PROGRAM = WithUllage(plugins=[PLUGIN])
drive(PROGRAM)
