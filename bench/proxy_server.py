"""A local provider for ``bench.proxy``: streams an answer of Anthropic Messages; a process of its own.

    python bench/proxy_server.py        # prints its port

Standard library only. A request for one token (``max_tokens``) gets one piece of text at once, any other 200 pieces,
2 ms apart.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

Event = dict[str, Any]
Answer = Callable[[bytes], AsyncIterator[bytes]]
"""Gives the events for a request's body."""

DELTAS = 200
APART_S = 0.002
ONE_TOKEN = re.compile(rb'"max_tokens": ?1[,}]')
USAGE = {"input_tokens": 20, "output_tokens": 1}
MESSAGE: Event = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
MESSAGE |= {"model": "claude-haiku-4-5", "stop_reason": None, "stop_sequence": None}
BEGIN: tuple[Event, ...] = (
    {"type": "message_start", "message": {**MESSAGE, "usage": USAGE}},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    },
)
"""What comes before the pieces of a text."""


def piece_of(text: str) -> Event:
    delta = {"type": "text_delta", "text": text}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def end_of(output: int) -> tuple[Event, ...]:
    """What comes after the pieces."""
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    return (
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}},
        {"type": "message_stop"},
    )


def framed(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


LONG, SHORT = (
    [*map(framed, (*BEGIN, *[piece_of("ullage ")] * count, *end_of(count)))]
    for count in (DELTAS, 1)
)
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


async def answer(body: bytes) -> AsyncIterator[bytes]:
    """The events of an answer, all at once or one after the other."""
    is_short = ONE_TOKEN.search(body) is not None
    for event in SHORT if is_short else LONG:
        yield event
        if not is_short:
            await asyncio.sleep(APART_S)


async def read_body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    at = head.find(b"\r\ncontent-length:")
    if at >= 0:
        length = int(head[at:].split(b":", 1)[1].split(b"\r\n", 1)[0])
        return await reader.readexactly(length)
    pieces = []
    while size := int((await reader.readline()).strip() or b"0", 16):
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readline()
    return b"".join(pieces)


async def run(give: Answer) -> None:
    """Print the port, and answer the requests of all connections until killed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = await read_body(reader, head)
                writer.write(HEAD)
                async for event in give(body):
                    writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(run(answer))
