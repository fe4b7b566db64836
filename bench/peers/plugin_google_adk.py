"""google-adk's agent on Gemini with Ullage's plugin, or with its own compaction.

That one is ``compaction`` (a share of the window, 20 events kept) or ``filter`` (5 invocations kept). The user keeps
the session's events. They are the runner's own ``InMemorySessionService``, filled again after a restart.
"""

from __future__ import annotations

from typing import Any

import plugin_session as told
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, FunctionCall, Part

CALLER = {"user_id": "person", "session_id": "bench"}
NAMES = {"app_name": "bench", **CALLER}


def gemini(model: str) -> Gemini:
    return Gemini(model=model, base_url=told.URL, client_kwargs={"api_key": "none"})


def own() -> dict[str, Any]:
    """The app's own compaction."""
    from google.adk.apps.app import EventsCompactionConfig
    from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

    if told.MODE == "filter":
        return {"plugins": [ContextFilterPlugin(num_invocations_to_keep=5)]}
    config = EventsCompactionConfig(
        token_threshold=round(told.TRIGGER * told.WINDOW), event_retention_size=20
    )
    return {"events_compaction_config": config}


class GoogleAdk(told.Program):
    """``settings`` are the app's: plugins, or its own compaction."""

    packages = ("google-adk", "google-genai")

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        model = gemini("nobody-knows-this")
        self.agent = LlmAgent(
            name="bench", model=model, instruction=told.SYSTEM, tools=[told.use]
        )
        app = App(name="bench", root_agent=self.agent, **settings)
        self.runner = InMemoryRunner(app=app)

    async def turn(self, step: told.Step) -> None:
        await self._filled()
        self.agent.model = gemini(step.model)
        mode = StreamingMode.SSE if step.streams else StreamingMode.NONE
        running = self.runner.run_async(
            **CALLER,
            new_message=Content(role="user", parts=[Part(text=step.said)]),
            run_config=RunConfig(streaming_mode=mode, max_llm_calls=told.MOST_STEPS),
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

    def lose(self, step: told.Step) -> None:
        call = FunctionCall(id=step.lost_call, name="use", args=told.LOST_ARGUMENTS)
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

    def counted(self) -> tuple[int, int]:
        self.counts = [0, 0]
        for event in self.history:
            used = event.usage_metadata
            if used is not None:
                self.add(used.prompt_token_count, used.candidates_token_count)
                self.add(0, used.thoughts_token_count)
        return self.counts[0], self.counts[1]

    async def close(self) -> None:
        await self.runner.close()


class WithUllage(GoogleAdk):
    """Counts by what the plugin has counted, not by the events."""

    def __init__(self) -> None:
        from ullage.plugins.google_adk import UllagePlugin

        self.is_left = False
        super().__init__(plugins=[UllagePlugin(on_event=self.note, **told.OURS)])

    async def turn(self, step: told.Step) -> None:
        self.is_left = bool(step.stop_after)
        await super().turn(step)

    def note(self, event: Any) -> None:
        """Count a call that has ended, but for streams that are left: ADK has most often read them by then."""
        if not self.is_left or getattr(event, "purpose", "") == "summary":
            super().note(event)

    def counted(self) -> tuple[int, int]:
        return self.counts[0], self.counts[1]


told.drive(GoogleAdk(**own()) if told.MODE else WithUllage())
