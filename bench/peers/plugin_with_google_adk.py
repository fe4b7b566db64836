"""An agent of google-adk on Gemini, driven through the steps; loaded by the scripts beside it.

The user keeps the session's events. They are the runner's own ``InMemorySessionService``, filled again after a restart.
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
from plugin_session import LOST_ARGUMENTS, MOST_STEPS, SYSTEM, URL, Step, use

NAMES = {"app_name": "bench", "user_id": "person", "session_id": "bench"}
CALLER = {"user_id": "person", "session_id": "bench"}


def gemini(model: str) -> Gemini:
    return Gemini(model=model, base_url=URL, client_kwargs={"api_key": "none"})


class GoogleAdk:
    """``settings`` are the app's: plugins, or its own compaction."""

    packages = ("google-adk", "google-genai")

    def __init__(self, model: str = "nobody-knows-this", **settings: Any) -> None:
        self.agent = LlmAgent(
            name="bench", model=gemini(model), instruction=SYSTEM, tools=[use]
        )
        self.runner = InMemoryRunner(
            app=App(name="bench", root_agent=self.agent, **settings)
        )
        self.history: list[Event] = []

    async def turn(self, step: Step) -> None:
        await self._filled()
        self.agent.model = gemini(step.model)
        mode = StreamingMode.SSE if step.streams else StreamingMode.NONE
        said = Content(role="user", parts=[Part(text=step.said)])
        running = self.runner.run_async(
            **CALLER,
            new_message=said,
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
        self.history += [
            Event(author="user", content=said, invocation_id=step.lost_call),
            Event(author="bench", content=called, invocation_id=step.lost_call),
        ]

    async def _filled(self) -> None:
        """The session, with the events that the user has and it has not."""
        service = self.runner.session_service
        session = await service.get_session(**NAMES)
        if session is None:
            session = await service.create_session(**NAMES)
        for event in self.history[len(session.events) :]:
            await service.append_event(session, event)

    def counted(self) -> tuple[int, int]:
        sent = received = 0
        for event in self.history:
            used = event.usage_metadata
            if used is not None:
                sent += used.prompt_token_count or 0
                received += (used.candidates_token_count or 0) + (
                    used.thoughts_token_count or 0
                )
        return sent, received

    async def close(self) -> None:
        await self.runner.close()
