"""The server as a process: who reaches it, how it ends, and what survives its end."""

from __future__ import annotations

import asyncio
import random
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import httpx2
import pytest

from tests.machines import ServerProcess, WorkerProcess
from tests.server.served import (
    WAIT_S,
    Api,
    frames_of,
    patiently,
    process,
    script,
    serving,
)
from tests.tiers import first_of
from ullage.errors import SettingError
from ullage.events import Event, MessageAdded, Queued, QueueLeft, TurnEnded
from ullage.store.sqlite.store import SqliteStore
from ullage_server.serving import is_loopback, listener, url_of
from ullage_simulators import running

STORY = {"text": "The cask was filled in spring and by autumn it was opened again. " * 12}


def test_another_address_than_loopback_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(SettingError, match="token"):
            listener(host, 0)
    with listener("0.0.0.0", 0, has_token=True) as listening:
        assert url_of(listening).startswith("http://127.0.0.1:")


@pytest.mark.skipif(sys.platform != "linux", reason="reads what a process has loaded")
def test_servers_and_workers_run_on_uvloop(provider: str, tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    for program in (
        ServerProcess(provider, store, tmp_path, "--port", "0"),
        WorkerProcess(provider, store, tmp_path),
    ):
        loaded = Path(f"/proc/{program.process.pid}/maps").read_text()
        assert "/uvloop/" in loaded
        assert program.end() == 0


def test_loopback_is_known_by_all_its_names_and_nothing_else_is() -> None:
    own = ["127.0.0.1", "localhost", "LOCALHOST", "127.5.5.5", "::1", "[::1]"]
    others = [
        "",
        "0.0.0.0",
        "::",
        "10.0.0.1",
        "localhost.example.org",
        "127.0.0.1.nip.io",
    ]
    assert [host for host in own + others if is_loopback(host)] == own


def test_a_port_that_is_taken_is_said() -> None:
    with listener("127.0.0.1", 0) as first, pytest.raises(SettingError, match="--port 0"):
        listener("127.0.0.1", first.getsockname()[1])
    with pytest.raises(SettingError, match="99999"):
        listener("127.0.0.1", 99_999)


def everything(store: Path, session: str) -> list[Event]:
    """A session's ledger as it is on the disk."""

    async def read() -> list[Event]:
        opened = SqliteStore(store)
        try:
            return await opened.read(session)
        finally:
            await opened.close()

    return asyncio.run(read())


@pytest.mark.parametrize("how", first_of([signal.SIGTERM, signal.SIGINT]))
def test_told_to_end_it_lets_those_go_that_follow_and_the_next_one_goes_on(
    tmp_path: Path, how: signal.Signals
) -> None:
    store = tmp_path / "s.db"
    with running(script(STORY, delay_s=0.03)) as simulator:
        provider_url = simulator.url("anthropic")
        patience = ("--drain", "0") if how == signal.SIGTERM else ()
        with process(provider_url, store, *patience) as first, first.api() as api:
            session = api.session("s")
            api.say(session, "tell me")
            with api.stream("GET", f"/v1/sessions/{session}/events?after=0") as answer:
                lines = answer.iter_lines()
                next(frame for frame in frames_of(lines) if frame.event == "draft")
                ended: list[tuple[int, str, str]] = []
                ending = threading.Thread(target=lambda: ended.append(first.end(how)))
                ending.start()
                assert list(frames_of(lines)) is not None, "the stream ends in good order"
                ending.join()
            code, said, errors = ended[0]
            assert code == 0
            assert "resumes unfinished turns" in said
            assert "Traceback" not in errors
        assert not any(
            isinstance(event, TurnEnded) for event in everything(store, session)
        )
        with process(simulator.url("anthropic"), store) as second, second.api() as api:
            assert api.until(session)["ended"] == "finished"
            first_said, *_, last_said = api.messages(session)
            assert first_said["parts"][0]["text"] == "tell me"
            assert last_said["parts"][0]["text"] == STORY["text"]


@pytest.mark.parametrize("seed", first_of(range(3), 0))
def test_killed_under_load_it_keeps_what_was_told(tmp_path: Path, seed: int) -> None:
    """Several clients send to several sessions while answers stream; the server is killed; another one goes on."""
    store, rng = tmp_path / "s.db", random.Random(seed)
    sessions = [f"s{number}" for number in range(6)]
    acknowledged: list[tuple[str, str, str]] = []
    with running(script(STORY, delay_s=0.005)) as simulator:
        with process(simulator.url("anthropic"), store) as first:
            with first.api() as api:
                for session in sessions:
                    api.session(session)
            stops = threading.Event()

            def speak(number: int) -> None:
                with Api(base_url=first.url, timeout=WAIT_S) as api:
                    for count in range(10_000):
                        session = sessions[(number + count) % len(sessions)]
                        text = f"message {count} of client {number}"
                        kind = "steer" if count % 2 else "follow_up"
                        try:
                            answer = api.post(
                                f"/v1/sessions/{session}/messages",
                                json={"text": text, "kind": kind},
                                headers={"Idempotency-Key": text},
                            )
                        except httpx2.HTTPError:
                            return
                        assert answer.status_code == 202, answer.text
                        acknowledged.append((session, answer.json()["id"], text))
                        if stops.is_set():
                            return

            clients = [
                threading.Thread(target=speak, args=(number,)) for number in range(4)
            ]
            for client in clients:
                client.start()
            wanted = rng.randint(21, 400)
            for _ in patiently():
                if len(acknowledged) >= wanted:
                    break
            first.kill()
            stops.set()
            for client in clients:
                client.join()
        assert len(acknowledged) >= wanted
        for session in sessions:
            stored = {
                event.message.id: event
                for event in everything(store, session)
                if isinstance(event, Queued)
            }
            for of, name, text in acknowledged:
                if of == session:
                    assert name in stored, f"{text} was acknowledged and is not there"
        with process(simulator.url("anthropic"), store) as second, second.api() as api:
            for session in sessions:
                assert api.until(session)["ended"] == "finished"
                _every_message_is_in_the_conversation_once(
                    everything(store, session), acknowledged, session
                )


def _every_message_is_in_the_conversation_once(
    events: list[Event], acknowledged: list[tuple[str, str, str]], session: str
) -> None:
    delivered = [
        event.message_id
        for event in events
        if isinstance(event, QueueLeft) and event.how == "delivered"
    ]
    added = [
        event.message.id
        for event in events
        if isinstance(event, MessageAdded) and event.message.role == "user"
    ]
    expected = {name for of, name, _ in acknowledged if of == session}
    assert len(delivered) == len(set(delivered))
    assert len(added) == len(set(added))
    assert expected <= set(delivered)
    assert expected <= set(added)


def test_requests_that_are_under_way_when_it_ends_are_answered(tmp_path: Path) -> None:
    with (
        running(script(STORY)) as simulator,
        serving(simulator.url("anthropic"), tmp_path / "s.db") as server,
    ):
        session = server.api.session("s")
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            body = b'{"text": "slowly"}'
            head = f"POST /v1/sessions/{session}/messages HTTP/1.1\r\nHost: localhost\r\n"
            head += (
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                "Expect: 100-continue\r\n\r\n"
            )
            slow.sendall(head.encode() + body[:5])
            assert b"100 Continue" in slow.recv(10_000)  # the request is under way
            server.server.should_exit = True
            time.sleep(0.3)
            slow.sendall(body[5:])
            assert b"202 Accepted" in slow.recv(10_000)
    assert any(
        isinstance(event, Queued) for event in everything(tmp_path / "s.db", session)
    )
