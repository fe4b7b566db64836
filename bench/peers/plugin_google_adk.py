"""google-adk's agent on Gemini with Ullage's plugin.

The user keeps the session's events. They are the runner's own ``InMemorySessionService``, filled again after a restart.
It counts by what the plugin has counted, not by the events.
"""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, FunctionCall, Part
from plugin_session import (
    LOST_ARGUMENTS,
    MOST_STEPS,
    OURS,
    SYSTEM,
    URL,
    Program,
    Step,
    drive,
    use,
)

CALLER = {"user_id": "person", "session_id": "bench"}
NAMES = {"app_name": "bench", **CALLER}


def gemini(model: str) -> Gemini:
    return Gemini(model=model, base_url=URL, client_kwargs={"api_key": "none"})


class GoogleAdk(Program):
    packages = ("google-adk", "google-genai")

    def __init__(self) -> None:
        from ullage.plugins.google_adk import UllagePlugin

        super().__init__()
        self.is_left = False
        plugin = UllagePlugin(on_event=self.note, **OURS)
        model = gemini("nobody-knows-this")
        self.agent = LlmAgent(name="bench", model=model, instruction=SYSTEM, tools=[use])
        app = App(name="bench", root_agent=self.agent, plugins=[plugin])
        self.runner = InMemoryRunner(app=app)

    async def turn(self, step: Step) -> None:
        self.is_left = bool(step.stop_after)
        await self._filled()
        self.agent.model = gemini(step.model)
        mode = StreamingMode.SSE if step.streams else StreamingMode.NONE
        running = self.runner.run_async(
            **CALLER,
            new_message=Content(role="user", parts=[Part(text=step.said)]),
            run_config=RunConfig(streaming_mode=mode, max_llm_calls=MOST_STEPS),
        )
        pieces = 0
        try:
            async for event in running:
                pieces += bool(event.partial)
                if step.stop_after and pieces == step.stop_after:
                    break
        finally:
            await running.aclose()
            session = await self.runner.session_service.get_session(**NAMES)
            self.history = list(session.events)

    def lose(self, step: Step) -> None:
        call = FunctionCall(id=step.lost_call, name="use", args=LOST_ARGUMENTS)
        said = Content(role="user", parts=[Part(text=step.said)])
        called = Content(role="model", parts=[Part(function_call=call)])
        for author, content in (("user", said), ("bench", called)):
            event = Event(author=author, content=content, invocation_id=step.lost_call)
            self.history.append(event)

    async def _filled(self) -> None:
        """The session, with the events that the user has and it has not."""
        service = self.runner.session_service
        session = await service.get_session(**NAMES)
        if session is None:
            session = await service.create_session(**NAMES)
        for event in self.history[len(session.events) :]:
            await service.append_event(session, event)

    async def close(self) -> None:
        await self.runner.close()

    def note(self, event: Any) -> None:
        """Count a call that has ended, but for streams that are left: ADK has most often read them by then."""
        if not self.is_left or getattr(event, "purpose", "") == "summary":
            super().note(event)

    def counted(self) -> tuple[int, int]:
        return self.counts[0], self.counts[1]


drive(GoogleAdk())
