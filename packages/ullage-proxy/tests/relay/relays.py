"""A relay in a process of its own, upstreams with answers written by hand, and clients on bare sockets."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from ullage_proxy.relay.heads import HttpRequest, RequestReader

FAKE_METERING = [sys.executable, str(Path(__file__).with_name("fake_metering.py"))]

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Handler = Callable[[Reader, Writer], Awaitable[None]]


class RunningRelay:
    """A relay that listens."""

    def __init__(
        self, process: asyncio.subprocess.Process, listening: dict[str, Any]
    ) -> None:
        self.process = process
        self.port: int = listening["port"]
        self.address: str = listening["listening"]

    async def connect(self) -> tuple[Reader, Writer]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, request: bytes) -> bytes:
        """All that comes back until the connection is closed."""
        reader, writer = await self.connect()
        writer.write(request)
        try:
            return await reader.read()
        finally:
            writer.close()

    async def health(self) -> dict[str, Any]:
        answer = await self.ask(
            b"GET /ullage/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        found: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
        return found


@asynccontextmanager
async def relay(
    *upstreams: str,
    metering: list[str] | None = None,
    settings: dict[str, object] | None = None,
    environment: dict[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[RunningRelay]:
    """A relay of its own process on a free port, which is ended and waited for. Upstreams are ``NAME=URL``."""
    process = await started(
        *upstreams,
        environment=environment,
        metering=metering or [],
        metering_settings=settings or {},
        **options,
    )
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        yield RunningRelay(process, json.loads(line))
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def started(
    *upstreams: str,
    environment: dict[str, str] | None = None,
    port: int = 0,
    **options: Any,
) -> asyncio.subprocess.Process:
    """The process, with pipes."""
    addresses = dict(each.split("=", 1) for each in upstreams)
    text = json.dumps({"upstreams": addresses, "port": port, **options})
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "ullage_proxy.relay",
        text,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | (environment or {}),
    )


@asynccontextmanager
async def upstream(handler: Handler) -> AsyncIterator[str]:
    """An upstream that answers each connection as the handler does; gives its address."""

    async def handle(reader: Reader, writer: Writer) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def read_request(head: bytes) -> HttpRequest:
    """The request of a whole head. Raises ``Malformed``."""
    request = RequestReader().feed(head)
    assert request is not None
    return request


async def read_message(reader: Reader) -> bytes:
    """One request or response with a length or in chunks, as it came."""
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    if b"\r\ntransfer-encoding: chunked" in lower:
        return head + await reader.readuntil(b"0\r\n\r\n")
    at = lower.find(b"\r\ncontent-length:")
    if at < 0:
        return head
    length = int(lower[at:].split(b":", 1)[1].split(b"\r\n", 1)[0])
    return head + await reader.readexactly(length)


def post(path: str, body: bytes = b"{}", *headers: str, host: str = "127.0.0.1") -> bytes:
    """A request with a body."""
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *headers]).encode() + b"\r\n\r\n" + body


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A response with a body."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *headers]).encode() + b"\r\n\r\n" + body


class Frames:
    """What the fake metering was given."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def settings(self) -> dict[str, object]:
        return {"out": str(self.path)}

    def all(self) -> list[dict[str, Any]]:
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return []
        found = []
        for line in text.splitlines(keepends=True):
            if line.endswith("\n"):
                frame = json.loads(line)
                frame["payload"] = base64.b64decode(frame.get("payload", ""))
                found.append(frame)
        return found

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [frame for frame in self.all() if frame["kind"] == kind]

    async def until(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """The frames of this kind, once there are so many."""
        async with asyncio.timeout(60):
            while True:
                size = self._size()
                found = self.of(kind)
                if len(found) >= count:
                    return found
                while self._size() == size:
                    await asyncio.sleep(0.005)

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0
