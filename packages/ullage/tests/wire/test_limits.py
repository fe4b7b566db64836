"""Limits on what a provider sends, and what is said of a server that answers with something else than an answer."""

import asyncio
import contextlib
import gzip

import pytest

from tests.wire.local_server import Reply, chat, event, problem, serving
from tests.wire.test_call import Waits, answer_of, called, request
from ullage.codec.blocks import Options
from ullage.codec.stream import TextDelta
from ullage.envelope import (
    ANSWER_FLOOR_CHARS,
    BODY_BYTES,
    EMPTY_EVENTS,
    KEPT_CHARS,
    TOOL_NAME_CHARS,
)
from ullage.errors import (
    BadKey,
    DamagedAnswer,
    LimitExceeded,
    ModelLoading,
    NoAnswer,
    NotFound,
    Overloaded,
)
from ullage.wire.call import Retries, Retrying, ask
from ullage.wire.client import Client, Timeouts
from ullage.wire.endpoints import Endpoint, Key

LOADING = Reply(
    status=503,
    pieces=[
        b'{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}'
    ],
    headers={"content-type": "application/json"},
)
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_named_with_where_it_leads_and_not_followed(
    status: int,
) -> None:
    async with serving(Reply(chat("a"))) as elsewhere:
        moved = Reply(
            status=status, headers={"location": f"{elsewhere.url}/secret?token=abc"}
        )
        async with serving(moved) as server, Client() as client:
            with pytest.raises(
                NotFound, match=r"redirects to http://127\.0\.0\.1"
            ) as caught:
                await called(server, client, Waits())
            assert f"[{status}]" in str(caught.value)
            assert "base_url" in str(caught.value)
            assert "secret" not in str(caught.value)
            assert "abc" not in str(caught.value)
            assert len(server.asked) == 1
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    "location", ["", "http://[", "file:///etc/passwd", "//:99999999/"]
)
async def test_a_redirect_to_nowhere_is_a_redirect_too(location: str) -> None:
    async with (
        serving(Reply(status=302, headers={"location": location})) as server,
        Client() as client,
    ):
        with pytest.raises(NotFound, match="redirects to no address"):
            await called(server, client, Waits())


async def test_a_packed_answer_is_refused_before_a_byte_of_it_is_unpacked() -> None:
    bomb = gzip.compress(bytes(1 << 20))
    packed = Reply([bomb], headers={"content-encoding": "gzip"})
    async with serving(packed) as server, Client() as client:
        with pytest.raises(LimitExceeded, match="packed its answer"):
            await called(server, client, Waits())
        assert server.asked[0].headers["accept-encoding"] == "identity"
        assert len(server.asked) == 1


async def test_a_packed_error_is_told_by_its_status() -> None:
    said = gzip.compress(b'{"error": {"message": "Incorrect API key provided"}}')
    packed = Reply([said], status=401, headers={**JSON, "content-encoding": "gzip"})
    async with serving(packed) as server, Client() as client:
        with pytest.raises(BadKey, match="does not accept the key") as caught:
            await called(server, client, Waits())
    assert caught.value.said == ""


async def test_a_body_beyond_the_limit_is_left_unread() -> None:
    block = b" " * (1 << 20)
    async with (
        serving(
            Reply([b"{", *[block] * (BODY_BYTES // len(block) + 1)], headers=JSON)
        ) as server,
        Client() as client,
    ):
        with pytest.raises(LimitExceeded, match="bytes for one answer"):
            await called(server, client, Waits(), request(streamed=False))


async def test_text_beyond_the_output_limit_ends_the_answer_kept_in_part() -> None:
    piece = "x" * (1 << 16)
    flood = chat(*[piece] * (ANSWER_FLOOR_CHARS // len(piece) + 2))
    async with serving(Reply(flood)) as server, Client() as client:
        events = await called(server, client, Waits(), options=Options(max_output=100))
        answer = answer_of(events)
        assert (answer.outcome, type(answer.error)) == ("dropped", LimitExceeded)
        assert "max_output" in str(answer.error)
        shown = "".join(one.text for one in events if isinstance(one, TextDelta))
        (kept,) = answer.message.parts
        assert 0 < len(shown) <= ANSWER_FLOOR_CHARS
        assert getattr(kept, "text", "") == shown[:KEPT_CHARS]
        assert len(server.asked) == 1


async def test_a_tools_name_beyond_the_limit_is_shown_nowhere() -> None:
    call = {
        "index": 0,
        "id": "c",
        "type": "function",
        "function": {"name": "n" * 100_000, "arguments": "{}"},
    }
    named = event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    async with serving(Reply([named, *chat()])) as server, Client() as client:
        events = await called(server, client, Waits())
        assert "name" in str(answer_of(events).error)
        assert all(len(getattr(one, "name", "")) <= TOOL_NAME_CHARS for one in events)


async def test_events_that_say_nothing_end_some_time() -> None:
    empty = b"".join([event({"choices": []})] * 1_000)
    async with (
        serving(Reply([empty] * (EMPTY_EVENTS // 1_000 + 2), then="hang")) as server,
        Client() as client,
    ):
        with pytest.raises(LimitExceeded, match="say nothing"):
            await called(server, client, Waits())
        assert len(server.asked) == 1


async def test_an_answer_has_a_longest_time() -> None:
    short = Client(timeouts=Timeouts(call_s=0.0))
    async with serving(Reply(chat("a", "b"))) as server, short as client:
        with pytest.raises(LimitExceeded, match="set timeout higher"):
            await called(server, client, Waits())


@pytest.mark.parametrize("wire", ["messages", "chat", "responses", "generateContent"])
async def test_a_whole_body_that_is_damaged_is_tried_again(wire: str) -> None:
    async with (
        serving(Reply([b'{"choices": [{"mess'], headers=JSON)) as server,
        Client() as client,
    ):
        waits = Waits()
        given = request(wire=wire, streamed=False)
        with pytest.raises(DamagedAnswer):
            await ask(
                given,
                server.endpoint(wire),
                client=client,
                sleep=waits,
                retries=Retries(tries=2),
            )
        assert len(waits) == 1


OVERLOADED = b'{"type":"error","error":{"type":"overloaded_error","message":"Try the other cellar"}}'


@pytest.mark.parametrize("wire", ["messages", "chat", "responses", "generateContent"])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", OVERLOADED),
        ("text/event-stream", OVERLOADED),
        ("text/event-stream", OVERLOADED + b"\n"),
        ("text/event-stream", b"data: " + OVERLOADED + b"\n\n"),
        ("text/event-stream", b"event: error\ndata: " + OVERLOADED + b"\n\n"),
    ],
)
async def test_an_error_inside_a_200_keeps_the_words_of_the_provider(
    wire: str, kind: str, body: bytes
) -> None:
    async with (
        serving(Reply([body], headers={"content-type": kind})) as server,
        Client() as client,
    ):
        waits = Waits()
        with pytest.raises(Overloaded, match="Try the other cellar"):
            await ask(
                request(wire=wire),
                server.endpoint(wire),
                client=client,
                sleep=waits,
                retries=Retries(tries=2),
            )
        assert len(waits) == 1


async def test_a_server_that_loads_its_model_is_waited_for_beside_the_tries() -> None:
    replies = [*[LOADING] * 6, problem(500), Reply(chat("ok"))]
    async with serving(*replies) as server, Client() as client:
        waits, heard = Waits(), list[Retrying]()
        events = await called(
            server, client, waits, retries=Retries(tries=2), on_retry=heard.append
        )
        assert answer_of(events).outcome == "finished"
        assert [type(one.error) for one in heard[:6]] == [ModelLoading] * 6
        assert "loading the model" in str(heard[0].error)
        assert waits[:6] == sorted(waits[:6])


async def test_a_server_that_loads_for_ever_is_given_up() -> None:
    async with serving(LOADING) as server, Client() as client:
        waits = Waits()
        with pytest.raises(ModelLoading, match="Loading model"):
            await called(server, client, waits, retries=Retries(tries=1, loading_s=30.0))
        assert sum(waits) == 30.0


async def test_headers_that_come_byte_by_byte_are_not_waited_for() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nx: ")
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"y")
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    endpoint = Endpoint(
        provider="test", wire="chat", base_url=f"http://127.0.0.1:{port}/v1", key=Key("k")
    )
    async with (
        server,
        Client(timeouts=Timeouts(first_byte_s=0.1)) as client,
    ):
        with pytest.raises(NoAnswer, match="did not begin to answer"):
            await ask(request(), endpoint, client=client, retries=Retries(tries=1))
