"""A connection serves another request only where nothing came behind the answer."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from ullage.wire.client import Client, Post
from ullage.wire.endpoints import Endpoint, Key

CERTIFICATE = Path(__file__).parent / "fixtures" / "localhost.pem"
READ_BYTES = 64 * 1024
"""What the transport takes from its stream at once; the rest of a longer piece waits in a queue."""


def answer(text: bytes, *, fill: int = 0) -> bytes:
    """A whole answer of one event, with a comment of ``fill`` bytes before it."""
    body = b": " + b"f" * fill + b"\n\ndata: " + text + b"\n\n"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body


class Gateway:
    """Answers each request with its number, and puts ``behind`` after the first answer."""

    def __init__(self, behind: bytes, *, fill: int = 0, apart: bool = False) -> None:
        self.behind = behind
        self.fill = fill
        self.apart = apart
        self.requests = 0
        self.connections = 0

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n{}")
                self.requests += 1
                own = answer(b"%d" % self.requests, fill=self.fill)
                for piece in [own, self.behind] if self.apart else [own + self.behind]:
                    writer.write(piece)
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()


@asynccontextmanager
async def serving(
    gateway: Gateway, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Post]:
    """The gateway for the time of the block, and a request to it."""
    server = await asyncio.start_server(gateway.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    url = f"{'https' if tls else 'http'}://localhost:{port}/v1"
    endpoint = Endpoint(provider="test", wire="chat", base_url=url, key=Key("k"))
    try:
        yield Post(
            endpoint=endpoint,
            path="/chat/completions",
            headers={},
            content=b"{}",
            stream=True,
        )
    finally:
        server.close()


async def answers(client: Client, post: Post, count: int = 3) -> list[bytes]:
    """What each of several requests in a row gets."""
    got = []
    for _ in range(count):
        async with client.send(post) as incoming:
            got += [event.data async for event in incoming.events()]
    return got


def trusting() -> httpx2.AsyncHTTPTransport:
    return httpx2.AsyncHTTPTransport(
        verify=ssl.create_default_context(cafile=CERTIFICATE)
    )


def presenting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


BEHIND = {
    "a second answer": answer(b"foreign"),
    "one byte": b"H",
    "a second answer longer than one read": answer(b"foreign", fill=2 * READ_BYTES),
}


@asynccontextmanager
async def connected(gateway: Gateway, is_tls: bool) -> AsyncIterator[tuple[Post, Client]]:
    transport = trusting() if is_tls else None
    async with (
        serving(gateway, presenting() if is_tls else None) as post,
        Client(transport=transport) as client,
    ):
        yield post, client


FILLS = [*((False, fill) for fill in (0, READ_BYTES - 200, 3 * READ_BYTES))]
FILLS += [*((True, fill) for fill in (0, 15 * 1024, 3 * READ_BYTES))]


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize(("is_tls", "fill"), FILLS)
@pytest.mark.parametrize("apart", [False, True])
async def test_what_comes_behind_an_answer_is_never_the_answer_to_the_next_request(
    behind: bytes, is_tls: bool, fill: int, apart: bool
) -> None:
    gateway = Gateway(behind, fill=fill, apart=apart)
    async with connected(gateway, is_tls) as (post, client):
        assert await answers(client, post) == [b"1", b"2", b"3"]
    assert gateway.connections == 3


@pytest.mark.parametrize("is_tls", [False, True])
async def test_a_clean_connection_is_used_again(is_tls: bool) -> None:
    gateway = Gateway(b"")
    async with connected(gateway, is_tls) as (post, client):
        assert await answers(client, post) == [b"1", b"2", b"3"]
    assert gateway.connections == 1
