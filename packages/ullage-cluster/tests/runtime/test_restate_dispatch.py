"""What is Restate's own about its dispatch: attempts that end, a server that dies, and what users are told."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import httpx2
import pytest

from tests.restate import new_restate, shared_restate
from tests.runtime.test_dispatch import Drives
from ullage.errors import SettingError
from ullage.tasks import background
from ullage_agent.runtime.dispatch import ListenAddress
from ullage_cluster.cli.local_restate import LocalRestate, free_ports
from ullage_cluster.restate.admin import reason_of, register_workers
from ullage_cluster.restate.client import restate_client
from ullage_cluster.restate.dispatch import RestateDispatch

FREE = ListenAddress("127.0.0.1", 0)


@pytest.fixture
def server() -> Iterator[LocalRestate]:
    """A Restate server that the test may kill."""
    begun = new_restate()
    yield begun
    begun.kill()


async def register(dispatch: RestateDispatch, server: LocalRestate) -> None:
    assert dispatch.address is not None
    await register_workers(server.admin, f"http://127.0.0.1:{dispatch.address.port}")


async def test_a_drive_that_may_succeed_elsewhere_is_tried_again(
    request: pytest.FixtureRequest,
) -> None:
    dispatch = RestateDispatch(shared_restate().ingress, FREE)
    attempts, ended = 0, asyncio.Event()

    async def drive(session: str) -> bool:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            return False
        ended.set()
        return True  # also once more: Restate repeats an attempt whose end it did not hear of

    async with background(dispatch.serve(drive)):
        await register(dispatch, shared_restate())
        await dispatch.wake(request.node.name, 1)
        await ended.wait()
    await dispatch.close()


async def test_what_a_draining_worker_refuses_is_balanced_anew(
    request: pytest.FixtureRequest,
) -> None:
    """A balancer chooses the worker of a connection, so no refused attempt may be repeated on a kept one."""
    ingress = shared_restate().ingress
    draining, other = RestateDispatch(ingress, FREE), RestateDispatch(ingress, FREE)
    refusals, drives = 0, Drives()

    async def refuse(session: str) -> bool:
        nonlocal refusals
        if session != request.node.name:  # an earlier test's, repeated at any worker
            return True
        refusals += 1
        return refusals > 1 and await drives(session)

    async def piped(here: asyncio.StreamReader, there: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while part := await here.read(65_536):
                there.write(part)
        there.close()

    async def balanced(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        worker = other.address if refusals else draining.address
        assert worker is not None
        answer, question = await asyncio.open_connection(*worker)
        await asyncio.gather(piped(reader, question), piped(answer, writer))

    async with (
        await asyncio.start_server(balanced, "127.0.0.1") as balancer,
        background(draining.serve(refuse)),
        background(other.serve(drives)),
    ):
        for worker in (draining, other):  # both listen then
            await register(worker, shared_restate())
        port = balancer.sockets[0].getsockname()[1]
        await register_workers(shared_restate().admin, f"http://127.0.0.1:{port}")
        await draining.wake(request.node.name, 1)
        await drives.until(request.node.name, 1)
        assert refusals == 1
    await draining.close()
    await other.close()


async def test_a_wake_counts_after_its_drive(request: pytest.FixtureRequest) -> None:
    dispatch = RestateDispatch(shared_restate().ingress, FREE)
    drives, name = Drives(), request.node.name
    drives.may_end.set()
    async with background(dispatch.serve(drives)):
        await register(dispatch, shared_restate())
        for times in (1, 2):
            while drives.begun[name] < times:  # what is not finished yet counts once
                await dispatch.wake(name, 7)
    await dispatch.close()


async def test_a_place_without_a_worker_is_logged_once_until_it_has_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    known: set[str] = set()

    def answer(request: httpx2.Request) -> httpx2.Response:
        place = request.url.path.split("/")[1].partition(".")[2]
        return httpx2.Response(202 if place in known else 404)

    dispatch = RestateDispatch("http://restate.example")
    dispatch._client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    with caplog.at_level(logging.WARNING):
        for worker in (False, True, False):
            known = {"cellar"} if worker else set()
            for number in range(3):
                await dispatch.wake(f"s{number}", 7, "cellar")
        await dispatch.wake("s", 7, "attic")
    said = [
        each.getMessage() for each in caplog.records if "knows no" in each.getMessage()
    ]
    assert [line.partition(",")[0] for line in said] == [
        "Restate at http://restate.example knows no worker of the place cellar",
        "Restate at http://restate.example knows no worker of the place cellar",
        "Restate at http://restate.example knows no worker of the place attic",
    ]
    await dispatch.close()


@pytest.mark.parametrize("key", ["parent%2Fcall", "two%0Alines"])
async def test_keys_that_no_worker_drives_are_refused(key: str) -> None:
    """Whoever reaches Restate's ingress may name any."""
    dispatch, drives = RestateDispatch(shared_restate().ingress, FREE), Drives()
    drives.may_end.set()
    ingress = restate_client(shared_restate().ingress, timeout_s=60)
    async with background(dispatch.serve(drives)), ingress as client:
        await register(dispatch, shared_restate())
        answer = await client.post(f"/UllageSession/{key}/drive", json=1)
        assert answer.is_error
        assert "is no session that a worker drives" in answer.json()["message"]
    # Restate may still call for sessions of earlier tests.
    assert drives.begun[unquote(key)] == 0
    await dispatch.close()


async def test_with_a_key_requests_that_restate_has_not_signed_are_refused(
    request: pytest.FixtureRequest,
) -> None:
    server, drives = shared_restate(), Drives()
    dispatch = RestateDispatch(server.ingress, FREE, key=server.key)
    drives.may_end.set()
    async with background(dispatch.serve(drives)), httpx2.AsyncClient() as client:
        await register(dispatch, server)
        assert dispatch.address is not None
        url = f"http://127.0.0.1:{dispatch.address.port}"
        assert (await client.get(f"{url}/health")).status_code == 200
        for path in ("/discover", "/invoke/UllageSession/drive"):
            assert (await client.post(url + path, content=b"x")).status_code == 401
        await dispatch.wake(request.node.name, 1)
        await drives.until(request.node.name, 1)
    await dispatch.close()


async def test_a_drive_ends_with_restate_and_begins_again(server: LocalRestate) -> None:
    dispatch = RestateDispatch(server.ingress, FREE)
    drives, cancelled = Drives(), asyncio.Event()

    async def drive(session: str) -> bool:
        try:
            return await drives(session)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with background(dispatch.serve(drive)):
        await register(dispatch, server)
        await dispatch.wake("one", 1)
        await drives.until("one", 1)
        server.kill()
        await cancelled.wait()
        await asyncio.to_thread(server.start)
        await drives.until("one", 2)
    assert drives.most["one"] == 1
    await dispatch.close()


async def test_a_worker_beside_another_one_at_the_same_address_continues_its_drives(
    request: pytest.FixtureRequest,
) -> None:
    ingress, name = shared_restate().ingress, request.node.name
    first = RestateDispatch(ingress, FREE)
    second = RestateDispatch(ingress, first.address)
    drives, others = Drives(), Drives()
    async with background(first.serve(drives)):
        await register(first, shared_restate())
        await first.wake(name, 1)
        await drives.until(name, 1)
    async with background(second.serve(others)):
        await others.until(name, 1)
    await first.close()


async def test_signals_stay_with_the_program(request: pytest.FixtureRequest) -> None:
    dispatch = RestateDispatch(shared_restate().ingress, FREE)
    drives, told = Drives(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, told.set)
    try:
        async with background(dispatch.serve(drives)):
            await register(dispatch, shared_restate())
            await dispatch.wake(request.node.name, 1)
            await drives.until(request.node.name, 1)
            os.kill(os.getpid(), signal.SIGTERM)
            await told.wait()
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
    await dispatch.close()


async def test_a_wake_without_server_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = free_ports(1)
    dispatch = RestateDispatch(f"http://127.0.0.1:{port}")
    with caplog.at_level(logging.WARNING):
        await dispatch.wake("one", 1)
    assert "was not told to have one driven" in caplog.text
    await dispatch.close()


async def test_a_wake_without_a_worker_says_how_to_get_one(
    server: LocalRestate, caplog: pytest.LogCaptureFixture
) -> None:
    dispatch = RestateDispatch(server.ingress)
    with caplog.at_level(logging.WARNING):
        await dispatch.wake("one", 1)
    assert "run `ullage admin dispatch register`" in caplog.text
    await dispatch.close()


async def test_registering_says_what_does_not_answer() -> None:
    (port,) = free_ports(1)
    nowhere = f"http://127.0.0.1:{port}"
    with pytest.raises(SettingError, match=r"admin API does not answer at .*--admin"):
        await register_workers(nowhere, nowhere)
    with pytest.raises(SettingError, match=r"did not register .*Start a worker"):
        await register_workers(shared_restate().admin, nowhere)


async def test_registering_a_program_that_is_no_worker_says_so_shortly() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        serving = asyncio.create_task(asyncio.to_thread(other.serve_forever))
        admin, workers = shared_restate().admin, f"http://127.0.0.1:{other.server_port}"
        try:
            with pytest.raises(SettingError) as refused:
                await register_workers(admin, workers)
        finally:
            other.shutdown()
            await serving
    assert str(refused.value) == (
        f"Restate at {admin} did not register {workers}: no worker answers there. Start a worker there first "
        "(`ullage admin worker --dispatch restate --listen HOST:PORT`), at an address that Restate reaches."
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            b'{"message":"[META0004] [META0004] the service exists. Headers: {}.","restate_code":"META0004"}',
            "the service exists",
        ),
        (b'{"message":"no"}', "no"),
        (b'{"message":""}', "it answered 500"),
        (b"[]", "it answered 500"),
        (b"<html>", "it answered 500"),
    ],
)
def test_of_another_refusal_the_first_sentence_is_shown(body: bytes, reason: str) -> None:
    assert reason_of(httpx2.Response(500, content=body)) == reason


async def test_an_address_that_is_taken_is_refused_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingError, match=rf"127\.0\.0\.1:{port} can't be listened"):
            RestateDispatch("http://127.0.0.1:1", ListenAddress("127.0.0.1", port))
