"""Clients and upstreams that break the rules, are slow, or leave: what the relay makes of each."""

import asyncio
from pathlib import Path

import pytest

from tests.relay.relays import (
    FAKE_METERING,
    Frames,
    Reader,
    Writer,
    answer,
    read_message,
    relay,
    upstream,
)
from ullage_proxy.relay.heads import HEAD_AT_MOST

GET = b"GET /a/x HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = b"POST /a/v1/messages HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PREFIX = b"GET /a/admin HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Noting:
    """An upstream that notes all bytes, and answers when they end with ``end``."""

    def __init__(self, end: bytes) -> None:
        self._end = end
        self.data = b""
        self.has_head = asyncio.Event()

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        while data := await reader.read(65_536):
            self.data += data
            if b"\r\n\r\n" in self.data:
                self.has_head.set()
            if self.data.endswith(self._end):
                writer.write(answer(b"fine"))


@pytest.mark.parametrize(
    "request_bytes",
    [
        HEAD
        + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG"
        + PREFIX,
        HEAD + b"Content-Length: 0\r\nContent-Length: 46\r\n\r\n" + PREFIX,
        HEAD
        + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"
        + PREFIX,
        HEAD + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + PREFIX,
        HEAD + b"Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n" + PREFIX,
        HEAD + b"X: a\r\n Transfer-Encoding: chunked\r\n\r\n" + PREFIX,
        HEAD + b"X: a\nTransfer-Encoding: chunked\r\n\r\n" + PREFIX,
        HEAD.replace(b"1.1", b"1.0")
        + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        + PREFIX,
        HEAD.replace(b"/a/", b"http://evil/a/") + b"\r\n" + PREFIX,
        b"GET /a/x HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n" + PREFIX,
        b"GET /a/x\r\n\r\n" + PREFIX,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(HEAD_AT_MOST),
        HEAD + b"X: " + b"a" * HEAD_AT_MOST,
    ],
)
async def test_a_request_that_hides_another_is_refused(request_bytes: bytes) -> None:
    noting = Noting(b"\r\n\r\n")
    async with upstream(noting) as base, relay(f"a={base}") as running:
        raw = await running.ask(request_bytes)
        assert raw.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert raw.count(b"HTTP/1.1 ") == 1
        assert b"ullage proxy: This request was not sent on: " in raw
        assert noting.data == b""


@pytest.mark.parametrize(
    "body",
    [b"5\r\nabcdefgh\r\n", b"zz\r\n", b"5\nabcde\r\n", b"0\r\nbad trailer\r\n\r\n"],
)
async def test_a_damaged_chunk_of_a_request_ends_it_upstream_too(body: bytes) -> None:
    noting = Noting(PREFIX)
    async with upstream(noting) as base, relay(f"a={base}") as running:
        raw = await running.ask(CHUNKED + body + PREFIX)
        assert raw.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"The body of this request is damaged" in raw
        assert b"admin" not in noting.data


async def test_a_request_in_chunks_goes_on_so_and_is_metered(tmp_path: Path) -> None:
    frames = Frames(tmp_path / "frames.jsonl")
    body = b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n"
    noting = Noting(b"0\r\nX-Trailer: 1\r\n\r\n")
    async with (
        upstream(noting) as base,
        relay(f"a={base}", metering=FAKE_METERING, settings=frames.settings) as running,
    ):
        reader, writer = await running.connect()
        writer.write(CHUNKED)
        await noting.has_head.wait()
        for byte in body:
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        assert await read_message(reader) == answer(b"fine")
        await frames.until("answer")
        assert frames.of("request")[0]["payload"] == b"abcde"
        chunks = noting.data.partition(b"\r\n\r\n")[2].split(b"\r\n")
        assert b"".join(chunks[1:-4:2]) == b"abcde"
        assert b"x=y" not in noting.data
        writer.close()


async def test_a_client_of_http_1_0_gets_an_answer_of_http_1_0() -> None:
    async def old(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"GET /x HTTP/1.0\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")

    async with upstream(old) as base, relay(f"a={base}") as running:
        raw = await running.ask(GET.replace(b"1.1", b"1.0"))
        assert raw == b"HTTP/1.0 200 OK\r\n\r\nuntil the end"


async def test_a_client_that_waits_for_100_continue_gets_the_upstreams() -> None:
    async def asks(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert await reader.readexactly(4) == b"body"
        writer.write(answer(b"fine"))

    async with upstream(asks) as base, relay(f"a={base}") as running:
        reader, writer = await running.connect()
        writer.write(HEAD + b"Content-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        assert await read_message(reader) == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")
        assert await read_message(reader) == answer(b"fine")
        writer.close()


async def test_an_answer_before_the_request_is_complete_reaches_the_client() -> None:
    async def impatient(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(b"too large", status="413 Too Large"))
        await reader.read()

    async with upstream(impatient) as base, relay(f"a={base}") as running:
        raw = await running.ask(
            HEAD + b"Content-Length: 3000000\r\n\r\n" + bytes(2_000_000)
        )
        assert raw == answer(b"too large", status="413 Too Large")


async def test_an_upstream_that_leaves_within_a_request_is_told_at_once() -> None:
    async def leaves(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")

    async with upstream(leaves) as base, relay(f"a={base}") as running:
        raw = await running.ask(HEAD + b"Content-Length: 3000000\r\n\r\n" + bytes(1_000))
        assert raw.startswith(b"HTTP/1.1 502 ")
        assert b"\r\nconnection: close\r\n" in raw


async def test_a_client_that_reads_slowly_holds_the_upstream_back() -> None:
    written = 0

    async def fast(reader: Reader, writer: Writer) -> None:
        nonlocal written
        await read_message(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        for _ in range(1_000):
            writer.write(bytes(100_000))
            await writer.drain()
            written += 100_000

    async with upstream(fast) as base, relay(f"a={base}") as running:
        reader, writer = await running.connect()
        writer.write(GET)
        await reader.readuntil(b"\r\n\r\n")
        before = -1
        while written != before:  # until nothing more fits in between
            before = written
            for _ in range(5):
                await running.health()
        assert written < 30_000_000
        total = 0
        while total < 100_000_000:
            total += len(await reader.read(1 << 20))
        assert total == written == 100_000_000
        writer.close()


async def test_an_upstream_that_reads_slowly_holds_the_client_back() -> None:
    may_read = asyncio.Event()

    async def slow(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await may_read.wait()
        await reader.readexactly(50_000_000)
        writer.write(answer(b"fine"))

    async with upstream(slow) as base, relay(f"a={base}") as running:
        reader, writer = await running.connect()
        writer.write(HEAD + b"Content-Length: 50000000\r\n\r\n" + bytes(50_000_000))
        for _ in range(20):
            await running.health()
        assert writer.transport.get_write_buffer_size() > 20_000_000
        may_read.set()
        assert await read_message(reader) == answer(b"fine")
        writer.close()


async def test_a_used_connection_closed_without_an_answer_is_closed_without_one() -> None:
    async def twice(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(answer(b"fine"))
        await read_message(reader)

    async with upstream(twice) as base, relay(f"a={base}") as running:
        assert await running.ask(GET + GET) == answer(b"fine")


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", b"closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-", b"closed the connection without an answer"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", b"not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"not HTTP/1.1"),
    ],
)
async def test_an_upstream_without_answer_is_a_502(raw: bytes, problem: bytes) -> None:
    async def odd(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(raw)

    async with upstream(odd) as base, relay(f"a={base}") as running:
        reader, writer = await running.connect()
        writer.write(GET)
        got = await read_message(reader)
        assert got.startswith(b"HTTP/1.1 502 ")
        assert problem in got
        writer.close()


async def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    async def pushy(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(answer(b"fine") + answer(b"for the next"))
        await reader.read()

    async with upstream(pushy) as base, relay(f"a={base}") as running:
        assert await running.ask(GET + GET) == answer(b"fine")


async def test_another_upstream_on_a_connection_gets_a_connection_of_its_own() -> None:
    async def one(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(answer(b"one"))
        await reader.read()

    async def two(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(answer(b"two"))
        await reader.read()

    async with (
        upstream(one) as first,
        upstream(two) as second,
        relay(f"a={first}", f"b={second}") as running,
    ):
        reader, writer = await running.connect()
        writer.write(GET + GET.replace(b"/a/", b"/b/"))
        assert await read_message(reader) == answer(b"one")
        assert await read_message(reader) == answer(b"two")
        writer.close()


async def test_a_websocket_is_refused_at_once() -> None:
    async def never(reader: Reader, writer: Writer) -> None:
        raise AssertionError("the call went on")

    async with upstream(never) as base, relay(f"a={base}") as running:
        for path in (b"responses", b"realtime"):
            reader, writer = await running.connect()
            writer.write(
                b"GET /a/v1/%b HTTP/1.1\r\nHost: localhost\r\n" % path
                + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            )
            refused = await read_message(reader)
            assert refused.startswith(b"HTTP/1.1 426 Upgrade Required\r\n")
            writer.close()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"404"),
        (b"GET /v1/messages HTTP/1.1\r\nHost: localhost\r\n", b"404"),
        (b"POST /ullage/health HTTP/1.1\r\nHost: localhost\r\n", b"404"),
        (b"GET /ullage/other HTTP/1.1\r\nHost: localhost\r\n", b"404"),
        (b"GET /a/x HTTP/1.1\r\nHost: evil.example\r\n", b"403"),
        (
            b"GET /a/x HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n",
            b"403",
        ),
    ],
)
async def test_what_is_not_for_an_upstream_is_answered_and_not_sent_on(
    head: bytes, status: bytes
) -> None:
    async with relay("a=http://127.0.0.1:9") as running:
        reader, writer = await running.connect()
        writer.write(head + b"\r\n")
        raw = await read_message(reader)
        assert raw.startswith(b"HTTP/1.1 " + status)
        assert b"ullage proxy: " in raw
        writer.close()


REFUSED = [
    b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /a/../x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /a/x HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET /ullage/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


@pytest.mark.parametrize("refused", REFUSED)
async def test_a_refusal_closes_the_connection_for_all_behind_it(refused: bytes) -> None:
    async with relay("a=http://127.0.0.1:9") as running:
        raw = await running.ask(refused * 20_000)
        assert raw.startswith(b"HTTP/1.1 4")
        assert raw.count(b"HTTP/1.1 ") == 1
        assert b"\r\nconnection: close\r\n" in raw
