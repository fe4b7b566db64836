"""langchain's agent with its SummarizationMiddleware as documented: a share of the window, 20 messages kept."""

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
from langchain.agents import create_agent  # type: ignore[import-not-found,unused-ignore]
from langchain.agents.middleware import SummarizationMiddleware  # type: ignore[import-not-found,unused-ignore]
from langchain_core.callbacks import UsageMetadataCallbackHandler  # type: ignore[import-not-found,unused-ignore]
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found,unused-ignore]

CHAT = ChatOpenAI(
    model=MODEL,
    base_url=URL,
    api_key="none",
    max_retries=0,
    profile={"max_input_tokens": WINDOW},
)
AGENT = create_agent(
    CHAT,
    [use],
    system_prompt=SYSTEM,
    middleware=[
        SummarizationMiddleware(
            CHAT, trigger=("fraction", TRIGGER), keep=("messages", 20)
        )
    ],
)
USED = UsageMetadataCallbackHandler()
history: list[Any] = []


async def turn(said: str) -> None:
    given = [*history, {"role": "user", "content": said}]
    done = await AGENT.ainvoke(
        {"messages": given}, {"callbacks": [USED], "recursion_limit": 3 * MOST_STEPS}
    )
    history[:] = done["messages"]


def counted() -> tuple[int, int]:
    used = USED.usage_metadata.values()
    return sum(one["input_tokens"] for one in used), sum(
        one["output_tokens"] for one in used
    )


report(["langchain", "langchain-openai"], turn, counted)
