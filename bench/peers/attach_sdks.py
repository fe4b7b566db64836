"""An SDK's client with a Meter attached: in each way of the SDK a conversation of three calls, and what was counted.

Started as: python attach_sdks.py URL PACKAGE. Its last line is JSON: versions, and the inputs of each way's calls.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import ullage
from ullage.events import CallEnded, Event

URL, PACKAGE = sys.argv[1:3]
ASKED = ("Say something about rivers.", "And about lakes?", "Which is longer?")
OPTIONS: dict[str, Any] = {"base_url": URL, "api_key": "none", "max_retries": 0}
GPT, CLAUDE, GEMINI = "gpt-4.1", "claude-haiku-4-5", "gemini-2.5-pro"

Call = Callable[[Any, list[Any]], Any]
"""Sends a history: an answer or a stream, to be awaited if the client is async."""


class Way:
    """How a program uses its SDK. ``text`` is the text of an answer, or of a stream's piece."""

    def __init__(self, make: Callable[[], Any], call: Call, text: Callable[[Any], str]):
        self.make, self.call, self.text = make, call, text

    async def said(self, client: Any, history: list[Any]) -> str:
        given = self.call(client, history)
        if inspect.isawaitable(given):
            given = await given
        if hasattr(given, "__aiter__"):
            return "".join([self.text(piece) async for piece in given])
        if hasattr(given, "__next__"):
            return "".join(self.text(piece) for piece in given)
        return self.text(given)


async def counted(way: Way, model: str) -> list[int | None]:
    """The inputs of the calls, as the attached Meter has them."""
    events: list[Event] = []
    client = way.make()
    ullage.attach(client, ullage.Meter(model, on_event=events.append))
    history: list[Any] = []
    for text in ASKED:
        history.append({"role": "user", "content": text})
        answer = await way.said(client, history)
        history.append({"role": "assistant", "content": answer})
    ended = [event for event in events if isinstance(event, CallEnded)]
    return [None if each.usage is None else each.usage.input for each in ended]


def openai_ways() -> Iterable[tuple[str, str, Way]]:
    import openai

    usage = {"stream_options": {"include_usage": True}, "stream": True}

    def chat(client: Any, history: list[Any], **more: Any) -> Any:
        return client.chat.completions.create(model=GPT, messages=history, **more)

    def responses(client: Any, history: list[Any], **more: Any) -> Any:
        return client.responses.create(model=GPT, input=history, **more)

    def chunk(piece: Any) -> str:
        return "".join(each.delta.content or "" for each in piece.choices)

    def event(piece: Any) -> str:
        is_text = piece.type == "response.output_text.delta"
        return str(piece.delta) if is_text else ""

    def whole(answer: Any) -> str:
        return str(answer.choices[0].message.content)

    def output(answer: Any) -> str:
        return str(answer.output_text)

    for kind, make in (("sync", openai.OpenAI), ("async", openai.AsyncOpenAI)):
        client = made(make)
        yield f"chat, {kind}", GPT, Way(client, chat, whole)
        yield f"chat, {kind}, streaming", GPT, Way(client, given(chat, **usage), chunk)
        yield f"responses, {kind}", GPT, Way(client, responses, output)
        streamed = Way(client, given(responses, stream=True), event)
        yield f"responses, {kind}, streaming", GPT, streamed


def anthropic_ways() -> Iterable[tuple[str, str, Way]]:
    import anthropic

    def messages(client: Any, history: list[Any], **more: Any) -> Any:
        return client.messages.create(
            model=CLAUDE, max_tokens=500, messages=history, **more
        )

    def event(piece: Any) -> str:
        is_text = piece.type == "content_block_delta"
        return str(piece.delta.text) if is_text else ""

    def whole(answer: Any) -> str:
        return str(answer.content[0].text)

    kinds = (("sync", anthropic.Anthropic), ("async", anthropic.AsyncAnthropic))
    for kind, make in kinds:
        client = made(make)
        yield f"messages, {kind}", CLAUDE, Way(client, messages, whole)
        streamed = Way(client, given(messages, stream=True), event)
        yield f"messages, {kind}, streaming", CLAUDE, streamed


def google_ways() -> Iterable[tuple[str, str, Way]]:
    from google import genai

    def client() -> Any:
        options = genai.types.HttpOptions(base_url=URL)
        return genai.Client(api_key="none", http_options=options)

    def text(answer: Any) -> str:
        return answer.text or ""

    def call(name: str, *, is_async: bool) -> Call:
        def said(client: Any, history: list[Any]) -> Any:
            models = client.aio.models if is_async else client.models
            return getattr(models, name)(model=GEMINI, contents=contents(history))

        return said

    for kind in ("sync", "async"):
        is_async = kind == "async"
        whole = call("generate_content", is_async=is_async)
        pieces = call("generate_content_stream", is_async=is_async)
        yield f"generate_content, {kind}", GEMINI, Way(client, whole, text)
        yield f"generate_content, {kind}, streaming", GEMINI, Way(client, pieces, text)


def contents(history: list[Any]) -> list[Any]:
    roles = {"user": "user", "assistant": "model"}
    found = []
    for each in history:
        parts = [{"text": each["content"]}]
        found.append({"role": roles[each["role"]], "parts": parts})
    return found


def made(make: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: make(**OPTIONS)


def given(call: Callable[..., Any], **more: Any) -> Call:
    return lambda client, history: call(client, history, **more)


async def main() -> None:
    ways = {
        "openai": openai_ways,
        "anthropic": anthropic_ways,
        "google-genai": google_ways,
    }
    found: dict[str, list[int | None]] = {}
    problems: list[str] = []
    for name, model, way in ways[PACKAGE]():
        try:
            found[name] = await counted(way, model)
        except Exception as problem:  # noqa: BLE001 - whatever an SDK raises, its way has failed
            problems.append(f"{name}: {type(problem).__name__}: {problem}"[:300])
    versions = {PACKAGE: version(PACKAGE)}
    print(json.dumps({"versions": versions, "counted": found, "problems": problems}))


asyncio.run(main())
