"""One request, one answer: connections, timeouts, errors, and no key anywhere."""

import asyncio
import logging
import socket
import threading
import traceback
from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.wire.local_server import SECRET, Reply, chat, problem, serving
from ullage.errors import (
    BadKey,
    NoAnswer,
    NotFound,
    SettingError,
    Unreachable,
)
from ullage.wire.client import (
    PIECES_AT_ONCE,
    Client,
    Post,
    Timeouts,
    _no_connection,
)
from ullage.wire.endpoints import Endpoint, Key


def post(endpoint: Endpoint, *, stream: bool = True) -> Post:
    return Post(
        endpoint=endpoint,
        path="/chat/completions",
        headers={"content-type": "application/json"},
        content=b"{}",
        stream=stream,
    )


async def test_events_come_as_they_are_sent_and_the_connection_is_used_again() -> None:
    async with serving(Reply(chat("a", "b"))) as server, Client() as client:
        for _ in range(3):
            async with client.send(post(server.endpoint())) as incoming:
                assert incoming.is_stream
                assert len([one async for one in incoming.events()]) == 5
        assert server.connections == 1


async def test_certificates_are_loaded_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Client._made
    places: list[int] = []

    def noted(client: Client) -> httpx2.AsyncClient:
        places.append(threading.get_ident())
        return made(client)

    monkeypatch.setattr(Client, "_made", noted)
    async with (
        serving(Reply(chat("a"))) as server,
        Client() as client,
        client.send(post(server.endpoint())) as incoming,
    ):
        assert [one async for one in incoming.events()]
    assert len(places) == 1 and places[0] != threading.get_ident()


async def test_requests_that_begin_together_leave_connections_to_later_ones() -> None:
    async with serving(Reply(chat("a"), together=5)) as server, Client() as client:

        async def call() -> None:
            async with client.send(post(server.endpoint())) as incoming:
                assert len([one async for one in incoming.events()]) == 4

        for _ in range(2):
            await asyncio.gather(*(call() for _ in range(5)))
        assert server.connections == 5


async def test_an_answer_left_unread_after_its_end_is_drained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ullage.wire.client.DRAIN_S", 60.0)
    async with serving(Reply(chat("a"))) as server, Client() as client:
        for _ in range(2):
            async with client.send(post(server.endpoint())) as incoming:
                async for one in incoming.events():
                    if one.data == b"[DONE]":
                        break
                await incoming.drain()
        assert server.connections == 1


async def test_cookies_are_neither_kept_nor_sent() -> None:
    async with (
        serving(Reply(chat("a"), headers={"set-cookie": "a=b; path=/"})) as server,
        Client() as client,
    ):
        for _ in range(2):
            async with client.send(post(server.endpoint())) as incoming:
                assert len([one async for one in incoming.events()]) == 4
        assert all("cookie" not in asked.headers for asked in server.asked)


async def test_leaving_an_answer_closes_its_connection_at_once() -> None:
    async with (
        serving(Reply(chat("a", done=False), then="hang")) as server,
        Client() as client,
    ):
        async with client.send(post(server.endpoint())) as incoming:
            async for _ in incoming.events():
                break
        await asyncio.wait_for(server.gone.wait(), 60)


async def test_a_cancelled_task_closes_its_connection_at_once() -> None:
    async with serving(Reply(before_s=30.0)) as server, Client() as client:

        async def call() -> None:
            async with client.send(post(server.endpoint())):
                pass

        task = asyncio.ensure_future(call())
        while not server.asked:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.gone.wait(), 60)


async def test_each_wait_has_its_own_limit() -> None:
    short = Client(timeouts=Timeouts(first_byte_s=0.05, between_s=0.05))
    async with serving(Reply(before_s=5.0)) as server, short as client:
        with pytest.raises(NoAnswer, match=r"0\.05 s"):
            async with client.send(post(server.endpoint())):
                pass
    patient = Client(timeouts=Timeouts(first_byte_s=60, between_s=0.05))
    async with (
        serving(Reply(chat("a", done=False), then="hang", before_s=0.2)) as server,
        patient as client,
    ):
        with pytest.raises(Unreachable, match=r"nothing for 0\.05 s"):
            async with client.send(post(server.endpoint())) as incoming:
                async for _ in incoming.events():
                    pass


async def test_nobody_there_is_said_with_the_address() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    endpoint = Endpoint(
        provider="test",
        wire="chat",
        base_url=f"http://127.0.0.1:{port}/v1",
        key=Key(SECRET),
    )
    async with Client() as client:
        with pytest.raises(Unreachable, match=f"127.0.0.1:{port}"):
            async with client.send(post(endpoint)):
                pass


async def test_an_address_of_another_kind_is_a_setting() -> None:
    async with Client() as client:
        with pytest.raises(SettingError):
            async with client.send(
                post(
                    Endpoint(
                        provider="t", wire="chat", base_url="gopher://x", key=Key("")
                    )
                )
            ):
                pass


@pytest.mark.parametrize(("status", "kind"), [(401, BadKey), (404, NotFound)])
async def test_a_refusal_is_a_typed_error(status: int, kind: type[Exception]) -> None:
    async with (
        serving(problem(status, f"your key {SECRET} is bad")) as server,
        Client() as client,
    ):
        with pytest.raises(kind) as caught:
            async with client.send(post(server.endpoint())):
                pass
        assert SECRET not in str(caught.value)


async def test_the_key_is_sent_and_shown_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    shown = ""
    async with serving(problem(500, f"echo {SECRET}")) as server, Client() as client:
        try:
            async with client.send(post(server.endpoint())):
                pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it may not hold the key
            shown = (
                "".join(traceback.format_exception(error))
                + repr(error)
                + repr(vars(error))
            )
        assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
        shown += repr(post(server.endpoint())) + repr(client) + caplog.text
    assert shown
    assert SECRET not in shown


class Crumbs(httpx2.AsyncByteStream):
    """A body that is there at once, in pieces of a byte."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(10 * PIECES_AT_ONCE):
            yield b":"


async def test_others_get_a_turn_while_a_body_comes_in_pieces_of_a_byte() -> None:
    def answered(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, stream=Crumbs()
        )

    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    endpoint = Endpoint(
        provider="test", wire="chat", base_url="http://localhost/v1", key=Key("k")
    )
    async with (
        Client(transport=httpx2.MockTransport(answered)) as client,
        client.send(post(endpoint)) as incoming,
    ):
        task = asyncio.ensure_future(count())
        assert len(await incoming.body()) == 10 * PIECES_AT_ONCE
        task.cancel()
    assert turns >= 10


def test_a_name_that_no_server_has_is_not_tried_again() -> None:
    endpoint = Endpoint(
        provider="openai", wire="chat", base_url="http://no-such-host.invalid/v1"
    )
    problem = httpx2.ConnectError("Name or service not known")
    problem.__cause__ = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    found = _no_connection(post(endpoint), problem)
    assert "no server has that name" in str(found)
    assert not found.may_retry
    problem.__cause__ = socket.gaierror(socket.EAI_AGAIN, "Temporary failure")
    assert _no_connection(post(endpoint), problem).may_retry
