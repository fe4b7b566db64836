"""``deploy/`` as it runs: PostgreSQL, Restate, HAProxy, two servers and two workers, hurt while answers stream."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.deployed import GIVEN, Deployment, deployed
from tests.machines import STORY, hurry, slow_down
from tests.promises.stage import of_kind
from tests.server.served import frames_of, patiently, script
from ullage.events import CallStarted, Event, MessageAdded, Queued, TurnEnded
from ullage_cluster.postgres.store import PostgresStore
from ullage_simulators import Server, running

COUNT = 6

LONG_STORY = {"text": STORY["text"] * 2}


class Follower:
    """A client that follows a session at the load balancer, and comes back with the last id when it is cut off."""

    def __init__(self, url: str, session: str) -> None:
        self.seqs: list[int] = []
        self.cuts = 0
        self.has_ended = threading.Event()
        self._url = f"{url}/v1/sessions/{session}/events"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        last = ""
        headers = {"Authorization": f"Bearer {GIVEN['ULLAGE_TOKEN']}"}
        while not self.has_ended.is_set():
            place = {"Last-Event-ID": last} if last else {}
            query = "" if last else "?after=0"
            try:
                with (
                    httpx2.Client(timeout=60, headers={**headers, **place}) as client,
                    client.stream("GET", self._url + query) as answer,
                ):
                    for frame in frames_of(answer.iter_lines()):
                        last = frame.id or last
                        if "seq" in frame.data:
                            self.seqs.append(frame.data["seq"])
                        if frame.event == "turn_ended":
                            self.has_ended.set()
                            return
            except httpx2.HTTPError:
                pass
            self.cuts += 1


def drivers(here: Deployment) -> dict[str, str]:
    """The worker of each session that is driven now."""
    found = here.postgres.sql(
        "SELECT id, owner FROM sessions WHERE owner <> '' AND expires > now_s()", "ullage"
    )
    pairs = [line.split("|") for line in found.splitlines()]
    return {name: owner[: len("worker-1")] for name, owner in pairs}


def ledger(here: Deployment, name: str) -> list[Event]:
    async def read() -> list[Event]:
        store = PostgresStore(here.place)
        try:
            return await store.read(name)
        finally:
            await store.close()

    return asyncio.run(read())


@contextmanager
def streaming(
    simulator: Server, here: Deployment, round: str, *, cut: bool = False
) -> Iterator[list[str]]:
    """Sessions whose answers stream while the block runs; afterwards each is at rest, and each client has all of it.

    With ``cut`` some client's stream must have been cut meanwhile.
    """
    slow_down(simulator)
    until_left(here)
    names = [f"{round}{number}" for number in range(COUNT)]
    with here.api() as api:
        for name in names:
            api.session(name)
        followers = [Follower(here.url, name) for name in names]
        for name in names:
            api.say(name, "Tell me.", id=f"m-{name}")
    for _ in patiently():
        if drivers(here).keys() >= set(names):
            break
    assert not any(follower.has_ended.is_set() for follower in followers)
    yield names
    hurry(simulator)
    for name, follower in zip(names, followers, strict=True):
        assert follower.has_ended.wait(120), f"{name} did not end: {follower.seqs}"
        events = ledger(here, name)
        ended = next(e.seq for e in of_kind(events, TurnEnded))
        assert follower.seqs == list(range(1, ended + 1)), (name, follower.seqs)
        said = [e for e in of_kind(events, MessageAdded) if e.message.id == f"m-{name}"]
        assert len(said) == 1
        for kind in (Queued, TurnEnded):
            assert sum(isinstance(e, kind) for e in events) == 1, (name, kind)
    cuts = [follower.cuts for follower in followers]
    if cut:
        assert any(cuts), "no stream was cut"
    sys.stderr.write(f"{round}: streams were cut {cuts} times\n")


def worker_of_most(here: Deployment, names: Sequence[str]) -> str:
    found = [drivers(here)[name] for name in names]
    return max(("worker-1", "worker-2"), key=found.count)


def until_left(here: Deployment) -> None:
    """Wait until no server has a stream of a client that has left the load balancer."""
    for _ in patiently():
        streams = [here.streams(name) for name in ("server-1", "server-2")]
        if not any(streams):
            return
        time.sleep(0.2)
    raise AssertionError(f"Streams of clients that have left: {streams}")


def server_of_most(here: Deployment) -> str:
    """The server that most clients follow sessions at."""
    streams = {name: here.streams(name) for name in ("server-1", "server-2")}
    return max(streams, key=lambda name: streams[name])


def until_taken_over(here: Deployment, names: Sequence[str], worker: str) -> None:
    for _ in patiently():
        found = drivers(here)
        if worker not in found.values():
            return
    raise AssertionError(f"{worker} still drives: {found}")


@pytest.mark.timeout(1_500)
def test_what_compose_describes_outlives_its_parts(tmp_path: Path) -> None:
    with (
        running(script(LONG_STORY, delay_s=0.4)) as simulator,
        deployed(tmp_path, simulator.url("anthropic")) as here,
    ):
        with httpx2.Client(http2=True, verify=False) as client:
            for _ in patiently():  # until the balancer has found the servers ready
                page = client.get(here.tls)
                if page.status_code != 503:
                    break
            assert (page.status_code, page.http_version) == (200, "HTTP/2")

        with streaming(simulator, here, "worker-killed-") as names:
            worker = worker_of_most(here, names)
            here.processes[worker].kill()
            until_taken_over(here, names, worker)
            here.processes[worker].start()
            here.until_ready()

        with streaming(simulator, here, "worker-stopped-") as names:
            worker = worker_of_most(here, names)
            here.processes[worker].tell(signal.SIGSTOP)
            until_taken_over(here, names, worker)
            here.processes[worker].tell(signal.SIGCONT)
        here.until_ready()

        with streaming(simulator, here, "server-killed-", cut=True):
            killed = server_of_most(here)
            here.processes[killed].kill()
        here.processes[killed].start()
        here.until_ready()

        with streaming(simulator, here, "server-stopped-", cut=True):
            stopped = server_of_most(here)
            here.processes[stopped].tell(signal.SIGSTOP)
        here.processes[stopped].tell(signal.SIGCONT)
        here.until_ready()

        with streaming(simulator, here, "balancer-", cut=True):
            here.processes["balancer"].kill()
            here.processes["balancer"].start()

        with streaming(simulator, here, "rolling-"):
            for name in ("server-1", "server-2", "worker-1", "worker-2"):
                here.processes[name].restart()
                here.until_ready(name)


OWNERS = """
CREATE TABLE owners (session text, owner text);
GRANT INSERT ON owners TO ullage;
CREATE FUNCTION note_owner() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN INSERT INTO public.owners VALUES (NEW.id, NEW.owner); RETURN NEW; END$$;
CREATE TRIGGER note_owner AFTER UPDATE ON sessions FOR EACH ROW
WHEN (NEW.owner <> '' AND NEW.owner <> OLD.owner) EXECUTE FUNCTION note_owner();
"""
"""Keeps who drove each session, also of drives that began and ended between two looks."""


def test_a_draining_worker_keeps_its_drives_and_gets_no_new_ones(tmp_path: Path) -> None:
    new = [f"new{number}" for number in range(4)]
    with (
        running(script(STORY, delay_s=0.3)) as simulator,
        deployed(tmp_path, simulator.url("anthropic")) as here,
        here.api() as api,
    ):
        here.postgres.sql(OWNERS, "ullage")
        api.session("long")
        api.say("long", "Tell me.", id="m")
        for _ in patiently():
            worker = drivers(here).get("long", "")
            if worker and any(isinstance(e, CallStarted) for e in ledger(here, "long")):
                break
        other = {"worker-1": "worker-2", "worker-2": "worker-1"}[worker]
        here.processes[worker].tell(signal.SIGTERM)
        for _ in patiently():
            if f"{worker} is stopping" in here.said("balancer") or not here.is_ready(
                worker
            ):
                break
        for name in new:
            api.session(name)
            api.say(name, "Tell me.", id=name)
        for name in ("long", *new):
            for _ in patiently():
                if any(isinstance(e, TurnEnded) for e in ledger(here, name)):
                    break
            calls = of_kind(ledger(here, name), CallStarted)
            assert len(calls) == 1, f"{name} was cut"
        found = here.postgres.sql("SELECT DISTINCT * FROM owners", "ullage")
        drove = {line[: line.index("|") + len("|worker-1")] for line in found.split()}
        mine = {f"long|{worker}", *(f"{name}|{other}" for name in new)}
        assert drove - {f"long|{other}"} == mine  # who may end the turn after the call
