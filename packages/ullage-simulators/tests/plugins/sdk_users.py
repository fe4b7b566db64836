"""Programs of users: each has a conversation of three calls with a provider's own SDK, in its own way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anthropic
import openai
from google import genai
from pydantic import BaseModel

from ullage_simulators import Server

ASKED = ("Say something about rivers.", "And about lakes?", "Which is longer?")
GPT, CLAUDE, GEMINI = "gpt-4.1", "claude-fable-5-2", "gemini-2.5-pro"
USAGE: Any = {"stream_options": {"include_usage": True}}

Say = Callable[[Any, list[Any]], Awaitable[Any]]
"""Sends a history and gives the answer's text."""


class SdkUser(NamedTuple):
    """``client`` makes the SDK's client; ``say`` is how it is used."""

    client: Callable[[Server], Any]
    say: Say
    model: str = GPT


class Rivers(BaseModel):
    name: str = ""


def openai_client(server: Server, **more: Any) -> openai.OpenAI:
    return openai.OpenAI(
        base_url=server.url("openai"), api_key="any", **{"max_retries": 0, **more}
    )


def openai_async(server: Server, **more: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=server.url("openai"), api_key="any", **{"max_retries": 0, **more}
    )


def anthropic_client(server: Server, **more: Any) -> anthropic.Anthropic:
    address = server.url("anthropic").removesuffix("/v1")
    return anthropic.Anthropic(
        base_url=address, api_key="any", **{"max_retries": 0, **more}
    )


def anthropic_async(server: Server, **more: Any) -> anthropic.AsyncAnthropic:
    address = server.url("anthropic").removesuffix("/v1")
    return anthropic.AsyncAnthropic(
        base_url=address, api_key="any", **{"max_retries": 0, **more}
    )


def genai_client(server: Server) -> genai.Client:
    return genai.Client(
        api_key="any", http_options=genai.types.HttpOptions(base_url=server.url("gemini"))
    )


async def chat(client: Any, history: list[Any]) -> str:
    answer = client.chat.completions.create(model=GPT, messages=history)
    return str(answer.choices[0].message.content)


async def chat_async(client: Any, history: list[Any]) -> str:
    answer = await client.chat.completions.create(model=GPT, messages=history)
    return str(answer.choices[0].message.content)


async def chat_stream(client: Any, history: list[Any]) -> str:
    stream = client.chat.completions.create(
        model=GPT, messages=history, stream=True, **USAGE
    )
    texts = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    return "".join(texts)


async def chat_stream_async(client: Any, history: list[Any]) -> str:
    stream = await client.chat.completions.create(
        model=GPT, messages=history, stream=True, **USAGE
    )
    text = ""
    async for chunk in stream:
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    return text


async def chat_stream_helper(client: Any, history: list[Any]) -> str:
    with client.chat.completions.stream(model=GPT, messages=history, **USAGE) as stream:
        return str(stream.get_final_completion().choices[0].message.content)


async def chat_raw(client: Any, history: list[Any]) -> str:
    raw = client.chat.completions.with_raw_response.create(model=GPT, messages=history)
    return str(raw.parse().choices[0].message.content)


async def chat_streamed_body(client: Any, history: list[Any]) -> str:
    sending = client.chat.completions.with_streaming_response.create(
        model=GPT, messages=history
    )
    with sending as response:
        return str(response.json()["choices"][0]["message"]["content"])


async def chat_other_options(client: Any, history: list[Any]) -> str:
    return await chat(client.with_options(timeout=60), history)


async def chat_parse(client: Any, history: list[Any]) -> str:
    asked: Any = {"messages": history, "response_format": Rivers}
    answer = client.chat.completions.parse(model=GPT, **asked)
    assert isinstance(answer.choices[0].message.parsed, Rivers)
    return str(answer.choices[0].message.content)


async def responses_parse(client: Any, history: list[Any]) -> str:
    answer = client.responses.parse(model=GPT, input=history, text_format=Rivers)
    assert isinstance(answer.output_parsed, Rivers)
    return str(answer.output_text)


async def claude_parse(client: Any, history: list[Any]) -> str:
    asked: Any = {"max_tokens": 500, "messages": history, "output_format": Rivers}
    answer = client.messages.parse(model=CLAUDE, **asked)
    assert isinstance(answer.parsed_output, Rivers)
    return str(answer.content[0].text)


async def responses(client: Any, history: list[Any]) -> str:
    return str(client.responses.create(model=GPT, input=history).output_text)


async def responses_parsed(client: Any, history: list[Any]) -> str:
    raw = client.responses.with_raw_response.create(model=GPT, input=history)
    return str(raw.parse().output_text)


async def responses_stream(client: Any, history: list[Any]) -> str:
    with client.responses.stream(model=GPT, input=history) as stream:
        return str(stream.get_final_response().output_text)


async def responses_stream_async(client: Any, history: list[Any]) -> str:
    async with client.responses.stream(model=GPT, input=history) as stream:
        return str((await stream.get_final_response()).output_text)


def text_in(answer: Any) -> str:
    """The text of an answer; the model thinks in front of it."""
    return "".join(block.text for block in answer.content if block.type == "text")


async def claude(client: Any, history: list[Any]) -> str:
    answer = client.messages.create(model=CLAUDE, max_tokens=500, messages=history)
    return text_in(answer)


async def claude_async(client: Any, history: list[Any]) -> str:
    answer = await client.messages.create(model=CLAUDE, max_tokens=500, messages=history)
    return text_in(answer)


async def claude_beta(client: Any, history: list[Any]) -> str:
    answer = client.beta.messages.create(model=CLAUDE, max_tokens=500, messages=history)
    return text_in(answer)


async def claude_stream(client: Any, history: list[Any]) -> str:
    asked: Any = {"model": CLAUDE, "max_tokens": 500, "messages": history}
    with client.messages.stream(**asked) as stream:
        return str(stream.get_final_text())


async def claude_stream_async(client: Any, history: list[Any]) -> str:
    asked: Any = {"model": CLAUDE, "max_tokens": 500, "messages": history}
    async with client.messages.stream(**asked) as stream:
        return str(await stream.get_final_text())


async def claude_events(client: Any, history: list[Any]) -> str:
    text = ""
    for event in client.messages.create(
        model=CLAUDE, max_tokens=500, messages=history, stream=True
    ):
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            text += event.delta.text
    return text


def contents(history: list[Any]) -> list[Any]:
    """The history as Gemini has it."""
    roles = {"user": "user", "assistant": "model"}
    return [
        {"role": roles[one["role"]], "parts": [{"text": one["content"]}]}
        for one in history
    ]


async def gemini(client: Any, history: list[Any]) -> str:
    answer = client.models.generate_content(model=GEMINI, contents=contents(history))
    return str(answer.text)


async def gemini_async(client: Any, history: list[Any]) -> str:
    answer = await client.aio.models.generate_content(
        model=GEMINI, contents=contents(history)
    )
    return str(answer.text)


async def gemini_stream(client: Any, history: list[Any]) -> str:
    stream = client.models.generate_content_stream(
        model=GEMINI, contents=contents(history)
    )
    return "".join(chunk.text or "" for chunk in stream)


async def gemini_stream_async(client: Any, history: list[Any]) -> str:
    stream = await client.aio.models.generate_content_stream(
        model=GEMINI, contents=contents(history)
    )
    text = ""
    async for chunk in stream:
        text += chunk.text or ""
    return text


USERS: dict[str, SdkUser] = {
    "chat": SdkUser(openai_client, chat),
    "chat async": SdkUser(openai_async, chat_async),
    "chat stream": SdkUser(openai_client, chat_stream),
    "chat stream async": SdkUser(openai_async, chat_stream_async),
    "chat stream helper": SdkUser(openai_client, chat_stream_helper),
    "chat raw response": SdkUser(openai_client, chat_raw),
    "chat streaming response": SdkUser(openai_client, chat_streamed_body),
    "chat with options": SdkUser(openai_client, chat_other_options),
    "responses": SdkUser(openai_client, responses),
    "responses raw": SdkUser(openai_client, responses_parsed),
    "responses stream": SdkUser(openai_client, responses_stream),
    "responses stream async": SdkUser(openai_async, responses_stream_async),
    "messages": SdkUser(anthropic_client, claude, CLAUDE),
    "messages async": SdkUser(anthropic_async, claude_async, CLAUDE),
    "messages beta": SdkUser(anthropic_client, claude_beta, CLAUDE),
    "messages stream": SdkUser(anthropic_client, claude_stream, CLAUDE),
    "messages stream async": SdkUser(anthropic_async, claude_stream_async, CLAUDE),
    "messages events": SdkUser(anthropic_client, claude_events, CLAUDE),
    "gemini": SdkUser(genai_client, gemini, GEMINI),
    "gemini async": SdkUser(genai_client, gemini_async, GEMINI),
    "gemini stream": SdkUser(genai_client, gemini_stream, GEMINI),
    "gemini stream async": SdkUser(genai_client, gemini_stream_async, GEMINI),
}


PARSERS: dict[str, SdkUser] = {
    "chat": SdkUser(openai_client, chat_parse),
    "responses": SdkUser(openai_client, responses_parse),
    "messages": SdkUser(anthropic_client, claude_parse, CLAUDE),
}
"""Users whose answers are of a type: ``Rivers``."""


async def converse(client: Any, say: Say, asked: tuple[str, ...] = ASKED) -> list[Any]:
    """A whole conversation: each answer goes into the history."""
    history: list[Any] = []
    for text in asked:
        history.append({"role": "user", "content": text})
        answer = await say(client, history)
        history.append({"role": "assistant", "content": answer})
    return history


def run(talk: Awaitable[Any]) -> Any:
    """The result of a coroutine, on a loop of its own."""

    async def waited() -> Any:
        return await talk

    return asyncio.run(waited())
