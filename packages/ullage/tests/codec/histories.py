"""Broken histories out of a seed, and the rules for reasoning that a repaired one must keep, written down again."""

import json
from collections.abc import Iterator
from random import Random

import msgspec

from ullage.messages import (
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    Request,
    Role,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)

TARGETS = (
    ("messages", "anthropic", "claude-sonnet-4-5"),
    ("messages", "anthropic", "claude-fable-5-1"),
    ("responses", "openai", "gpt-5.2"),
    ("chat", "openai", "gpt-4.1"),
    ("chat", "deepseek", "deepseek-v4-pro"),
    ("chat", "mistral", "mistral-large-latest"),
    ("chat", "moonshot", "kimi-k2-thinking"),
    ("generateContent", "google", "gemini-3-pro"),
    ("generateContent", "google", "gemini-2.5-pro"),
)
IDS = (
    "call_1",
    "call_1",
    "toolu_01A",
    "functions.read:0",
    "",
    "ü\ud800",
    "x" * 94,
    "abcdef123",
    "a b",
    "c\0d",
)
NAMES = (
    "read_file",
    "read_file",
    "shell",
    "my.tool/with spaces",
    "n" * 80,
    "7up",
    "",
    "naïve",
)
TEXTS = (
    "hello",
    "hello",
    "",
    "   ",
    "half \ud83d",
    "nul \0 byte",
    "smile 😀",
    "\udcff\udcfe",
    "long " * 50,
)
ARGUMENTS = (
    '{"path": "a.txt"}',
    '{"path": "a.txt"}',
    "{}",
    "",
    '{"path": "a.t',
    "[1, 2]",
    '"text"',
    '{"a": "\\ud800"}',
    '{"a": "\\u0000"}',
    "not json \ud800",
    '{"a": NaN}',
    "[" * 3000,
)


def data(fields: object, target: tuple[str, str, str]) -> ProviderData:
    wire, provider, model = target
    raw = msgspec.Raw(json.dumps(fields).encode())
    return ProviderData(data=raw, wire=wire, provider=provider, model=model)


def broken_text(random: Random) -> str:
    """A text from the list, or any bytes as a careless program would decode them."""
    if random.random() < 0.7:
        return random.choice(TEXTS)
    return random.randbytes(random.randrange(40)).decode(
        "utf-8", random.choice(("surrogateescape", "replace"))
    )


def broken_request(seed: int) -> Request:
    """A history with everything wrong with it that a session may hold, for one of the targets."""
    random = Random(seed)
    target = random.choice(TARGETS)
    messages = [_message(random, index, target) for index in range(random.randrange(12))]
    return Request(
        wire=target[0],
        provider=target[1],
        model=target[2],
        system=tuple(
            SystemBlock(text=broken_text(random)) for _ in range(random.randrange(3))
        ),
        tools=tuple(
            Tool(
                name=random.choice(NAMES),
                description=broken_text(random),
                schema=msgspec.Raw(
                    random.choice(
                        (b'{"type":"object"}', b"{}", b"not json", b'{"properties":{}}')
                    )
                ),
            )
            for _ in range(random.randrange(4))
        ),
        messages=tuple(messages),
        params={"stop": [broken_text(random)]},
    )


def _message(random: Random, index: int, target: tuple[str, str, str]) -> Message:
    role: Role = random.choice(("user", "assistant", "assistant", "tool", "tool", "user"))
    count = random.choice((0, 1, 1, 2, 3, 4))
    return Message(
        id=f"m{index}",
        role=role,
        parts=tuple(
            _part(random, f"m{index}.{number}", role, target) for number in range(count)
        ),
        interrupted=random.choice((None, None, None, "cancelled")),
    )


def _part(random: Random, name: str, role: Role, target: tuple[str, str, str]) -> Part:
    origin = random.choice((target, target, random.choice(TARGETS)))
    usual = {
        "assistant": ("text", "call", "call", "reasoning"),
        "tool": ("result",),
        "user": ("text",),
    }
    kind = (
        random.choice(usual[role])
        if random.random() < 0.9
        else random.choice(("text", "call", "reasoning", "result"))
    )
    odd = random.random()
    if odd < 0.02:
        return UnknownPart(id=name, raw=msgspec.Raw(b'{"type":"hologram"}'))
    if odd < 0.05:
        held = data({"type": "x", "id": "s"}, origin)
        return ProviderItem(id=name, kind="server_tool_use", text="item", provider=held)
    match kind:
        case "text":
            provider = (
                data({"phase": "final", "id": "msg_1"}, origin)
                if random.random() < 0.3
                else None
            )
            return TextPart(id=name, text=broken_text(random), provider=provider)
        case "call":
            provider = (
                data({"thoughtSignature": "c2ln", "id": "fc_1"}, origin)
                if random.random() < 0.4
                else None
            )
            return ToolCallPart(
                id=name,
                call_id=random.choice(IDS),
                name=random.choice(NAMES),
                arguments=random.choice(ARGUMENTS),
                provider=provider,
            )
        case "reasoning":
            return ReasoningPart(
                id=name,
                text=broken_text(random),
                provider=_reasoning_data(random, origin),
            )
        case _:
            content = (
                (TextPart(id=f"{name}.t", text=broken_text(random)),)
                if random.random() < 0.8
                else ()
            )
            return ToolResultPart(
                id=name,
                call_id=random.choice(IDS),
                content=content,
                is_error=random.random() < 0.2,
            )


def _reasoning_data(random: Random, origin: tuple[str, str, str]) -> ProviderData | None:
    fields = {
        "messages": {"signature": "c2ln"},
        "responses": {
            "type": "reasoning",
            "id": "rs_1",
            "encrypted_content": "gAAA",
            "summary": [],
        },
        "chat": {"reasoning_content": None},
        "generateContent": {"thoughtSignature": "c2ln"},
    }[origin[0]]
    choice = random.random()
    if choice < 0.6:
        return data(fields, origin)
    return data({}, origin) if choice < 0.8 else None


def objections(request: Request) -> Iterator[str]:
    """Why a provider would refuse this request for its reasoning, which simulators take for forged."""
    for message in request.messages:
        for index, part in enumerate(message.parts):
            if isinstance(part, ReasoningPart):
                if part.provider is None or part.provider.wire != request.wire:
                    yield f"{part.id}: reasoning of another wire"
                    continue
                fields = json.loads(bytes(part.provider.data))
                if request.wire == "messages" and not fields.get("signature"):
                    yield f"{part.id}: signature: field required"
                if request.wire == "responses" and not fields.get("encrypted_content"):
                    yield f"{part.id}: item not found"
                if (
                    request.wire in ("messages", "responses")
                    and index == len(message.parts) - 1
                ):
                    yield f"{part.id}: reasoning without its required following item"
        calls = list(message.of_type(ToolCallPart))
        if request.model.startswith("gemini-3") and calls:
            held = calls[0].provider
            if held is None or "thoughtSignature" not in json.loads(bytes(held.data)):
                yield f"{calls[0].id}: function call is missing a thought_signature"
        needs = (
            request.provider in ("deepseek", "moonshot") and message.role == "assistant"
        )
        if needs and not any(isinstance(part, ReasoningPart) for part in message.parts):
            yield f"{message.id}: reasoning_content must be passed back"


def unforged(request: Request) -> Request:
    """The request without what only the provider itself can have made: its seals, its items and their ids.

    A server that checks them refuses an invented one, whoever sends it.
    """
    return msgspec.structs.replace(
        request, messages=tuple(_unforged(one, request) for one in request.messages)
    )


def _unforged(message: Message, request: Request) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        held = getattr(part, "provider", None)
        if held is None or held.wire != request.wire:
            parts.append(part)
        elif isinstance(part, ReasoningPart):
            bare = (
                part
                if request.wire == "chat"
                else msgspec.structs.replace(part, provider=None)
            )
            parts.append(bare)
        elif isinstance(part, ProviderItem):
            parts.append(TextPart(id=part.id, text=part.text))
        else:
            parts.append(msgspec.structs.replace(part, provider=None))
    return msgspec.structs.replace(message, parts=tuple(parts))
