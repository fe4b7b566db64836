"""pydantic-ai with the harness' compaction: what its README calls a sensible default, or a summary alone.

The third argument is ``tiered`` (its README's tiers and numbers: clear tool results but 3 pairs, then summarise all but
20 messages) or ``summary`` (the last of these alone).
"""

from __future__ import annotations

import sys
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
from pydantic_ai import Agent  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.models.openai import OpenAIChatModel  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.usage import UsageLimits  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai_harness.compaction import (  # type: ignore[import-not-found,unused-ignore]
    ClearToolResults,
    SummarizingCompaction,
    TieredCompaction,
)

TIERED = TieredCompaction(
    tiers=[
        ClearToolResults(max_tokens=1, keep_pairs=3),
        SummarizingCompaction(max_messages=1, keep_messages=20),
    ],
    target_fraction=TRIGGER,
    context_window=WINDOW,
)
SUMMARY = SummarizingCompaction(
    max_fraction=TRIGGER, context_window=WINDOW, keep_messages=20
)
AGENT = Agent(
    OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=URL, api_key="none")),
    instructions=SYSTEM,
    tools=[use],
    capabilities=[TIERED if sys.argv[3] == "tiered" else SUMMARY],
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
