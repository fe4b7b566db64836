"""The OpenAI Agents SDK with Ullage, on ``responses`` or ``chat``.

Counts what the plug-in has counted, summaries included: they are in no run's usage.
"""

from __future__ import annotations

import json
from typing import Any

from agents import (
    Agent,
    ModelSettings,
    OpenAIProvider,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from plugin_session import (
    LOST_ARGUMENTS,
    MODE,
    MOST_STEPS,
    OURS,
    SYSTEM,
    URL,
    Program,
    Step,
    drive,
    use,
)

set_tracing_disabled(True)
CLIENT = AsyncOpenAI(base_url=URL, api_key="none", max_retries=0)


class OpenAIAgents(Program):
    """Keeps the items itself, as ``to_input_list`` gives them."""

    packages: tuple[str, ...] = ("openai-agents",)

    def __init__(self) -> None:
        from ullage.plugins.openai_agents import instrument

        super().__init__()
        is_chat = MODE == "chat"
        provider = OpenAIProvider(openai_client=CLIENT, use_responses=not is_chat)
        config = RunConfig(model_provider=provider)
        more: dict[str, Any] = {"session": "bench", "on_event": self.note}
        self.config = instrument(config, **OURS, **more)
        # On Chat a stream reports its usage only when it is asked to.
        self.settings = ModelSettings(include_usage=True if is_chat else None)
        self.tools: list[Any] = [function_tool(use)]

    def given(self, model: str) -> tuple[Any, dict[str, Any]]:
        """The agent, and how it is run."""
        settings = {"model": model, "model_settings": self.settings}
        agent: Any = Agent("bench", instructions=SYSTEM, tools=self.tools, **settings)
        return agent, {"run_config": self.config, "max_turns": MOST_STEPS}

    async def turn(self, step: Step) -> None:
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

    def lose(self, step: Step) -> None:
        call = {"type": "function_call", "call_id": step.lost_call, "name": "use"}
        call["arguments"] = json.dumps(LOST_ARGUMENTS)
        self.history += [{"role": "user", "content": step.said}, call]

    async def close(self) -> None:
        await self.config.model_provider.aclose()
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


drive(OpenAIAgents())
