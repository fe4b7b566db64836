"""The official openai SDK: Chat and Responses."""

from __future__ import annotations

from functools import cache
from typing import Any

import openai  # type: ignore[import-not-found,unused-ignore]
from wire_timing import Way, report

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}


@cache
def client(base: str) -> Any:
    return openai.AsyncOpenAI(api_key="none", base_url=f"{base}/v1", max_retries=0)


def chat_history(rounds: list[dict[str, str]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for one in rounds:
        function = {"name": one["name"], "arguments": one["arguments"]}
        call = {"id": one["id"], "type": "function", "function": function}
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": one["id"], "content": one["result"]})
    return made


async def chat(base: str, messages: list[dict[str, Any]]) -> str:
    text: list[str] = []
    function = {"name": "read_file", "parameters": PARAMETERS}
    async for chunk in await client(base).chat.completions.create(
        model="gpt-4.1",
        messages=messages,
        tools=[{"type": "function", "function": function}],
        stream=True,
        stream_options={"include_usage": True},
    ):
        for choice in chunk.choices:
            text.append(choice.delta.content or "")
    return "".join(text)


def items(rounds: list[dict[str, str]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for one in rounds:
        called = {
            "call_id": one["id"],
            "name": one["name"],
            "arguments": one["arguments"],
        }
        made.append({"type": "function_call", **called})
        made.append(
            {
                "type": "function_call_output",
                "call_id": one["id"],
                "output": one["result"],
            }
        )
    return made


async def responses(base: str, given: list[dict[str, Any]]) -> str:
    text: list[str] = []
    tool = {
        "type": "function",
        "name": "read_file",
        "parameters": PARAMETERS,
        "strict": False,
    }
    async for event in await client(base).responses.create(
        model="gpt-5", input=given, tools=[tool], stream=True
    ):
        if event.type == "response.output_text.delta":
            text.append(event.delta)
    return "".join(text)


report(["openai"], {"chat": Way(chat, chat_history), "responses": Way(responses, items)})
