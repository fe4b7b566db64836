"""openai-agents' Runner, with the conversation in memory or in its SQLiteSession."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from agents import (  # type: ignore[import-not-found,unused-ignore]
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from loop_timing import Way, earlier, read_log, report
from openai import AsyncOpenAI  # type: ignore[import-not-found,unused-ignore]

set_tracing_disabled(True)
PLACE = tempfile.TemporaryDirectory()


def history(behind: int) -> list[Any]:
    made: list[Any] = [{"role": "user", "content": "Read the logs."}] if behind else []
    for name, result in earlier(behind):
        text = {
            "type": "output_text",
            "text": "Now the next log.",
            "annotations": [],
            "logprobs": [],
        }
        said = {
            "id": f"msg_{name}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
        called = {
            "id": f"fc_{name}",
            "type": "function_call",
            "status": "completed",
            "call_id": name,
        }
        made += [said, {**called, "name": "read_log", "arguments": '{"number": 1}'}]
        made.append({"type": "function_call_output", "call_id": name, "output": result})
    return made


def way(model: Any, *, stored: bool) -> Way:
    @cache
    def agent(url: str) -> Any:
        client = AsyncOpenAI(api_key="none", base_url=url, max_retries=0)
        return Agent(
            name="reader",
            model=model("gpt-4.1", openai_client=client),
            tools=[function_tool(read_log)],
        )

    async def run(url: str, said: list[Any], session: str) -> str:
        kept = (
            SQLiteSession(session, Path(PLACE.name) / "sessions.db") if stored else None
        )
        if kept is not None:
            await kept.add_items(said[:-1])
            said = said[-1:]
        result = Runner.run_streamed(agent(url), said, max_turns=10_000, session=kept)
        async for _ in result.stream_events():
            pass
        return str(result.final_output)

    async def loop(url: str, behind: int) -> str:
        return await run(
            url, [*history(behind), {"role": "user", "content": "Read the logs."}], "loop"
        )

    async def stream(url: str, number: int) -> str:
        return await run(
            url, [{"role": "user", "content": "Tell me."}], f"stream-{number}"
        )

    return Way(loop, stream)


with PLACE:
    report(
        ["openai-agents", "openai"],
        {
            "chat": way(OpenAIChatCompletionsModel, stored=False),
            "responses": way(OpenAIResponsesModel, stored=False),
            "chat, stored": way(OpenAIChatCompletionsModel, stored=True),
            "responses, stored": way(OpenAIResponsesModel, stored=True),
        },
    )
