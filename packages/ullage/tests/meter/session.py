"""Short ways to say what happens in a session, for the tests of the meter."""

import msgspec

from ullage.messages import (
    Message,
    ReasoningPart,
    Request,
    Role,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.usage import Usage


def said(
    message_id: str, text: str, *, role: Role = "user", call: str | None = None
) -> Message:
    part = TextPart(id=f"{message_id}.text", text=text)
    return Message(id=message_id, role=role, parts=(part,), call=call)


def answer(
    message_id: str,
    text: str = "",
    *,
    reasoning: str = "",
    calls: int = 0,
    call: str | None = None,
) -> Message:
    parts: list[TextPart | ReasoningPart | ToolCallPart] = []
    if reasoning:
        parts.append(ReasoningPart(id=f"{message_id}.reasoning", text=reasoning))
    if text:
        parts.append(TextPart(id=f"{message_id}.text", text=text))
    parts += [
        ToolCallPart(
            id=f"{message_id}.{n}",
            call_id=f"{message_id}-{n}",
            name="read",
            arguments='{"path":"a.py"}',
        )
        for n in range(calls)
    ]
    return Message(id=message_id, role="assistant", parts=tuple(parts), call=call)


def result(message_id: str, call_id: str, text: str, *, name: str = "read") -> Message:
    part = ToolResultPart(
        id=f"{message_id}.result",
        call_id=call_id,
        name=name,
        content=(TextPart(id=f"{message_id}.result.text", text=text),),
    )
    return Message(id=message_id, role="tool", parts=(part,))


def usage(
    input_tokens: int | None, output_tokens: int | None, *, reasoning: int | None = None
) -> Usage:
    return Usage(
        input=input_tokens, output=output_tokens, reasoning=reasoning, dialect="anthropic"
    )


def request(
    *messages: Message,
    system: str = "",
    tools: tuple[Tool, ...] = (),
    model: str = "claude-haiku-4-5",
    wire: str = "messages",
    provider: str = "anthropic",
) -> Request:
    blocks = (SystemBlock(text=system),) if system else ()
    return Request(
        wire=wire,
        provider=provider,
        model=model,
        system=blocks,
        tools=tools,
        messages=messages,
    )


def tool(name: str, description: str = "reads a file") -> Tool:
    schema = msgspec.Raw(
        b'{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}'
    )
    return Tool(name=name, description=description, schema=schema)
