"""A provider whose answers say when each of their pieces was sent, for ``bench.live``; a process of its own.

    python -m bench.live_provider PIECES EVERY_S        # prints its port

Each piece is the time at which it was sent, in seconds of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn

from ullage_simulators.server import listener


def opening() -> Iterator[dict[str, Any]]:
    """What comes before the pieces."""
    usage = {"input_tokens": 100, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-haiku-4-5",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    block = {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": block}


def ending(pieces: int) -> Iterator[dict[str, Any]]:
    """What comes after them."""
    yield {"type": "content_block_stop", "index": 0}
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {
        "type": "message_delta",
        "delta": delta,
        "usage": {"output_tokens": 10 * pieces},
    }
    yield {"type": "message_stop"}


def frame(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


class Provider:
    """An ASGI application that answers every request with a stream of pieces."""

    def __init__(self, pieces: int, every_s: float) -> None:
        self._pieces = pieces
        self._every_s = every_s

    async def __call__(
        self, scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def say(event: dict[str, Any]) -> None:
            body = frame(event)
            await send({"type": "http.response.body", "body": body, "more_body": True})

        for event in opening():
            await say(event)
        for _ in range(self._pieces):
            await asyncio.sleep(self._every_s)
            delta = {"type": "text_delta", "text": f"{time.monotonic():.9f} "}
            await say({"type": "content_block_delta", "index": 0, "delta": delta})
        for event in ending(self._pieces):
            await say(event)
        await send({"type": "http.response.body", "body": b""})


def main() -> None:
    """Serve until killed."""
    listening = listener()
    print(listening.getsockname()[1], flush=True)
    provider: Any = Provider(int(sys.argv[1]), float(sys.argv[2]))
    config = uvicorn.Config(provider, log_level="warning", lifespan="off")
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
