"""What is sent, in the items of the caller's own body."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.genai import types
from msgspec.structs import replace

from ullage.codec.bodies import read_body_items
from ullage.context.caller_items import CallerItems, Insert, Keep, Replace
from ullage.messages import Message, TextPart, ToolResultPart
from ullage.reasoning import ReasoningPolicy

CONTENT = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PICTURE = base64.b64encode(CONTENT).decode()
URL = f"data:image/png;base64,{PICTURE}"
SOURCE = {"type": "base64", "media_type": "image/png", "data": PICTURE}
IMAGE: dict[str, Any] = {"type": "image", "source": SOURCE}
FINDS = "Cask 1 is dry."
SHORTER = "(removed)"


MESSAGES = {
    "model": "small",
    "max_tokens": 100,
    "messages": [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "look", "input": {}},
                {"type": "tool_use", "id": "b", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": FINDS},
                {"type": "tool_result", "tool_use_id": "b", "content": [IMAGE]},
            ],
        },
    ],
}
SHOWN = [
    {"type": "text", "text": FINDS},
    {"type": "image_url", "image_url": {"url": URL}},
]
CHAT = {"model": "small", "messages": [{"role": "user", "content": SHOWN}]}
RESPONSES: dict[str, Any] = {
    "model": "small",
    "input": [
        {"role": "user", "content": "Look."},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [
                {"type": "input_text", "text": FINDS},
                {"type": "input_image", "image_url": URL},
            ],
        },
    ],
}
PARTS: list[dict[str, Any]] = [
    {"functionResponse": {"name": "look", "response": {"output": FINDS}}},
    {"inlineData": {"mimeType": "image/png", "data": PICTURE}},
]
GEMINI: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": PARTS},
    ]
}
TYPED: dict[str, Any] = {
    "contents": [types.Content.model_validate(each) for each in GEMINI["contents"]]
}
SAFE = {"mimeType": "image/png", "data": base64.urlsafe_b64encode(CONTENT).decode()}
URL_SAFE: dict[str, Any] = {
    "contents": [
        *GEMINI["contents"][:2],
        {"role": "user", "parts": [PARTS[0], {"inlineData": SAFE}]},
    ]
}
BODIES: dict[str, dict[str, Any]] = {
    "messages": MESSAGES,
    "chat": CHAT,
    "responses": RESPONSES,
    "gemini": GEMINI,
    "gemini-typed": TYPED,
    "gemini-url-safe": URL_SAFE,
}


def _short(inner: Any) -> Any:
    if FINDS in getattr(inner, "text", ""):
        return replace(inner, text=SHORTER)
    return inner


def _shortened(message: Message) -> Message:
    """The message with another text in the place of what the tool found."""
    parts: list[Any] = []
    for part in message.parts:
        changed: Any = part
        if isinstance(part, TextPart) and part.text == FINDS:
            changed = replace(part, text=SHORTER)
        elif isinstance(part, ToolResultPart):
            content = [_short(inner) for inner in part.content]
            changed = replace(part, content=tuple(content))
        parts.append(changed)
    if tuple(parts) == message.parts:
        return message
    return replace(message, parts=tuple(parts))


@pytest.mark.parametrize("name", list(BODIES))
def test_an_image_in_a_replaced_item_goes_out_as_it_was(name: str) -> None:
    body = BODIES[name]
    read = read_body_items(body, model="small")
    request = read.request
    items = CallerItems(request.wire, body, request.messages, read.items)
    shown = tuple(_shortened(message) for message in request.messages)
    assert shown != request.messages
    plan = items.plan(replace(request, messages=shown), policy=ReasoningPolicy())
    made = [one for one in plan if not isinstance(one, Keep)]
    assert isinstance(made[0], Replace)
    written = json.dumps([one.body for one in made])
    assert SHORTER in written
    assert FINDS not in written
    assert written.count(PICTURE) == 1
    kept = [one.item for one in plan if isinstance(one, Keep)]
    assert kept == list(range(len(items.items) - 1))


@pytest.mark.parametrize("name", list(BODIES))
def test_what_is_unchanged_is_kept(name: str) -> None:
    body = BODIES[name]
    read = read_body_items(body, model="small")
    request = read.request
    items = CallerItems(request.wire, body, request.messages, read.items)
    plan = items.plan(request, policy=ReasoningPolicy())
    assert plan == tuple(Keep(place) for place in range(len(items.items)))
    for one, held in zip(items.sent(plan), items.items, strict=True):
        assert one is held


def test_a_message_that_the_caller_does_not_have_is_put_in() -> None:
    read = read_body_items(CHAT)
    request = read.request
    items = CallerItems(request.wire, CHAT, request.messages, read.items)
    part = TextPart(id="s.0", text="What was before.")
    summary = Message(id="s", role="user", parts=(part,))
    shown = (summary, *request.messages)
    plan = items.plan(replace(request, messages=shown), policy=ReasoningPolicy())
    assert [type(one) for one in plan] == [Insert, Keep]
    assert "What was before." in json.dumps(items.sent(plan)[0])


THOUGHT = {"type": "thinking", "thinking": "Look.", "signature": "c2lnbmVk"}
ALONE = {"role": "assistant", "content": [THOUGHT]}
SPOKEN = {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Whole."}]}


def test_reasoning_that_would_be_refused_is_left_out_of_the_callers_own_items() -> None:
    asked = {"role": "user", "content": "Is it whole?"}
    body = {"max_tokens": 9, "messages": [asked, SPOKEN, asked, ALONE, asked, SPOKEN]}
    read = read_body_items(body, model="claude-fable-5-2", wire="messages")
    request = read.request
    items = CallerItems(request.wire, body, request.messages, read.items)
    first, second = (request.messages[place].id for place in (1, 3))
    policy = ReasoningPolicy(unbound=frozenset({first, second}))
    sent = items.sent(items.plan(request, policy=policy))
    assert sent[0] is asked
    assert sent[1] == {"role": "assistant", "content": [SPOKEN["content"][1]]}
    assert sent[-1] is SPOKEN
    assert json.dumps(sent).count("signature") == 1
    assert [item["role"] for item in sent].count("assistant") == 2
