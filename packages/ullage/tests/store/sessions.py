"""What the tests of the store put into it."""

import random

import msgspec

from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    Fingerprint,
    MessageAdded,
    ToolEnded,
    ToolStarted,
)
from ullage.messages import (
    Message,
    ProviderData,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.usage import Usage

TEXT = (
    "def return class import self value None True for in if else raise except with path name event message store read "
    "write token window call result model answer error session async await tuple list dict str int bytes"
)
WORDS = TEXT.split()


def said(name: str, text: str = "Please go on.") -> Message:
    """A message of a person."""
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}/0", text=text),))


def source_code(chance: random.Random, size: int) -> str:
    """Text with the look of source code, new every time."""
    lines: list[str] = []
    length = 0
    while length < size:
        words = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(2, 9)))
        line = f'{" " * 4 * chance.randrange(4)}{words}_{chance.randrange(10_000)}("{chance.choice(WORDS)}")'
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)[:size]


def step(chance: random.Random, number: int) -> list[Event]:
    """One call with an answer that calls a tool, and the tool's result: eight events as a driver writes them."""
    call, tool = f"call-{number}", f"toolu_{chance.randrange(16**20):020x}"
    signature = "".join(
        chance.choice("ABCDEFGHIJKLMNOPabcdefghijklmnop0123456789+/") for _ in range(300)
    )
    opaque = ProviderData(
        data=msgspec.Raw(msgspec.json.encode({"signature": signature})),
        provider="anthropic",
    )
    answer = Message(
        id=f"a{number}",
        role="assistant",
        call=call,
        parts=(
            ReasoningPart(
                id=f"a{number}/0", text=source_code(chance, 300), provider=opaque
            ),
            TextPart(id=f"a{number}/1", text=source_code(chance, 150)),
            ToolCallPart(
                id=f"a{number}/2",
                call_id=tool,
                name="edit",
                arguments=f'{{"text":"{chance.randrange(10**9)}"}}',
            ),
        ),
    )
    text = source_code(chance, int(chance.lognormvariate(7.3, 1.0)))
    result = ToolResultPart(
        id=f"r{number}/0",
        call_id=tool,
        name="edit",
        content=(TextPart(id=f"r{number}/0/0", text=text),),
    )
    fingerprint = Fingerprint(
        wire="messages",
        model="claude-opus-4-5",
        digest=f"{chance.randrange(16**32):032x}",
    )
    usage = Usage(input=10, output=chance.randrange(500))
    return [
        CallStarted(call=call, fingerprint=fingerprint, stream=True),
        CallEnded(call=call, stop="tool_use", usage=usage),
        MessageAdded(message=answer),
        ToolStarted(call_id=tool, name="edit"),
        ToolEnded(call_id=tool),
        MessageAdded(message=Message(id=f"r{number}", role="tool", parts=(result,))),
    ]


def content_bytes(events: list[Event]) -> int:
    """What was said in messages: texts, arguments and opaque data, without any JSON around them."""
    size = 0
    for event in events:
        if not isinstance(event, MessageAdded):
            continue
        for part in event.message.parts:
            match part:
                case ReasoningPart():
                    size += len(part.text.encode()) + len(
                        part.provider.data if part.provider else b""
                    )
                case TextPart():
                    size += len(part.text.encode())
                case ToolCallPart():
                    size += len(part.arguments.encode())
                case ToolResultPart():
                    size += len(part.text.encode())
                case _:
                    pass
    return size
