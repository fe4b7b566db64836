"""litellm: Chat and Anthropic through its one interface."""

from __future__ import annotations

from typing import Any

import litellm  # type: ignore[import-not-found,unused-ignore]
from wire_timing import Way, report

litellm.telemetry = False
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "read_file", "parameters": PARAMETERS}}


def history(rounds: list[dict[str, str]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for one in rounds:
        function = {"name": one["name"], "arguments": one["arguments"]}
        call = {"id": one["id"], "type": "function", "function": function}
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": one["id"], "content": one["result"]})
    return made


def way(model: str, path: str) -> Way:
    async def call(base: str, messages: list[dict[str, Any]]) -> str:
        text: list[str] = []
        stream = await litellm.acompletion(
            model=model, messages=messages, tools=[TOOL], stream=True, api_base=f"{base}{path}", api_key="none",
            max_tokens=1000, stream_options={"include_usage": True}, num_retries=0,
        )  # fmt: skip
        async for chunk in stream:
            for choice in chunk.choices:
                text.append(choice.delta.content or "")
        return "".join(text)

    return Way(call, history)


report(
    ["litellm"],
    {
        "chat": way("openai/gpt-4.1", "/v1"),
        "messages": way("anthropic/claude-haiku-4-5", ""),
    },
)
