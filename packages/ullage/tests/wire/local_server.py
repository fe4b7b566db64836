"""A small HTTP server of our own that does what a script says: the client's mirror, down to the single write."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from ullage.wire.endpoints import Endpoint, Key

SECRET = "sk-local-very-secret-0123456789"


@dataclass
class Reply:
    """One scripted answer: its pieces go out one by one; then it ends well, or the connection is cut or goes silent."""

    pieces: list[bytes] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    then: Literal["end", "cut", "hang"] = "end"
    before_s: float = 0.0
    together: int = 1
    """So many requests are awaited before they are answered."""


@dataclass
class Asked:
    """A request as it came in, and on which connection."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class LocalServer:
    """Answers request after request with the next reply; the last one again and again."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        # By path, in the place of the script; a function is asked for the reply to a request.
        self.at: dict[str, Reply | Callable[[Asked], Reply]] = {}
        self.asked: list[Asked] = []
        self.connections = 0
        self.gone = (
            asyncio.Event()
        )  # set when a client closes a connection in the middle of an answer
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def endpoint(self, wire: str = "chat", provider: str = "test") -> Endpoint:
        return Endpoint(provider=provider, wire=wire, base_url=self.url, key=Key(SECRET))

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections += 1
        number = self.connections
        try:
            while await self._exchange(reader, writer, number):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone.set()
        finally:
            writer.close()

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        scripted = self.replies[min(len(self.asked), len(self.replies) - 1)]
        asked = Asked(method, path, headers, body, number)
        at_path = self.at.get(path, scripted)
        reply = at_path if isinstance(at_path, Reply) else at_path(asked)
        self.asked.append(asked)
        batch = -(-len(self.asked) // reply.together) * reply.together
        while len(self.asked) < batch:
            await asyncio.sleep(0.01)
        if reply.before_s and await self._left(reader, reply.before_s):
            return False
        said = {
            "content-type": "text/event-stream",
            "transfer-encoding": "chunked",
            **reply.headers,
        }
        lines = [
            f"HTTP/1.1 {reply.status} Scripted",
            *(f"{name}: {value}" for name, value in said.items()),
            "",
            "",
        ]
        writer.write("\r\n".join(lines).encode())
        for piece in reply.pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        if reply.then == "hang":
            await self._left(reader, 30.0)
            return False
        if reply.then == "cut":
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _left(self, reader: asyncio.StreamReader, seconds: float) -> bool:
        """Wait; whether the client went away meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                if not await reader.read(1):
                    self.gone.set()
                    return True
        except TimeoutError:
            return False
        return False


@asynccontextmanager
async def serving(*replies: Reply) -> AsyncIterator[LocalServer]:
    """The server, for the time of the block."""
    local = LocalServer(*replies)
    server = await asyncio.start_server(local._serve, "127.0.0.1", 0)
    local.port = server.sockets[0].getsockname()[1]
    try:
        yield local
    finally:
        server.close()


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chat(*texts: str, usage: bool = True, done: bool = True) -> list[bytes]:
    """A Chat stream that says these pieces."""
    made = [
        event(
            {
                "id": "c1",
                "model": "m",
                "choices": [{"index": 0, "delta": {"content": text}}],
            }
        )
        for text in texts
    ]
    if done:
        made.append(
            event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        )
        if usage:
            bill = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
            made.append(event({"choices": [], "usage": bill}))
        made.append(b"data: [DONE]\n\n")
    return made


def problem(status: int, message: str = "no", **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "type": "x"}}).encode()
    return Reply(
        status=status,
        pieces=[body],
        headers={"content-type": "application/json", **headers},
    )
