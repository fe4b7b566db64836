"""What a dispatch promises, of each one; and the one inside the process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from tests.restate import registered, shared_restate
from ullage.tasks import background
from ullage_agent.runtime.dispatch import Dispatch, Embedded, ListenAddress
from ullage_cluster.cli.local_restate import LocalRestate
from ullage_cluster.postgres.calls import PostgresCalls
from ullage_cluster.restate.dispatch import RestateDispatch
from ullage_cluster.restate.endpoint import RestateWorker


async def embedded(place: str) -> Dispatch:
    return Embedded(place)


class Restate(RestateWorker):
    """A worker of a Restate server in a process of its own, woken as a server does it."""

    def __init__(self, server: LocalRestate, place: str = "", **given: str) -> None:
        super().__init__(ListenAddress("127.0.0.1", 0), place=place, **given)
        self.server = server
        self.wakes = RestateDispatch(server.ingress)

    async def wake(self, session: str, why: int, place: str = "") -> None:
        await self.wakes.wake(session, why, place)

    async def close(self) -> None:
        await self.wakes.close()


async def restate(place: str) -> Dispatch:
    dispatch = Restate(shared_restate(), place)
    async with background(dispatch.serve(Drives())):
        await registered(dispatch.server, dispatch.address.port)
    return dispatch


DISPATCHES: dict[str, Callable[[str], Awaitable[Dispatch]]] = {
    "embedded": embedded,
    "restate": restate,
}
"""Every dispatch of a place by its name."""


@pytest.fixture(params=DISPATCHES)
async def dispatch(request: pytest.FixtureRequest) -> AsyncIterator[Dispatch]:
    made = await DISPATCHES[request.param]("")
    yield made
    await made.close()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A session of this test alone: an engine outlives a test."""
    return f"one of {request.node.name}"


class Drives:
    """Counts drives, which last until they are let go."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.at_once: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.may_end = asyncio.Event()
        self.news = asyncio.Condition()

    def __call__(self, session: str) -> Awaitable[bool]:
        return self._drive(session)

    async def _drive(self, session: str) -> bool:
        self.begun[session] += 1
        self.at_once[session] += 1
        self.most[session] = max(self.most[session], self.at_once[session])
        async with self.news:
            self.news.notify_all()
        try:
            await self.may_end.wait()
        finally:
            self.at_once[session] -= 1
        return True

    async def until(self, session: str, times: int) -> None:
        async with self.news:
            await self.news.wait_for(lambda: self.begun[session] >= times)


async def test_a_session_is_driven_after_each_wake_once_at_a_time(
    dispatch: Dispatch, name: str
) -> None:
    other = f"{name}, the other"
    drives = Drives()
    async with background(dispatch.serve(drives)):
        for why in range(5):
            await dispatch.wake(name, why)
        await dispatch.wake(other, 1)
        await drives.until(name, 1)
        await drives.until(other, 1)
        await dispatch.wake(name, 5)
        drives.may_end.set()
        await drives.until(name, 2)
    assert (drives.most[name], drives.most[other]) == (
        1,
        1,
    )  # the engine may repeat earlier ones
    assert +drives.at_once == {}


@pytest.mark.parametrize("kind", DISPATCHES)
async def test_only_sessions_of_its_place_are_driven(kind: str, name: str) -> None:
    dispatch, elsewhere = await DISPATCHES[kind]("cellar"), f"{name}, elsewhere"
    assert dispatch.place == "cellar"
    drives = Drives()
    drives.may_end.set()
    await dispatch.wake(elsewhere, 1, "attic")
    async with background(dispatch.serve(drives)):
        await dispatch.wake(elsewhere, 2, "attic")
        await dispatch.wake(elsewhere, 3)
        await dispatch.wake(name, 1, "cellar")
        await drives.until(name, 1)
        await dispatch.wake(name, 2, "cellar")
        await drives.until(name, 2)
    assert drives.begun[elsewhere] == 0
    await dispatch.close()


async def test_calls_are_heard_by_the_workers_of_the_place(database_url: str) -> None:
    workers = {}
    for place in ("", "a", "b"):
        workers[place] = Embedded(place, PostgresCalls(database_url))
    server = Embedded("a", PostgresCalls(database_url), serves=False)
    drives = {place: Drives() for place in workers}
    async with AsyncExitStack() as stack:
        for place, dispatch in workers.items():
            drives[place].may_end.set()
            stack.push_async_callback(dispatch.close)
            serving = dispatch.serve(drives[place])
            await stack.enter_async_context(background(serving))
        stack.push_async_callback(server.close)
        for place in workers:
            while not drives[place].begun:  # until it listens
                await server.wake(f"of {place}", 1, place)
                await asyncio.sleep(0.01)
        await workers["a"].wake("of b, of a worker", 1, "b")
        await drives["b"].until("of b, of a worker", 1)
    assert set(drives[""].begun) == {"of "}
    assert set(drives["a"].begun) == {"of a"}
    assert set(drives["b"].begun) == {"of b", "of b, of a worker"}


async def test_who_is_woken_before_anybody_serves_is_driven_then(
    dispatch: Dispatch, name: str
) -> None:
    await dispatch.wake(name, 1)
    drives = Drives()
    async with background(dispatch.serve(drives)):
        await drives.until(name, 1)


async def test_the_end_of_serving_ends_the_drives_and_a_later_wake_waits(
    dispatch: Dispatch, name: str
) -> None:
    drives = Drives()
    async with background(dispatch.serve(drives)):
        await dispatch.wake(name, 1)
        await drives.until(name, 1)
    assert +drives.at_once == {}
    await dispatch.wake(name, 2)
    assert drives.begun[name] == 1
    async with background(dispatch.serve(drives)):
        await drives.until(name, 2)
