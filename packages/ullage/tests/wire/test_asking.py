"""A question beside the calls is not waited for long, and what comes before it is sent does not count."""

import asyncio

import httpx2
import pytest

from tests.wire.local_server import LocalServer, Reply, problem, serving
from ullage.errors import BadKey, NoAnswer
from ullage.wire.asking import ask
from ullage.wire.client import Client, Post

JSON = {"content-type": "application/json"}
LONG_S = 100.0
"""Longer than any question waits in a test, and shorter than an answer may take to begin."""


def question(server: LocalServer) -> Post:
    return Post(endpoint=server.endpoint(), path="/count", headers={}, content=b"{}")


class Later:
    """The clock of an event loop: `pass_time` makes everything late that waits for less than ``LONG_S``."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._time = loop.time
        self._passed_s = 0.0

    def time(self) -> float:
        return self._time() + self._passed_s

    async def pass_time(self) -> None:
        self._passed_s += LONG_S
        for _ in range(3):
            await asyncio.sleep(0)


@pytest.fixture
async def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    loop = asyncio.get_running_loop()
    clock = Later(loop)
    monkeypatch.setattr(loop, "time", clock.time)
    return clock


class SlowProcess(httpx2.AsyncHTTPTransport):
    """A process that imports for ``LONG_S`` before it sends its first request."""

    def __init__(self, later: Later) -> None:
        super().__init__()
        self._later = later

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await self._later.pass_time()
        return await super().handle_async_request(request)


async def test_what_the_process_does_before_it_asks_does_not_count(later: Later) -> None:
    async with (
        serving(Reply([b'{"tokens": 7}'], headers=JSON)) as server,
        Client(transport=SlowProcess(later)) as client,
    ):
        assert await ask(question(server), client) == {"tokens": 7}


@pytest.mark.parametrize("pieces", [[], [b'{"tokens": ']], ids=["silence", "half"])
async def test_an_answer_that_is_late_is_not_waited_for(
    pieces: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.wire.asking.ASIDE_S", 0.1)
    async with (
        serving(Reply(pieces, headers=JSON, then="hang")) as server,
        Client() as client,
    ):
        with pytest.raises(NoAnswer):
            await ask(question(server), client)
        await asyncio.wait_for(server.gone.wait(), 60)


async def test_what_is_no_object_says_nothing_and_a_refusal_is_raised() -> None:
    async with serving(Reply([b"[7]"], headers=JSON)) as server, Client() as client:
        assert await ask(question(server), client) == {}
    async with serving(problem(401)) as server, Client() as client:
        with pytest.raises(BadKey):
            await ask(question(server), client)
