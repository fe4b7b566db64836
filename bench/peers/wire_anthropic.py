"""The official anthropic SDK."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import anthropic  # type: ignore[import-not-found,unused-ignore]
from wire_timing import Way, report


@cache
def client(base: str) -> Any:
    return anthropic.AsyncAnthropic(api_key="none", base_url=base, max_retries=0)


def history(rounds: list[dict[str, str]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for one in rounds:
        call = {
            "type": "tool_use",
            "id": one["id"],
            "name": one["name"],
            "input": json.loads(one["arguments"]),
        }
        result = {
            "type": "tool_result",
            "tool_use_id": one["id"],
            "content": one["result"],
        }
        made.append({"role": "assistant", "content": [call]})
        made.append({"role": "user", "content": [result]})
    return made


async def call(base: str, messages: list[dict[str, Any]]) -> str:
    text: list[str] = []
    async for event in await client(base).messages.create(
        model="claude-haiku-4-5",
        max_tokens=1000,
        messages=messages,
        tools=[
            {
                "name": "read_file",
                "input_schema": {
                    "type": "object",
                    "properties": {"path": {"type": "string"}},
                },
            }
        ],
        stream=True,
    ):
        if event.type == "content_block_delta":
            text.append(event.delta.text)
    return "".join(text)


report(["anthropic"], {"messages": Way(call, history)})
