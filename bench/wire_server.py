"""A local server that streams the same answer on four wires, for ``bench.wire``; a process of its own.

    python bench/wire_server.py        # prints its port

Standard library only. A path with ``/short/`` in front answers with one piece of text instead of 200.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

DELTAS = 200
WORDS = (
    "the",
    "cask",
    "holds",
    "less",
    "than",
    "it",
    "could",
    "what",
    "is",
    "missing",
    "is",
    "called",
    "ullage",
)


def texts(count: int) -> list[str]:
    """Pieces of an answer, as a model streams them."""
    return [f"{WORDS[at % len(WORDS)]} " for at in range(count)]


def _event(value: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, separators=(',', ':'))}\n\n".encode()


def chat(pieces: list[str]) -> Iterator[bytes]:
    """Chat Completions, with usage in a chunk of its own."""
    base = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4.1",
    }
    for at, text in enumerate(pieces):
        delta = {"role": "assistant", "content": text} if not at else {"content": text}
        yield _event(
            {
                **base,
                "choices": [
                    {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
                ],
            }
        )
    yield _event(
        {
            **base,
            "choices": [
                {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
            ],
        }
    )
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": len(pieces),
        "total_tokens": 20 + len(pieces),
    }
    yield _event({**base, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def messages(pieces: list[str]) -> Iterator[bytes]:
    """Anthropic Messages."""
    usage = {"input_tokens": 20, "output_tokens": 1}
    start = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [],
    }
    started = {**start, "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield _event({"type": "message_start", "message": started}, "message_start")
    block = {"type": "text", "text": ""}
    yield _event(
        {"type": "content_block_start", "index": 0, "content_block": block},
        "content_block_start",
    )
    for text in pieces:
        delta = {"type": "text_delta", "text": text}
        yield _event(
            {"type": "content_block_delta", "index": 0, "delta": delta},
            "content_block_delta",
        )
    yield _event({"type": "content_block_stop", "index": 0}, "content_block_stop")
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    ended = {
        "type": "message_delta",
        "delta": end,
        "usage": {"output_tokens": len(pieces)},
    }
    yield _event(ended, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


def responses(pieces: list[str]) -> Iterator[bytes]:
    """OpenAI Responses."""
    base = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "error": None, "instructions": None,
        "incomplete_details": None, "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0, "top_p": 1.0,
        "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    whole = "".join(pieces)
    text = {"type": "output_text", "text": whole, "annotations": [], "logprobs": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant"}
    done = {**item, "status": "completed", "content": [text]}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    usage = {
        "input_tokens": 20, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": len(pieces),
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20 + len(pieces),
    }  # fmt: skip
    begun = {**item, "status": "in_progress", "content": []}
    events: list[dict[str, Any]] = [
        {
            "type": "response.created",
            "response": {**base, "status": "in_progress", "output": []},
        },
        {
            "type": "response.in_progress",
            "response": {**base, "status": "in_progress", "output": []},
        },
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.content_part.added", **place, "part": {**text, "text": ""}},
        *(
            {"type": "response.output_text.delta", **place, "delta": one, "logprobs": []}
            for one in pieces
        ),
        {"type": "response.output_text.done", **place, "text": whole, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": text},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {
            "type": "response.completed",
            "response": {**base, "status": "completed", "output": [done], "usage": usage},
        },
    ]
    for number, one in enumerate(events):
        yield _event({**one, "sequence_number": number}, str(one["type"]))


def gemini(pieces: list[str]) -> Iterator[bytes]:
    """generateContent: usage on every chunk, as it is."""
    for at, text in enumerate(pieces):
        candidate: dict[str, Any] = {
            "content": {"parts": [{"text": text}], "role": "model"},
            "index": 0,
        }
        if at == len(pieces) - 1:
            candidate["finishReason"] = "STOP"
        usage = {
            "promptTokenCount": 20,
            "candidatesTokenCount": at + 1,
            "totalTokenCount": 21 + at,
        }
        yield _event(
            {
                "candidates": [candidate],
                "usageMetadata": usage,
                "modelVersion": "gemini-2.5-flash",
                "responseId": "r1",
            }
        )


STREAMS = {
    "chat/completions": chat,
    "messages": messages,
    "responses": responses,
    "GenerateContent": gemini,
}


def stream_for(path: str) -> list[bytes]:
    """The events for a path; none for one that nobody serves."""
    for name, made in STREAMS.items():
        if name in path:
            return list(made(texts(1 if path.startswith("/short/") else DELTAS)))
    return []


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    known: dict[str, list[bytes]] = {}
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            path = head[0].split(" ")[1]
            lengths = [
                line.partition(":")[2]
                for line in head
                if line.lower().startswith("content-length:")
            ]
            if lengths:
                await reader.readexactly(int(lengths[0]))
            elif any(line.lower().startswith("transfer-encoding:") for line in head):
                await _skip_chunks(reader)
            events = known.setdefault(path, stream_for(path))
            writer.write(
                f"HTTP/1.1 {200 if events else 404} -\r\ncontent-type: text/event-stream\r\n"
                "transfer-encoding: chunked\r\n\r\n".encode()
            )
            for event in events:  # one write each: that is how they come from a provider
                writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                await writer.drain()
                await asyncio.sleep(0)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _skip_chunks(reader: asyncio.StreamReader) -> None:
    while size := int((await reader.readline()).strip() or b"0", 16):
        await reader.readexactly(size + 2)
    await reader.readline()


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
