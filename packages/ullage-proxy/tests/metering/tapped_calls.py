"""Frames as the relay sends them, for one small conversation over the Messages wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ullage.messages import Message
from ullage.meter.lanes import Lanes, Placed, SeenRequest
from ullage_proxy.relay.frames import FrameReader, TapFrame

MODEL = "claude-haiku-4-5"
TOOLS = [
    {
        "name": "Read",
        "description": "Reads a parchment from the shelf.",
        "input_schema": {
            "type": "object",
            "properties": {"scroll": {"type": "string", "description": "Which one."}},
        },
    },
    {
        "name": "mcp__harbour__tides",
        "description": "Tells the tides of a harbour.",
        "input_schema": {"type": "object", "properties": {"pier": {"type": "string"}}},
    },
]
SYSTEM = [{"type": "text", "text": "You keep the lighthouse ledger."}]


class NamedLanes(Lanes):
    """Places by two headers: the session's name, and a purpose or a subagent's number."""

    def __init__(self) -> None:
        self.seen: list[SeenRequest] = []
        self.restored: list[tuple[str, str, str, tuple[str, ...]]] = []
        self.answers: dict[str, Message | None] = {}

    def is_provisional(self, request: SeenRequest) -> bool:
        return False

    def place(self, request: SeenRequest, *, opens: bool = False) -> Placed:
        self.seen.append(request)
        name = request.headers.get("x-ullage-session", "s-1")
        lane = request.headers.get("x-lane", "main")
        mark = f"mark-{len(request.body.get('messages', ()))}"
        if lane.startswith("child"):
            child = f"{name}.{lane}"
            return Placed(name, child, "child", mark, "claude-code 2.1.330")
        purpose: Any = lane
        cwd = "/home/ada/harbour"
        return Placed(name, name, purpose, mark, "claude-code 2.1.330", cwd)

    def answered(self, call: str, answer: Message | None, name: str = "") -> None:
        self.answers[call] = answer

    def restore(
        self, session: str, lane: str, program: str, marks: Any, names: Any = ()
    ) -> None:
        self.restored.append((session, lane, program, tuple(marks)))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def body_of(*messages: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "model": MODEL,
        "max_tokens": 1000,
        "system": SYSTEM,
        "tools": TOOLS,
        "messages": list(messages),
        **more,
    }


def request(
    call: str,
    body: Mapping[str, Any] | bytes,
    *,
    at: float = 1_000.0,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> TapFrame:
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    header: dict[str, object] = {
        "kind": "request",
        "call": call,
        "at": at,
        "connection": "c1",
        "method": "POST",
        "path": "/v1/messages",
        "upstream": "anthropic",
        "headers": dict(headers or {}),
        "session": "",
    }
    return TapFrame({**header, **more}, payload)


def answer_body(text: str, tokens: int, output: int = 5, **more: Any) -> bytes:
    usage = {"input_tokens": tokens, "output_tokens": output}
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    return json.dumps({**body, **more}).encode()


def answer(
    call: str,
    payload: bytes,
    *,
    at: float = 1_001.0,
    status: int = 200,
    outcome: str = "finished",
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> TapFrame:
    header: dict[str, object] = {
        "kind": "answer",
        "call": call,
        "at": at,
        "begun": at,
        "status": status,
        "headers": {"content-type": "application/json", **(headers or {})},
        "outcome": outcome,
        "note": "",
    }
    return TapFrame({**header, **more}, payload)


def stream_of(text: str, tokens: int, output: int = 5) -> bytes:
    """The answer as Anthropic streams it."""
    start = {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [],
            "usage": {"input_tokens": tokens, "output_tokens": 1},
        },
    }
    events: list[dict[str, Any]] = [
        start,
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": output},
        },
        {"type": "message_stop"},
    ]
    pieces = []
    for event in events:
        data = json.dumps(event)
        pieces.append(f"event: {event['type']}\ndata: {data}\n\n")
    return "".join(pieces).encode()


def read_frames(written: list[bytes]) -> list[TapFrame]:
    """The frames that metering gives to the relay."""
    return FrameReader().feed(b"".join(written))


def stored(written: list[bytes]) -> list[str]:
    return [
        frame.text("call") for frame in read_frames(written) if frame.kind == "stored"
    ]
