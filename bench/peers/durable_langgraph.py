"""LangGraph's prebuilt agent with its checkpointers for SQLite and PostgreSQL."""

from __future__ import annotations

from typing import Any

from durable_steps import ASKED, MODEL, PLACE, level, run
from langchain_anthropic import ChatAnthropic  # type: ignore[import-not-found,unused-ignore]
from langgraph.prebuilt import create_react_agent  # type: ignore[import-not-found,unused-ignore]

model = ChatAnthropic(model=MODEL, streaming=True, max_tokens=2_000)


def saver() -> Any:
    if PLACE.startswith("postgresql"):
        from langgraph.checkpoint.postgres.aio import (  # type: ignore[import-not-found,unused-ignore]
            AsyncPostgresSaver,
        )

        return AsyncPostgresSaver.from_conn_string(PLACE)
    from langgraph.checkpoint.sqlite.aio import (  # type: ignore[import-not-found,unused-ignore]
        AsyncSqliteSaver,
    )

    return AsyncSqliteSaver.from_conn_string(PLACE)


async def converse(name: str, is_resumed: bool) -> object:
    asked = None if is_resumed else {"messages": [("user", ASKED)]}
    within = {"configurable": {"thread_id": name}, "recursion_limit": 10_000}
    async with saver() as checkpoints:
        await checkpoints.setup()
        graph = create_react_agent(model, [level], checkpointer=checkpoints)
        async for _ in graph.astream(asked, within, stream_mode=["messages"]):
            pass
    return None


run("langgraph", converse)
