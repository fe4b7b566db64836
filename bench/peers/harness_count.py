"""pydantic-ai-harness' ``estimate_context_tokens`` on a history: without usage, and resting on the last answer's usage.

Run by ``bench.reading`` in an environment of its own: python bench/peers/harness_count.py HISTORY.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (  # type: ignore[import-not-found]
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage  # type: ignore[import-not-found]
from pydantic_ai_harness.compaction import estimate_context_tokens  # type: ignore[import-not-found]
from timing import report

CHARACTERS_A_TOKEN = 3.2


def converted(history: list[dict[str, Any]], *, with_usage: bool) -> list[Any]:
    """Chat messages as pydantic-ai's; with usage on every answer, as a provider reports it, or without any."""
    messages: list[Any] = []
    characters = 0
    for chat in history:
        size = len(chat["content"]) + sum(
            len(call["function"]["arguments"]) for call in chat.get("tool_calls", ())
        )
        match chat["role"]:
            case "user":
                messages.append(
                    ModelRequest(parts=[UserPromptPart(content=chat["content"])])
                )
            case "tool":
                result = ToolReturnPart(
                    "tool", chat["content"], tool_call_id=chat["tool_call_id"]
                )
                messages.append(ModelRequest(parts=[result]))
            case _:
                calls = [
                    ToolCallPart(
                        call["function"]["name"],
                        call["function"]["arguments"],
                        tool_call_id=call["id"],
                    )
                    for call in chat.get("tool_calls", ())
                ]
                answer = ModelResponse(parts=[TextPart(chat["content"]), *calls])
                if with_usage:
                    answer.usage = RequestUsage(
                        input_tokens=round(characters / CHARACTERS_A_TOKEN),
                        output_tokens=round(size / CHARACTERS_A_TOKEN),
                    )
                messages.append(answer)
        characters += size
    return messages


history = json.loads(Path(sys.argv[1]).read_text())
one_more = {
    "role": "user",
    "content": "And what does the sensor say when the valve stays open over night? " * 2,
}
bare = converted(history, with_usage=False)
anchored = converted([*history, one_more], with_usage=True)
report(
    ["pydantic-ai-harness", "pydantic-ai-slim"],
    {
        "estimate_context_tokens, no usage (length/4)": lambda: estimate_context_tokens(
            bare
        ),
        "estimate_context_tokens, usage on each answer": lambda: estimate_context_tokens(
            anchored
        ),
    },
)
