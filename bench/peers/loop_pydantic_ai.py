"""pydantic-ai's agent, with its message history in memory."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterable, Callable
from functools import cache
from typing import Any

from loop_timing import Way, earlier, read_log, report
from pydantic_ai import Agent  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.messages import (  # type: ignore[import-not-found,unused-ignore]
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage, UsageLimits  # type: ignore[import-not-found,unused-ignore]

warnings.simplefilter("ignore")


def chat(url: str) -> Any:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(
        "gpt-4.1", provider=OpenAIProvider(base_url=url, api_key="none")
    )


def responses(url: str) -> Any:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIResponsesModel(
        "gpt-4.1", provider=OpenAIProvider(base_url=url, api_key="none")
    )


def messages(url: str) -> Any:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(base_url=url.removesuffix("/v1"), api_key="none")
    return AnthropicModel("claude-opus-4-6", provider=provider)


def history(behind: int) -> list[Any]:
    made: list[Any] = (
        [ModelRequest(parts=[UserPromptPart("Read the logs.")])] if behind else []
    )
    for name, result in earlier(behind):
        parts = [
            TextPart("Now the next log."),
            ToolCallPart("read_log", '{"number": 1}', name),
        ]
        made.append(
            ModelResponse(
                parts=parts, usage=RequestUsage(input_tokens=1_000, output_tokens=20)
            )
        )
        made.append(ModelRequest(parts=[ToolReturnPart("read_log", result, name)]))
    return made


def way(model: Callable[[str], Any]) -> Way:
    @cache
    def agent(url: str) -> Any:
        return Agent(model(url), tools=[read_log])

    async def seen(_: Any, events: AsyncIterable[Any]) -> None:
        async for _event in events:
            pass

    async def loop(url: str, behind: int) -> str:
        limits = UsageLimits(request_limit=None)
        done = await agent(url).run(
            "Read the logs.",
            event_stream_handler=seen,
            usage_limits=limits,
            message_history=history(behind),
        )
        return str(done.output)

    async def stream(url: str, number: int) -> str:
        return str((await agent(url).run("Tell me.", event_stream_handler=seen)).output)

    return Way(loop, stream)


report(
    ["pydantic-ai-slim"],
    {"chat": way(chat), "messages": way(messages), "responses": way(responses)},
)
