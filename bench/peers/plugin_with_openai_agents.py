"""An agent of the OpenAI Agents SDK that plays the steps, with a plug-in or its own compaction."""

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
from plugin_session import LOST_ARGUMENTS, MOST_STEPS, SYSTEM, URL, Step, use

set_tracing_disabled(True)
CLIENT = AsyncOpenAI(base_url=URL, api_key="none", max_retries=0)


class OpenAIAgents:
    """Keeps the items itself, as ``to_input_list`` gives them. ``api`` is ``responses`` or ``chat``."""

    packages: tuple[str, ...] = ("openai-agents",)

    def __init__(self, api: str) -> None:
        self.history: list[Any] = []
        is_chat = api == "chat"
        provider = OpenAIProvider(openai_client=CLIENT, use_responses=not is_chat)
        self.config = RunConfig(model_provider=provider)
        # On Chat a stream reports its usage only when it is asked to.
        self.settings = ModelSettings(include_usage=True if is_chat else None)
        self.tools: list[Any] = [function_tool(use)]

    def agent(self, model: str) -> Any:
        return Agent(
            "bench",
            instructions=SYSTEM,
            tools=self.tools,
            model=model,
            model_settings=self.settings,
        )

    async def turn(self, step: Step) -> None:
        asked = [*self.history, {"role": "user", "content": step.said}]
        agent = self.agent(step.model)
        if not step.streams:
            done = await Runner.run(
                agent, asked, run_config=self.config, max_turns=MOST_STEPS
            )
            self.took(done)
            return
        stream = Runner.run_streamed(
            agent, asked, run_config=self.config, max_turns=MOST_STEPS
        )
        pieces = 0
        async for event in stream.stream_events():
            pieces += event.type == "raw_response_event"
            if pieces == step.stop_after and pieces:
                stream.cancel()
                self.history = asked
                return
        self.took(stream)

    def took(self, done: Any) -> None:
        self.history = done.to_input_list()

    def lose(self, step: Step) -> None:
        call = {
            "type": "function_call",
            "call_id": step.lost_call,
            "name": "use",
            "arguments": json.dumps(LOST_ARGUMENTS),
        }
        self.history += [{"role": "user", "content": step.said}, call]

    def counted(self) -> tuple[int, int]:
        raise NotImplementedError

    async def close(self) -> None:
        await CLIENT.close()
