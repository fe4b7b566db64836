"""pydantic-ai's agent as a workflow of DBOS, whose system database is SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any

from dbos import DBOS, SetWorkflowID  # type: ignore[import-not-found,unused-ignore]
from durable_steps import ASKED, MODEL, PLACE, level, run
from pydantic_ai import Agent  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.durable_exec.dbos import DBOSAgent  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.models.anthropic import AnthropicModel  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.usage import UsageLimits  # type: ignore[import-not-found,unused-ignore]

DATABASE = PLACE if "://" in PLACE else f"sqlite:///{PLACE}"

DBOS(
    config={
        "name": "durable",
        "system_database_url": DATABASE,
        "log_level": "WARNING",
        "application_version": "1",
        "executor_id": "one",
        "run_admin_server": False,
    }
)


async def seen(_: Any, events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass


agent = Agent(AnthropicModel(MODEL), name="durable", model_settings={"max_tokens": 2_000})


@agent.tool_plain(name="level")
@DBOS.step()
async def step(cask: int) -> str:
    """How full a cask is.

    Args:
        cask: Its number.
    """
    return level(cask)


durable = DBOSAgent(agent, event_stream_handler=seen)
DBOS.launch()


async def converse(name: str, is_resumed: bool) -> object:
    if is_resumed:  # the launch has taken it up
        handle: Any = await DBOS.retrieve_workflow_async(name)
        return await handle.get_result()
    limits = UsageLimits(request_limit=None)
    with SetWorkflowID(name):
        return await durable.run(ASKED, usage_limits=limits)


try:
    run("dbos", converse)
finally:
    DBOS.destroy()
