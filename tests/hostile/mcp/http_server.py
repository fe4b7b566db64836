"""MCP servers over HTTP that do harm, on raw sockets in the test's own loop."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

MB = 1024 * 1024
INIT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "h", "version": "1"},
}
TOOLS = {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}


class Heard(NamedTuple):
    """One request: its head, in lower case."""

    head: str
    method: str


class HostileHttp:
    """Answers as its behaviour says; ``heard`` are the requests. ``elsewhere`` is where it redirects to."""

    def __init__(self, behaviour: str, elsewhere: str = "") -> None:
        self.behaviour = behaviour
        self.elsewhere = elsewhere
        self.heard: list[Heard] = []
        self.url = ""

    async def answer(
        self, reading: asyncio.StreamReader, writing: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reading.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(
                    head.partition("content-length:")[2].partition("\r\n")[0] or 0
                )
                body = await reading.readexactly(length)
                message = json.loads(body) if body else {}
                self.heard.append(Heard(head, message.get("method", "")))
                await self._respond(message, writing)
        writing.close()

    async def _respond(
        self, message: dict[str, object], writing: asyncio.StreamWriter
    ) -> None:
        method, is_call = message.get("method"), message.get("method") == "tools/call"
        if self.behaviour == "redirects":
            await _send(writing, "307 Temporary Redirect", b"", location=self.elsewhere)
        elif "id" not in message:
            await _send(writing, "202 Accepted", b"")
        elif method == "initialize":
            await _send_result(writing, message, INIT)
        elif method == "tools/list":
            await _send_result(writing, message, TOOLS)
        elif not is_call:
            error = {
                "jsonrpc": "2.0",
                "id": message["id"],
                "error": {"code": -32601, "message": "no such method"},
            }
            await _send(writing, "200 OK", json.dumps(error).encode())
        else:
            await self._harm(writing)

    async def _harm(self, writing: asyncio.StreamWriter) -> None:
        match self.behaviour:
            case "huge_body":
                writing.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000000\r\n\r\n"
                )
                for _ in range(1_000):
                    writing.write(b"x" * MB)
                    await writing.drain()
            case "gzip_bomb":
                packed = gzip.compress(bytes(200 * MB), 1)
                await _send(writing, "200 OK", packed, **{"content-encoding": "gzip"})
            case "wrong_type":
                await _send(writing, "200 OK", b"<html>", **{"content-type": "text/html"})
            case "huge_headers":
                writing.write(b"HTTP/1.1 200 OK\r\n")
                while True:
                    writing.write(b"x-more: " + b"x" * 60_000 + b"\r\n")
                    await writing.drain()
            case "one_long_event":
                writing.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: "
                )
                while True:
                    writing.write(b"x" * MB)
                    await writing.drain()
            case "events_without_end":
                writing.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
                )
                note = {
                    "jsonrpc": "2.0",
                    "method": "notifications/message",
                    "params": {"level": "info", "data": "x"},
                }
                while True:
                    writing.write(b"data: " + json.dumps(note).encode() + b"\n\n")
                    await writing.drain()
                    await asyncio.sleep(0)
            case _:
                await asyncio.sleep(1_000)


async def _send_result(
    writing: asyncio.StreamWriter, message: dict[str, object], result: object
) -> None:
    await _send(
        writing,
        "200 OK",
        json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode(),
    )


async def _send(
    writing: asyncio.StreamWriter, status: str, body: bytes, **headers: str
) -> None:
    given = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    writing.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)
    await writing.drain()


@asynccontextmanager
async def serving_harm(behaviour: str, elsewhere: str = "") -> AsyncIterator[HostileHttp]:
    """The server at its ``url``, until the block ends."""
    made = HostileHttp(behaviour, elsewhere)
    listening = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
    try:
        yield made
    finally:
        listening.close()
