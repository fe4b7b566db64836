import asyncio
import json
from pathlib import Path

import pytest

from tests.relay.relays import (
    FAKE_METERING,
    Frames,
    Reader,
    Writer,
    answer,
    post,
    read_message,
    relay,
    upstream,
)

GET = b"GET /a/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Echo:
    """An upstream that notes the requests and answers each with the same bytes."""

    def __init__(self, raw: bytes = answer(b"fine"), *, closes: bool = False) -> None:
        self.raw = raw
        self.requests: list[bytes] = []
        self.connections = 0
        self.closes = closes

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        self.connections += 1
        while True:
            self.requests.append(await read_message(reader))
            writer.write(self.raw)
            await writer.drain()
            if self.closes:
                break


@pytest.fixture
def frames(tmp_path: Path) -> Frames:
    return Frames(tmp_path / "frames.jsonl")


async def test_a_request_goes_on_with_the_upstreams_host_and_without_our_marks() -> None:
    echo = Echo()
    async with upstream(echo) as base, relay(f"a={base}/base/") as running:
        reader, writer = await running.connect()
        writer.write(
            post(
                "/s/mine/a/v1/messages?beta=true",
                b"{}",
                "X-Ullage-Session: mine",
                "X-API-Key: k",
                "Accept-Encoding: br, gzip;q=0.5, zstd",
                "Connection: keep-alive, x-hop",
                "X-Hop: 1",
                "TE: trailers",
            )
        )
        assert await read_message(reader) == echo.raw
        host = base.removeprefix("http://")
        expected = (
            f"POST /base/v1/messages?beta=true HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n"
            "X-API-Key: k\r\nAccept-Encoding: br, gzip;q=0.5, zstd\r\n\r\n{}"
        )
        assert echo.requests == [expected.encode()]
        writer.close()


async def test_several_requests_at_once_are_answered_in_turn_on_one_connection() -> None:
    echo = Echo()
    async with upstream(echo) as base, relay(f"a={base}") as running:
        reader, writer = await running.connect()
        writer.write(GET + post("/a/x", b"12345") + GET)
        for _ in range(3):
            assert await read_message(reader) == echo.raw
        assert len(echo.requests) == 3
        assert echo.connections == 1
        writer.close()


async def test_a_metered_call_is_forgotten_once_it_is_stored(frames: Frames) -> None:
    echo = Echo(answer(b'{"usage":1}', "Content-Type: application/json", "X-Key: secret"))
    async with (
        upstream(echo) as base,
        relay(f"a={base}", metering=FAKE_METERING, settings=frames.settings) as running,
    ):
        reader, writer = await running.connect()
        writer.write(post("/s/mine/a/v1/messages?key=k", b"body", "User-Agent: test"))
        await read_message(reader)
        (came,) = await frames.until("answer")
        (request,) = frames.of("request")
        assert request["call"] == came["call"]
        assert request["method"] == "POST"
        assert request["path"] == "/v1/messages"
        assert request["session"] == "mine"
        assert request["upstream"] == "a"
        assert request["headers"] == {"user-agent": "test"}
        assert request["payload"] == b"body"
        assert came["headers"] == {"content-type": "application/json"}
        assert (came["outcome"], came["status"]) == ("finished", 200)
        assert came["payload"] == b'{"usage":1}'
        assert request["at"] <= came["begun"] <= came["at"]
        assert (await running.health())["calls"] == 1
        writer.close()


async def test_what_is_no_call_of_a_model_is_not_metered(frames: Frames) -> None:
    echo = Echo()
    async with (
        upstream(echo) as base,
        relay(f"a={base}", metering=FAKE_METERING, settings=frames.settings) as running,
    ):
        reader, writer = await running.connect()
        writer.write(GET + post("/a/v1/messages/count_tokens") + post("/a/v1/messages"))
        for _ in range(3):
            await read_message(reader)
        await frames.until("answer")
        assert [frame["path"] for frame in frames.of("request")] == ["/v1/messages"]
        writer.close()


async def test_a_client_that_leaves_closes_the_upstream(frames: Frames) -> None:
    left = asyncio.Event()

    async def stream(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await reader.read()
        left.set()

    async with (
        upstream(stream) as base,
        relay(f"a={base}", metering=FAKE_METERING, settings=frames.settings) as running,
    ):
        reader, writer = await running.connect()
        writer.write(post("/a/v1/messages"))
        await reader.readuntil(b"abc\r\n")
        writer.transport.abort()
        async with asyncio.timeout(60):
            await left.wait()
        (came,) = await frames.until("answer")
        assert (came["outcome"], came["payload"]) == ("cancelled", b"abc")


async def test_an_upstream_that_dies_ends_the_client_s_answer(frames: Frames) -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    async with (
        upstream(Echo(raw, closes=True)) as base,
        relay(f"a={base}", metering=FAKE_METERING, settings=frames.settings) as running,
    ):
        assert await running.ask(post("/a/v1/messages")) == raw
        (came,) = await frames.until("answer")
        assert (came["outcome"], came["payload"]) == ("dropped", b"abc")


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("/anthropic/v1/messages", ("error", "message")),
        ("/openai/v1/responses", ("error", "message")),
        ("/gemini/v1beta/models/x:generateContent", ("error", "message")),
    ],
)
async def test_an_upstream_that_is_down_is_an_error_in_the_words_of_the_wire(
    path: str, where: tuple[str, str], frames: Frames
) -> None:
    name = path.split("/")[1]
    async with relay(
        f"{name}=http://127.0.0.1:9/x", metering=FAKE_METERING, settings=frames.settings
    ) as running:
        reader, writer = await running.connect()
        writer.write(post(path, b"x" * 300_000))
        raw = await read_message(reader)
        head, _, body = raw.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 502 Bad Gateway")
        message = json.loads(body)[where[0]][where[1]]
        assert message.startswith("ullage proxy: http://127.0.0.1:9 can't be reached")
        assert message.endswith("then try again.")
        (came,) = await frames.until("answer")
        assert (came["outcome"], came["status"], came["begun"]) == ("failed", 0, None)
        assert "can't be reached" in came["note"]
        assert len(frames.of("request")[0]["payload"]) == 300_000
        writer.close()
