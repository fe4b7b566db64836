"""pydantic-ai's agent with Ullage's capability, or with the compaction of its harness.

That one is ``tiered`` (its README's tiers and numbers: clear tool results but 3 pairs, then summarise all but 20
messages) or ``summary`` (the last of these alone).
"""

from __future__ import annotations

from typing import Any

import plugin_session as told
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

LIMITS = UsageLimits(request_limit=told.MOST_STEPS)


def harness() -> Any:
    """The harness' capability that the mode names."""
    from pydantic_ai_harness.compaction import (  # type: ignore[import-not-found,unused-ignore]
        ClearToolResults,
        SummarizingCompaction,
        TieredCompaction,
    )

    if told.MODE == "summary":
        return SummarizingCompaction(
            max_fraction=told.TRIGGER, context_window=told.WINDOW, keep_messages=20
        )
    tiers = [
        ClearToolResults(max_tokens=1, keep_pairs=3),
        SummarizingCompaction(max_messages=1, keep_messages=20),
    ]
    return TieredCompaction(
        tiers=tiers, target_fraction=told.TRIGGER, context_window=told.WINDOW
    )


def ours() -> Any:
    """Ullage's capability."""
    from ullage.plugins.pydantic_ai import Ullage

    return Ullage(**told.OURS)


class PydanticAI(told.Program):
    """Keeps the messages itself, as pydantic-ai's users do. Counts by the usage of its runs."""

    packages: tuple[str, ...] = ("pydantic-ai-slim",)

    def __init__(self) -> None:
        super().__init__()
        self.compaction = harness() if told.MODE else ours()
        if told.MODE:
            self.packages = ("pydantic-ai-harness", "pydantic-ai-slim")
        self.provider = OpenAIProvider(base_url=told.URL, api_key="none")
        given = {"tools": [told.use], "capabilities": [self.compaction]}
        self.agent: Any = Agent(instructions=told.SYSTEM, **given)

    async def turn(self, step: told.Step) -> None:
        model = OpenAIChatModel(step.model, provider=self.provider)
        given = {"message_history": list(self.history), "usage_limits": LIMITS}
        async with self.agent.iter(step.said, model=model, **given) as run:
            try:
                await self.steps(run, step)
            finally:
                used = run.usage() if callable(run.usage) else run.usage
                self.add(used.input_tokens, used.output_tokens)
        self.history = run.all_messages()

    async def steps(self, run: Any, step: told.Step) -> None:
        pieces = 0
        async for node in run:
            if not step.streams or not Agent.is_model_request_node(node):
                continue
            async with node.stream(run.ctx) as stream:
                async for _ in stream:
                    pieces += 1
                    if pieces == step.stop_after:
                        return

    def lose(self, step: told.Step) -> None:
        lost = ToolCallPart("use", told.LOST_ARGUMENTS, step.lost_call)
        asked = ModelRequest(parts=[UserPromptPart(step.said)])
        history = [*self.history, asked, ModelResponse(parts=[lost])]
        self.history = repair_messages(history)

    async def close(self) -> None:
        if not told.MODE:
            await self.compaction.aclose()


told.drive(PydanticAI())
