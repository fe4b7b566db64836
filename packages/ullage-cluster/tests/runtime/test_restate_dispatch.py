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

from tests.restate import new_restate, registered, shared_restate
from tests.runtime.test_dispatch import Drives, Restate
from ullage.errors import SettingError
from ullage.tasks import background
from ullage_agent.runtime.dispatch import ListenAddress
from ullage_cluster.cli.local_restate import LocalRestate, free_ports
from ullage_cluster.restate.admin import keep_registered, reason_of
from ullage_cluster.restate.client import restate_client
from ullage_cluster.restate.dispatch import RestateDispatch
from ullage_cluster.restate.endpoint import RestateWorker


@pytest.fixture
def server() -> Iterator[LocalRestate]:
    """A Restate server that the test may kill."""
    begun = new_restate()
    yield begun
    begun.kill()


async def test_a_drive_that_may_succeed_elsewhere_is_tried_again(
    request: pytest.FixtureRequest,
) -> None:
    dispatch = Restate(shared_restate())
    attempts, ended = 0, asyncio.Event()

    async def drive(session: str) -> bool:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            return False
        ended.set()
        return True  # also once more: Restate repeats an attempt whose end it did not hear of

    async with background(dispatch.serve(drive)):
        await registered(shared_restate(), dispatch.address.port)
        await dispatch.wake(request.node.name, 1)
        await ended.wait()
    await dispatch.close()


async def test_what_a_draining_worker_refuses_is_balanced_anew(
    request: pytest.FixtureRequest,
) -> None:
    """A balancer chooses the worker of a connection, so no refused attempt may be repeated on a kept one."""
    draining, other = Restate(shared_restate()), Restate(shared_restate())
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
        answer, question = await asyncio.open_connection(*worker)
        await asyncio.gather(piped(reader, question), piped(answer, writer))

    async with (
        await asyncio.start_server(balanced, "127.0.0.1") as balancer,
        background(draining.serve(refuse)),
        background(other.serve(drives)),
    ):
        for worker in (draining, other):  # both listen then
            await registered(shared_restate(), worker.address.port)
        await registered(shared_restate(), balancer.sockets[0].getsockname()[1])
        await draining.wake(request.node.name, 1)
        await drives.until(request.node.name, 1)
        assert refusals == 1
    await draining.close()
    await other.close()


async def test_a_wake_counts_after_its_drive(request: pytest.FixtureRequest) -> None:
    dispatch = Restate(shared_restate())
    drives, name = Drives(), request.node.name
    drives.may_end.set()
    async with background(dispatch.serve(drives)):
        await registered(shared_restate(), dispatch.address.port)
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
    dispatch, drives = Restate(shared_restate()), Drives()
    drives.may_end.set()
    ingress = restate_client(shared_restate().ingress, timeout_s=60)
    async with background(dispatch.serve(drives)), ingress as client:
        await registered(shared_restate(), dispatch.address.port)
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
    dispatch = Restate(server, key=server.key)
    drives.may_end.set()
    async with background(dispatch.serve(drives)), httpx2.AsyncClient() as client:
        await registered(server, dispatch.address.port)
        url = f"http://127.0.0.1:{dispatch.address.port}"
        assert (await client.get(f"{url}/health")).status_code == 200
        for path in ("/discover", "/invoke/UllageSession/drive"):
            assert (await client.post(url + path, content=b"x")).status_code == 401
        await dispatch.wake(request.node.name, 1)
        await drives.until(request.node.name, 1)
    await dispatch.close()


async def test_a_drive_outlives_restate_which_is_answered_at_its_end(
    server: LocalRestate,
) -> None:
    dispatch, drives = Restate(server), Drives()
    async with background(dispatch.serve(drives)):
        await registered(server, dispatch.address.port)
        await dispatch.wake("one", 1)
        await drives.until("one", 1)
        server.kill()
        await asyncio.to_thread(server.start)
        await dispatch.wake("two", 1)
        await drives.until("two", 1)
        assert drives.at_once == {"one": 1, "two": 1}
        drives.may_end.set()
    assert drives.most["one"] == 1
    await dispatch.close()


async def test_a_worker_registers_itself_and_again_after_restate_lost_its_data(
    server: LocalRestate,
) -> None:
    dispatch, drives = Restate(server, admin=server.admin), Drives()
    drives.may_end.set()
    async with background(dispatch.serve(drives)):
        for name in ("before", "after"):
            while not drives.begun[name]:
                await dispatch.wake(name, 1)
                await asyncio.sleep(0.05)
            server.kill()
            server.forget()
            await asyncio.to_thread(server.start)
    await dispatch.close()


async def test_what_keeps_a_worker_from_being_registered_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage_cluster.restate.admin.LISTEN_AGAIN_S", 0.0)
    (port,) = free_ports(1)
    nowhere = f"http://127.0.0.1:{port}"
    for admin in (nowhere, shared_restate().admin):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            async with background(keep_registered(admin, "Unknown", nowhere)):
                while not caplog.messages:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
        (told,) = caplog.messages
        assert told.startswith(f"Restate's admin API at {admin}: ")
    assert f"did not register {nowhere}: no worker answers there. Give" in told


async def test_a_worker_beside_another_one_at_the_same_address_continues_its_drives(
    request: pytest.FixtureRequest,
) -> None:
    name = request.node.name
    first = Restate(shared_restate())
    second = RestateWorker(first.address)
    drives, others = Drives(), Drives()
    async with background(first.serve(drives)):
        await registered(shared_restate(), first.address.port)
        await first.wake(name, 1)
        await drives.until(name, 1)
    async with background(second.serve(others)):
        await others.until(name, 1)
    await first.close()


async def test_signals_stay_with_the_program(request: pytest.FixtureRequest) -> None:
    dispatch = Restate(shared_restate())
    drives, told = Drives(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, told.set)
    try:
        async with background(dispatch.serve(drives)):
            await registered(shared_restate(), dispatch.address.port)
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


async def test_registering_a_program_that_is_no_worker_says_so_shortly() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        serving = asyncio.create_task(asyncio.to_thread(other.serve_forever))
        try:
            with pytest.raises(SettingError, match=r": no worker answers there\. Give"):
                await registered(shared_restate(), other.server_port)
        finally:
            other.shutdown()
            await serving


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
            RestateWorker(ListenAddress("127.0.0.1", port))
