"""A hostile provider: an HTTP server on bare sockets, so that it can send anything, also what is no HTTP.

    python -m tests.hostile.provider        # prints its address and the address no client may ever ask

The path says how it behaves: ``/BEHAVIOUR/SCALE/WIRE/RUN/v1/…``, where RUN names one experiment. It misbehaves until it
is calmed; then it gives good, short answers, so that a test can see whether the session survived.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.hostile.speech import WIRES_BY_NAME, Counts, HostileWire, Speaker

CALM = "Calm again."
LONGEST_S = 120.0
"""No behaviour goes on longer, whatever the client does."""


class Received(NamedTuple):
    """A request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Connection:
    """One request, and the means to answer it badly. Sizes are those of the table, made smaller by ``scale``."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    wire: HostileWire
    scale: float
    request: Received
    number: int
    """Which request for this behaviour and wire it is, from 1."""
    elsewhere: str
    """An address of another origin, which no client may ever ask."""
    speaker: Speaker
    is_kept: bool = True
    """Whether the connection may serve another request."""
    _is_chunked: bool = False

    def size(self, full: int) -> int:
        """``full`` bytes or things, or fewer where the table is run with smaller sizes."""
        return max(1, int(full * self.scale))

    async def raw(self, data: bytes) -> None:
        """These bytes, as they are."""
        self.writer.write(data)
        await self.writer.drain()
        await asyncio.sleep(0)  # the client may share this loop

    def counts(self, written: int = 12) -> Counts:
        """The usage an honest provider would report, where ``written`` characters were answered."""
        return Counts(str(max(1, len(self.request.body) // 4)), str(max(1, written // 4)))

    async def head(
        self,
        status: str = "200 OK",
        *more: str,
        kind: str = "text/event-stream",
        version: str = "HTTP/1.1",
        frame: str = "transfer-encoding: chunked",
    ) -> None:
        """A status line and headers. ``frame`` is the header that says how long the body is."""
        self._is_chunked = frame == "transfer-encoding: chunked"
        named = [f"content-type: {kind}"] if kind else []
        framed = [frame] if frame else []
        lines = [f"{version} {status}", *named, *more, *framed, "", ""]
        await self.raw("\r\n".join(lines).encode("latin-1", "replace"))

    async def body(self, *pieces: bytes) -> None:
        """More of the body, framed as the head says."""
        for piece in pieces:
            if piece:
                await self.raw(
                    b"%x\r\n%s\r\n" % (len(piece), piece) if self._is_chunked else piece
                )

    async def bodies(self, pieces: Iterable[bytes]) -> None:
        """Many pieces of the body. Others get a turn in between."""
        for piece in pieces:
            await self.body(piece)
            await asyncio.sleep(0)

    async def over(self) -> None:
        """The regular end of a body."""
        if self._is_chunked:
            await self.raw(b"0\r\n\r\n")

    async def whole(
        self, status: str, body: bytes, *more: str, kind: str = "application/json"
    ) -> None:
        """A whole answer with its length."""
        await self.head(status, *more, kind=kind, frame=f"content-length: {len(body)}")
        await self.raw(body)

    async def good(self, text: str = CALM, *, then: bytes = b"") -> None:
        """A good streamed answer. Its end and ``then``, which is no part of it, are one write."""
        await self.head()
        counts = self.counts(len(text))
        body = (
            self.speaker.begin(counts)
            + self.speaker.text(text)
            + self.speaker.end(counts)
        )
        await self.raw(b"%x\r\n%s\r\n0\r\n\r\n%s" % (len(body), body, then))

    async def begun(self, text: str = "AAA") -> None:
        """A head and the beginning of a good stream."""
        await self.head()
        await self.body(self.speaker.begin(self.counts()), self.speaker.text(text))

    async def ended(self, text: str = "CCC", *, written: int = 12) -> None:
        """The rest of a stream, as if nothing had been."""
        await self.body(self.speaker.text(text), self.speaker.end(self.counts(written)))
        await self.over()

    async def silence(self) -> None:
        """Nothing, until the client gives up."""
        while await self.reader.read(1 << 16):
            pass

    def cut(self, *, reset: bool = False) -> None:
        """Close the connection; with ``reset`` by an RST."""
        if reset:
            connection = self.writer.get_extra_info("socket")
            connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.writer.transport.abort()
        else:
            self.writer.close()


Play = Callable[[Connection], Awaitable[None]]


class Role(NamedTuple):
    """How the provider plays one behaviour. ``once``: only the first request is answered badly."""

    play: Play
    once: bool = False
    reads: bool = True
    """Whether the body of the request is read before it is answered."""


@dataclass
class HostileProvider:
    """A running provider. ``strangers`` are requests that reached the address nobody may ask, or carried a cookie."""

    roles: Mapping[str, Role]
    url: str = ""
    elsewhere: str = ""
    strangers: list[bytes] = field(default_factory=list)
    calm: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def address(
        self, behaviour: str, wire: HostileWire, run: str, scale: float = 1.0
    ) -> str:
        """The ``base_url`` at which the provider behaves so."""
        return f"{self.url}/{behaviour}/{scale:g}/{wire.name}/{run}/{wire.version}"

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection, with as many requests as come on it."""
        with contextlib.suppress(
            ConnectionError, TimeoutError, asyncio.IncompleteReadError, ValueError
        ):
            async with asyncio.timeout(LONGEST_S):
                while await self._answer(reader, writer):
                    pass
        with contextlib.suppress(ConnectionError, RuntimeError):
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request. False when the connection is used up."""
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        name, scale, wire_name, run, *rest = path.lstrip("/").split("/", 4)
        if name == "control":
            return await self._control(writer, scale, run)
        wire, role = WIRES_BY_NAME[wire_name], self.roles[name]
        length = int(headers.get("content-length", 0))
        if "cookie" in headers:
            self.strangers.append(head)
        is_model_call = method == "POST" and "count" not in rest[0]
        is_calm = run in self.calm or not is_model_call
        body = await reader.readexactly(length) if role.reads or is_calm else b""
        request = Received(method, path, headers, body)
        self.counts[run] += is_model_call
        number = self.counts[run]
        connection = Connection(
            reader,
            writer,
            wire,
            float(scale),
            request,
            number,
            self.elsewhere,
            wire.speaker(),
        )
        if not is_model_call:
            await connection.whole("404 Not Found", b'{"error":{"message":"not here"}}')
        elif is_calm or (role.once and number > 1):
            await connection.good()
        else:
            await role.play(connection)
            return not writer.is_closing() and role.reads and connection.is_kept
        return True

    async def _control(self, writer: asyncio.StreamWriter, order: str, run: str) -> bool:
        """What an experiment in another process asks: to be calm, or what was seen."""
        if order == "calm":
            self.calm.add(run)
        answer = {"requests": self.counts[run], "strangers": len(self.strangers)}
        body = json.dumps(answer).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        )
        await writer.drain()
        return True

    async def meet_stranger(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Somebody asks the other origin. Its request is kept as evidence."""
        self.strangers.append(b"")
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            self.strangers[-1] = await reader.readuntil(b"\r\n\r\n")
        writer.close()


@asynccontextmanager
async def hostile_provider(roles: Mapping[str, Role]) -> AsyncIterator[HostileProvider]:
    """A provider in the running event loop, for the time of the block."""
    provider = HostileProvider(roles)
    serving = await asyncio.start_server(provider.serve, "127.0.0.1", 0, limit=1 << 24)
    other = await asyncio.start_server(provider.meet_stranger, "127.0.0.1", 0)
    provider.url = f"http://127.0.0.1:{serving.sockets[0].getsockname()[1]}"
    provider.elsewhere = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        for server in (serving, other):
            server.close()


async def main() -> None:
    """Serve until the standard input ends, so that no provider outlives who started it."""
    from tests.hostile.behaviours import ROLES

    async with hostile_provider(ROLES) as provider:
        sys.stdout.write(f"{provider.url} {provider.elsewhere}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
