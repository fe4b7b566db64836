"""A pydantic-ai agent that plays the steps: for ``plugin_pydantic_ai.py`` and ``own_pydantic_ai.py``."""

from __future__ import annotations

from typing import Any

from plugin_session import LOST_ARGUMENTS, MOST_STEPS, SYSTEM, URL, Step, use
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

LIMITS = UsageLimits(request_limit=MOST_STEPS)


class PydanticAI:
    """Keeps the messages itself, as pydantic-ai's users do. Counts by the usage of its runs."""

    packages: tuple[str, ...] = ("pydantic-ai-slim",)

    def __init__(self, capabilities: list[Any]) -> None:
        self.history: list[Any] = []
        self.counts = [0, 0]
        self.provider = OpenAIProvider(base_url=URL, api_key="none")
        self.agent = Agent(instructions=SYSTEM, tools=[use], capabilities=capabilities)

    async def turn(self, step: Step) -> None:
        model = OpenAIChatModel(step.model, provider=self.provider)
        async with self.agent.iter(
            step.said,
            model=model,
            message_history=list(self.history),
            usage_limits=LIMITS,
        ) as run:
            try:
                await self.steps(run, step)
            finally:
                used = run.usage() if callable(run.usage) else run.usage
                self.counts[0] += used.input_tokens
                self.counts[1] += used.output_tokens
        self.history = run.all_messages()

    async def steps(self, run: Any, step: Step) -> None:
        pieces = 0
        async for node in run:
            if not step.streams or not Agent.is_model_request_node(node):
                continue
            async with node.stream(run.ctx) as stream:
                async for _ in stream:
                    pieces += 1
                    if pieces == step.stop_after:
                        return

    def lose(self, step: Step) -> None:
        lost = ToolCallPart("use", LOST_ARGUMENTS, step.lost_call)
        asked = ModelRequest(parts=[UserPromptPart(step.said)])
        history = [*self.history, asked, ModelResponse(parts=[lost])]
        self.history = repair_messages(history)

    def counted(self) -> tuple[int, int]:
        return self.counts[0], self.counts[1]

    async def close(self) -> None:
        return None
