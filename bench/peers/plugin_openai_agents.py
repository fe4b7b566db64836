"""The OpenAI Agents SDK with Ullage, on ``responses`` or ``chat``, or (``own``) with its compaction.

That one is ``OpenAIResponsesCompactionSession`` over an SQLite session. It compacts after a run, by a count of items
(10 unless it is told otherwise), through POST /responses/compact. Its model, the next argument, must be named like
one of OpenAI's.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import plugin_session as told
from agents import (
    Agent,
    ModelSettings,
    OpenAIProvider,
    OpenAIResponsesCompactionSession,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

set_tracing_disabled(True)
CLIENT = AsyncOpenAI(base_url=told.URL, api_key="none", max_retries=0)


class OpenAIAgents(told.Program):
    """Keeps the items itself, as ``to_input_list`` gives them."""

    packages: tuple[str, ...] = ("openai-agents",)

    def __init__(self) -> None:
        super().__init__()
        is_chat = told.MODE == "chat"
        provider = OpenAIProvider(openai_client=CLIENT, use_responses=not is_chat)
        self.config = RunConfig(model_provider=provider)
        # On Chat a stream reports its usage only when it is asked to.
        self.settings = ModelSettings(include_usage=True if is_chat else None)
        self.tools: list[Any] = [function_tool(told.use)]

    def given(self, model: str) -> tuple[Any, dict[str, Any]]:
        """The agent, and how it is run."""
        settings = {"model": model, "model_settings": self.settings}
        agent: Any = Agent(
            "bench", instructions=told.SYSTEM, tools=self.tools, **settings
        )
        return agent, {"run_config": self.config, "max_turns": told.MOST_STEPS}

    async def turn(self, step: told.Step) -> None:
        asked = [*self.history, {"role": "user", "content": step.said}]
        agent, options = self.given(step.model)
        if not step.streams:
            done: Any = await Runner.run(agent, asked, **options)
            self.history = done.to_input_list()
            return
        stream = Runner.run_streamed(agent, asked, **options)
        if await read(stream, step.stop_after):
            self.history = stream.to_input_list()
        else:
            self.history = asked

    def lose(self, step: told.Step) -> None:
        call = {"type": "function_call", "call_id": step.lost_call, "name": "use"}
        call["arguments"] = json.dumps(told.LOST_ARGUMENTS)
        self.history += [{"role": "user", "content": step.said}, call]

    async def close(self) -> None:
        await CLIENT.close()


async def read(stream: Any, stop_after: int) -> bool:
    """Whether a stream was read to its end."""
    pieces = 0
    async for event in stream.stream_events():
        pieces += event.type == "raw_response_event"
        if pieces == stop_after and pieces:
            stream.cancel()
            return False
    return True


class WithUllage(OpenAIAgents):
    """Counts what the plug-in has counted, summaries included: they are in no run's usage."""

    def __init__(self) -> None:
        from ullage.plugins.openai_agents import instrument

        super().__init__()
        more: dict[str, Any] = {"session": "bench", "on_event": self.note}
        self.config = instrument(self.config, **told.OURS, **more)

    async def close(self) -> None:
        await self.config.model_provider.aclose()
        await super().close()


class WithSession(OpenAIAgents):
    """The session keeps the history; the usage of the runs holds the compactions."""

    def __init__(self) -> None:
        super().__init__()
        kept = SQLiteSession("bench", told.FOLDER / "session.db")
        more: dict[str, Any] = {"model": sys.argv[4], "compaction_mode": "input"}
        self.session: Any = OpenAIResponsesCompactionSession(
            "bench", kept, client=CLIENT, **more
        )

    async def turn(self, step: told.Step) -> None:
        agent, options = self.given(step.model)
        stream = Runner.run_streamed(agent, step.said, session=self.session, **options)
        try:
            async for _ in stream.stream_events():
                pass
        finally:
            used = stream.context_wrapper.usage
            self.add(used.input_tokens, used.output_tokens)


told.drive(WithSession() if told.MODE == "own" else WithUllage())
