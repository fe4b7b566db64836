"""The same long conversation for every contender: as OpenAI chat messages, and as this project's events.

Ten messages an exchange: a question, four tool calls with their results, an answer. About 100 tokens a message. A
history longer than ``DISTINCT`` messages repeats the texts of the first ones under new ids. As events, it begins with a
system prompt and as many tools as a coding agent declares; the peers are given the messages alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.invented import Writer, kinds
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import (
    Message,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.usage import Usage

Chat = dict[str, Any]

OUT = Path(__file__).parent / "out"
MODEL = "gpt-4o"
DISTINCT = 10_000
TOOLS = (
    "read_file write_file edit_file bash grep glob web_fetch todo ask run_tests".split()  # noqa: SIM905
)
SERVERS = {"tracker": 9, "browser": 14}
"""MCP servers, and how many tools each declares."""
CHARACTERS_A_TOKEN = 3.2
"""For the invented usage alone; what the text really counts is printed by the bench."""


def chat_messages(count: int) -> list[Chat]:
    """``count`` messages in OpenAI's chat format. ``count`` is a multiple of ten."""
    texts = _exchanges(min(count, DISTINCT) // 10)
    history: list[Chat] = []
    for exchange in range(count // 10):
        history += _renamed(texts[exchange % len(texts)], exchange)
    return history


def _exchanges(count: int) -> list[list[Chat]]:
    writer = Writer(7)
    tools = kinds(writer)
    made: list[list[Chat]] = []
    for _ in range(count):
        messages: list[Chat] = [
            {"role": "user", "content": writer.prose(_size(writer, 160))}
        ]
        for _ in range(4):
            arguments = json.dumps(
                {"path": writer.path(), "pattern": " ".join(writer.words(3))}
            )
            name = writer.random.choice(TOOLS)
            call = {
                "id": "",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            said = writer.prose(_size(writer, 80))
            messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
            result = writer.random.choice(tools)(_size(writer, 520))
            messages.append({"role": "tool", "tool_call_id": "", "content": result})
        messages.append(
            {"role": "assistant", "content": writer.prose(_size(writer, 260))}
        )
        made.append(messages)
    return made


def _size(writer: Writer, middle: int) -> int:
    """Characters: many short ones, a few long ones."""
    return max(10, round(middle * writer.random.lognormvariate(0, 0.6)))


def _renamed(messages: list[Chat], exchange: int) -> list[Chat]:
    renamed: list[Chat] = []
    for place, message in enumerate(messages):
        copy = dict(message)
        if "tool_calls" in copy:
            copy["tool_calls"] = [
                copy["tool_calls"][0] | {"id": f"call_{exchange}_{place}"}
            ]
        if "tool_call_id" in copy:
            copy["tool_call_id"] = f"call_{exchange}_{place - 1}"
        renamed.append(copy)
    return renamed


def events(history: list[Chat]) -> Iterator[Event]:
    """The history as a session's events, every answer with its call and the usage that a provider would report."""
    characters = 0
    yield SessionStarted(model=MODEL, wire="chat", provider="openai")
    yield SystemChanged(system=system_blocks())
    yield ToolsChanged(tools=declared_tools())
    for place, chat in enumerate(history):
        size = len(chat["content"] or "") + sum(
            len(c["function"]["arguments"]) for c in chat.get("tool_calls", ())
        )
        if chat["role"] != "assistant":
            yield MessageAdded(message=message(chat, f"m{place}"))
        else:
            call = f"k{place}"
            usage = Usage(
                input=_tokens(characters),
                output=_tokens(size),
                reasoning=0,
                dialect="openai-chat",
            )
            yield CallStarted(call=call)
            yield CallEnded(call=call, usage=usage)
            yield MessageAdded(message=message(chat, f"m{place}", call=call))
        characters += size


def system_blocks() -> tuple[SystemBlock, ...]:
    """A prompt and two instruction files."""
    writer = Writer(13)
    return (
        SystemBlock(text=writer.prose(9_000)),
        SystemBlock(text=writer.prose(4_000), kind="instructions", name="AGENTS.md"),
        SystemBlock(text=writer.prose(1_500), kind="instructions", name="docs/AGENTS.md"),
    )


def declared_tools() -> tuple[Tool, ...]:
    """The program's own tools, and those of its MCP servers."""
    writer = Writer(17)
    names = [("", name) for name in TOOLS]
    names += [
        (server, f"{server}_{number}")
        for server, count in SERVERS.items()
        for number in range(count)
    ]
    tools: list[Tool] = []
    for server, name in names:
        properties = {
            word: {"type": "string", "description": writer.prose(60)}
            for word in sorted(set(writer.words(3)))
        }
        schema = msgspec.Raw(
            msgspec.json.encode({"type": "object", "properties": properties})
        )
        tools.append(
            Tool(name=name, description=writer.prose(200), schema=schema, server=server)
        )
    return tuple(tools)


def message(chat: Chat, name: str, *, call: str | None = None) -> Message:
    """One chat message in this project's words."""
    if chat["role"] == "tool":
        content = (TextPart(id=f"{name}/t", text=chat["content"]),)
        result = ToolResultPart(
            id=f"{name}/0", call_id=chat["tool_call_id"], content=content
        )
        return Message(id=name, role="tool", parts=(result,))
    calls = tuple(
        ToolCallPart(
            id=f"{name}/c",
            call_id=each["id"],
            name=each["function"]["name"],
            arguments=each["function"]["arguments"],
        )
        for each in chat.get("tool_calls", ())
    )
    return Message(
        id=name,
        role=chat["role"],
        parts=(TextPart(id=f"{name}/0", text=chat["content"]), *calls),
        call=call,
    )


def _tokens(characters: int) -> int:
    return 20 + round(characters / CHARACTERS_A_TOKEN)


def write_history(count: int) -> Path:
    """The history as a file that the peers' environments can read."""
    OUT.mkdir(exist_ok=True)
    path = OUT / f"history-{count}.json"
    path.write_text(json.dumps(chat_messages(count)))
    return path
