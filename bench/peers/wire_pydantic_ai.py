"""pydantic-ai's models on four wires, through its direct API."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic_ai.direct import model_request_stream  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.messages import (  # type: ignore[import-not-found,unused-ignore]
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.tools import ToolDefinition  # type: ignore[import-not-found,unused-ignore]
from wire_timing import Way, report

warnings.simplefilter("ignore")
TOOL = ToolDefinition(
    name="read_file",
    parameters_json_schema={"type": "object", "properties": {"path": {"type": "string"}}},
)


@cache
def chat(base: str) -> Any:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(
        "gpt-4.1", provider=OpenAIProvider(base_url=f"{base}/v1", api_key="none")
    )


@cache
def responses(base: str) -> Any:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIResponsesModel(
        "gpt-5", provider=OpenAIProvider(base_url=f"{base}/v1", api_key="none")
    )


@cache
def messages(base: str) -> Any:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(
        "claude-haiku-4-5", provider=AnthropicProvider(base_url=base, api_key="none")
    )


@cache
def gemini(base: str) -> Any:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(
        "gemini-2.5-flash", provider=GoogleProvider(base_url=base, api_key="none")
    )


def history(rounds: list[dict[str, str]]) -> list[Any]:
    made: list[Any] = [ModelRequest(parts=[UserPromptPart("Go.")])]
    for one in rounds:
        made.append(
            ModelResponse(parts=[ToolCallPart(one["name"], one["arguments"], one["id"])])
        )
        made.append(
            ModelRequest(parts=[ToolReturnPart(one["name"], one["result"], one["id"])])
        )
    return made


def way(model: Callable[[str], Any]) -> Way:
    async def call(base: str, given: list[Any]) -> str:
        text: list[str] = []
        parameters = ModelRequestParameters(function_tools=[TOOL])
        async with model_request_stream(
            model(base), given, model_request_parameters=parameters
        ) as stream:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    text.append(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(
                    event.delta, TextPartDelta
                ):
                    text.append(event.delta.content_delta)
        return "".join(text)

    return Way(call, history)


report(
    ["pydantic-ai-slim"],
    {
        "chat": way(chat),
        "messages": way(messages),
        "responses": way(responses),
        "generateContent": way(gemini),
    },
)
