"""A local provider for ``bench.proxy``: streams an answer of Anthropic Messages; a process of its own.

    python bench/proxy_server.py        # prints its port

Standard library only. A request for one token (``max_tokens``) gets one piece of text at once, any other 200 pieces,
2 ms apart.
"""

from __future__ import annotations

import asyncio
import json
import re

DELTAS = 200
APART_S = 0.002
ONE_TOKEN = re.compile(rb'"max_tokens": ?1[,}]')


def answer(pieces: int) -> list[bytes]:
    """The events of an answer in so many pieces, as Anthropic Messages streams them."""
    usage = {"input_tokens": 20, "output_tokens": pieces}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    message |= {"model": "claude-haiku-4-5", "stop_reason": None, "usage": usage}
    block = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "ullage "}
    piece = {"type": "content_block_delta", "index": 0, "delta": delta}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *[piece] * pieces,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": usage},
        {"type": "message_stop"},
    ]
    return [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events]


LONG = answer(DELTAS)
SHORT = answer(1)
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            is_short = ONE_TOKEN.search(await read_body(reader, head)) is not None
            writer.write(HEAD)
            for event in SHORT if is_short else LONG:
                writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                await writer.drain()
                if not is_short:
                    await asyncio.sleep(APART_S)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def read_body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    """The request's body."""
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


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
