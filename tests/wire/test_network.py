"""Connections that asyncio reads: nothing is lost, too much is not held, and an end is an end."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpcore2
import httpx2
import pytest

from tests.wire.test_reuse import CERTIFICATE, presenting
from ullage.wire.network import MOST_UNREAD, Connected, Network, read_by_asyncio

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LARGE = 4 * MOST_UNREAD


@asynccontextmanager
async def connected(serve: Serve) -> AsyncIterator[httpcore2.AsyncNetworkStream]:
    """A connection to a server of this handler."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    stream = await Network().connect_tcp(host, port)
    try:
        yield stream
    finally:
        await stream.aclose()
        server.close()


async def test_a_cancelled_read_loses_no_bytes() -> None:
    may = asyncio.Event()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await may.wait()
        writer.write(b"all of it")
        writer.close()

    async with connected(serve) as stream:
        reading = asyncio.create_task(stream.read(100))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        may.set()
        assert await stream.read(3) == b"all"
        assert await stream.read(100) == b" of it"
        assert await stream.read(100) == b""


async def test_the_other_side_waits_for_a_reader_that_takes_nothing() -> None:
    sent = asyncio.Event()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(0)
        for _round in range(64):
            writer.write(b"x" * LARGE)
            await writer.drain()
        sent.set()
        writer.close()

    async with connected(serve) as stream:
        assert isinstance(stream, Connected)
        while not stream._is_paused:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        assert not sent.is_set()
        assert stream._size <= 2 * MOST_UNREAD
        size = 0
        while piece := await stream.read(64 * 1024):
            assert len(piece) <= 64 * 1024
            size += len(piece)
        assert size == 64 * LARGE


async def test_a_silent_server_and_one_that_takes_nothing_are_late() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(60)

    async with connected(serve) as stream:
        with pytest.raises(httpcore2.ReadTimeout):
            await stream.read(100, timeout=0.01)
        with pytest.raises(httpcore2.WriteTimeout):
            await stream.write(b"x" * 64 * LARGE, timeout=0.01)


async def test_a_closed_connection_takes_and_gives_nothing_and_counts_as_readable() -> (
    None
):
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"unread")

    async with connected(serve) as stream:
        assert await stream.read(2) == b"un"
        await stream.aclose()
        assert stream.get_extra_info("is_readable")
        assert await stream.read(100) == b""
        with pytest.raises(httpcore2.WriteError):
            await stream.write(b"x")


@pytest.mark.parametrize("proxy", ["http", "https"])
async def test_an_answer_comes_through_a_proxy_over_tls(proxy: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1_000):
            writer.write(data)
        writer.close()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        from_origin, to_origin = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(pipe(reader, to_origin), pipe(from_origin, writer))

    tls = presenting()
    origin = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    port = origin.sockets[0].getsockname()[1]
    own = tls if proxy == "https" else None
    through = await asyncio.start_server(tunnel, "127.0.0.1", 0, ssl=own)
    address = f"{proxy}://localhost:{through.sockets[0].getsockname()[1]}"
    trusted = ssl.create_default_context(cafile=CERTIFICATE)
    transport = httpx2.AsyncHTTPTransport(
        verify=trusted,
        proxy=httpx2.Proxy(address, ssl_context=trusted if own else None),
    )
    async with httpx2.AsyncClient(transport=transport, timeout=5) as client:
        read_by_asyncio(client)
        got = await client.get(f"https://localhost:{port}/")
        stream = got.extensions["network_stream"]
        assert got.text == "hi"
        assert isinstance(stream, Connected) and not stream.has_unread
    through.close()
    origin.close()


async def test_a_transport_that_opens_no_connection_is_left_as_it_is() -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, text="hi"))
    async with httpx2.AsyncClient(transport=transport) as client:
        read_by_asyncio(client)
        assert (await client.get("http://local/")).text == "hi"
