"""Ullage's own wire: repaired, encoded, sent, decoded."""

from __future__ import annotations

from contextlib import aclosing

from wire_timing import Way, report

from ullage.codec.stream import TextDelta
from ullage.messages import Message, Request, TextPart, Tool, ToolCallPart, ToolResultPart
from ullage.wire.call import stream
from ullage.wire.client import Client
from ullage.wire.endpoints import Endpoint, Key

MODELS = {
    "chat": ("openai", "gpt-4.1"),
    "messages": ("anthropic", "claude-haiku-4-5"),
    "responses": ("openai", "gpt-5"),
    "generateContent": ("google", "gemini-2.5-flash"),
}
CLIENT = Client()


def history(rounds: list[dict[str, str]]) -> tuple[Message, ...]:
    """The rounds as an agent of ours holds them."""
    made = [Message(id="u", role="user", parts=(TextPart(id="u.1", text="Go."),))]
    for at, one in enumerate(rounds):
        call = ToolCallPart(
            id=f"a{at}.1", call_id=one["id"], name=one["name"], arguments=one["arguments"]
        )
        content = (TextPart(id=f"t{at}.1.1", text=one["result"]),)
        result = ToolResultPart(
            id=f"t{at}.1", call_id=one["id"], name=one["name"], content=content
        )
        made.append(Message(id=f"a{at}", role="assistant", parts=(call,)))
        made.append(Message(id=f"t{at}", role="tool", parts=(result,)))
    return tuple(made)


def way(wire: str) -> Way:
    provider, model = MODELS[wire]
    version = "v1beta" if wire == "generateContent" else "v1"

    async def call(base: str, messages: tuple[Message, ...]) -> str:
        endpoint = Endpoint(
            provider=provider, wire=wire, base_url=f"{base}/{version}", key=Key("none")
        )
        request = Request(
            wire=wire,
            model=model,
            messages=messages,
            tools=(Tool(name="read_file"),),
            stream=True,
        )
        text: list[str] = []
        async with aclosing(stream(request, endpoint, client=CLIENT)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    text.append(event.text)
        return "".join(text)

    return Way(call, history)


report(["ullage", "httpx2", "msgspec"], {wire: way(wire) for wire in MODELS})
