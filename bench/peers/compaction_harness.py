"""pydantic-ai with the harness' compaction (``harness_tiers.py``)."""

from __future__ import annotations

from typing import Any

from compaction_session import (
    MODEL,
    MOST_STEPS,
    SYSTEM,
    TRIGGER,
    URL,
    WINDOW,
    report,
    use,
)
from harness_tiers import compaction
from pydantic_ai import Agent  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.models.openai import OpenAIChatModel  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.usage import UsageLimits  # type: ignore[import-not-found,unused-ignore]

AGENT = Agent(
    OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=URL, api_key="none")),
    instructions=SYSTEM,
    tools=[use],
    capabilities=[compaction(WINDOW, TRIGGER)],
)
LIMITS = UsageLimits(request_limit=MOST_STEPS)
history: list[Any] = []
counts = [0, 0]


async def turn(said: str) -> None:
    done = await AGENT.run(said, message_history=list(history), usage_limits=LIMITS)
    history[:] = done.all_messages()
    used = done.usage() if callable(done.usage) else done.usage
    counts[0] += used.input_tokens
    counts[1] += used.output_tokens


report(["pydantic-ai-harness", "pydantic-ai-slim"], turn, lambda: (counts[0], counts[1]))
