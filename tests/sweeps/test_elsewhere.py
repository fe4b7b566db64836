"""A client at server B follows and steers what server A drives, on one store of either kind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.machines import hurry
from tests.postgres import PostgresServer, database, new_server
from tests.promises.stage import of_kind
from tests.server.served import Frame, Process, frames_of, process, script
from ullage.events import CallEnded, CancelAsked, Event, Queued, TurnEnded, TurnStarted
from ullage.store.places import store_at
from ullage_simulators import Server, running

SLOW_S = 0.2

STORY = "The cask was filled in spring and by autumn it was opened again. "
ANSWERS = (
    {"when": {"contains": "at length", "after": "user"}, "text": STORY * 30},
    {
        "when": {"contains": "Write it", "after": "user"},
        "calls": [
            {"name": "write", "arguments": {"path": "cask.txt", "content": "full"}}
        ],
    },
    {"text": "It is so."},
)


class Pair(NamedTuple):
    """Two servers of different machines, the place of their store, and the provider."""

    driving: Process
    other: Process
    place: str
    provider: Server


@contextmanager
def two_servers(place: str, folder: Path, delay_s: float = 0.02) -> Iterator[Pair]:
    """Two servers on one store; ``folder`` is where their tools work."""
    database = place if "://" in place else ""
    file = folder / "s.db"
    options = ("--tools", "write", "--root", str(folder))
    with running(script(*ANSWERS, delay_s=delay_s)) as simulator:
        provider = simulator.url("anthropic")

        def server(machine: str) -> AbstractContextManager[Process]:
            return process(
                provider,
                file,
                *options,
                database=database,
                ULLAGE_MACHINE=machine,
                ULLAGE_LEASE_TTL_S="5",
            )

        with server("a") as driving, server("b") as other:
            yield Pair(driving, other, place, simulator)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "s.db")
        return
    with database() as url:
        yield url


@pytest.fixture
def pair(place: str, tmp_path: Path) -> Iterator[Pair]:
    with two_servers(place, tmp_path) as started:
        yield started


@pytest.fixture
def slow_pair(place: str, tmp_path: Path) -> Iterator[Pair]:
    """One whose long answer lasts until ``hurry``, or half a minute."""
    with two_servers(place, tmp_path, SLOW_S) as started:
        yield started


def ledger(place: str, session: str) -> list[Event]:
    async def read() -> list[Event]:
        store = store_at(place)
        try:
            return await store.read(session)
        finally:
            await store.close()

    return asyncio.run(read())


def until(frames: Iterator[Frame], name: str) -> list[Frame]:
    seen = []
    for frame in frames:
        seen.append(frame)
        if frame.event == name:
            return seen
    raise AssertionError(f"the stream ended before {name}")


def test_a_cancel_through_the_other_server_stops_the_answer(slow_pair: Pair) -> None:
    pair = slow_pair
    with pair.driving.api() as here, pair.other.api() as there:
        session = here.session("cancelled")
        here.say(session, "Tell me at length.")
        frames = there.events(session, params={"after": "0"})
        until(frames, "draft")
        answer = there.post(f"/v1/sessions/{session}/cancel", json={}).json()
        assert (answer["cancelled"], answer["persisted"]) == (True, "partial_assistant")
        ended = until(frames, "turn_ended")[-1]
        assert ended.data["reason"] == "cancelled"
        assert here.until(session)["ended"] == "cancelled"
        writes = 'ullage_store_write_seconds_count{what="draft"}'
        assert writes in here.get("/metrics").text
        assert writes not in there.get("/metrics").text


def test_messages_through_the_other_server_are_delivered_once_and_in_order(
    slow_pair: Pair,
) -> None:
    with slow_pair.driving.api() as here, slow_pair.other.api() as there:
        session = here.session("said")
        here.say(session, "Tell me at length.", id="first")
        frames = there.events(session, params={"after": "0"})
        until(frames, "draft")
        there.say(session, "And then?", id="third", kind="follow_up")
        there.say(session, "In short.", id="second", kind="steer")
        hurry(slow_pair.provider)
        here.until(session)
        said = [one["id"] for one in there.messages(session) if one["role"] == "user"]
        assert said == ["first", "second", "third"]


def test_a_call_is_approved_through_the_other_server(pair: Pair, tmp_path: Path) -> None:
    with pair.driving.api() as here, pair.other.api() as there:
        session = here.session("approved")
        here.say(session, "Write it down.")
        frames = there.events(session, params={"after": "0"})
        asked = until(frames, "approval_asked")[-1].data
        body = {"approved": True, "digest": asked["digest"]}
        call = asked["call_id"]
        answer = there.post(f"/v1/sessions/{session}/approvals/{call}", json=body)
        assert answer.status_code == 202, answer.text
        until(frames, "turn_ended")
        assert (tmp_path / "cask.txt").read_text() == "full"


def test_a_stream_is_resumed_at_the_other_server_in_the_middle_of_an_answer(
    pair: Pair,
) -> None:
    with pair.driving.api() as here, pair.other.api() as there:
        session = here.session("resumed")
        here.say(session, "Tell me at length.")
        apis, last = [here, there], "0"
        seen: list[Frame] = []
        while not seen or seen[-1].event != "turn_ended":
            api = apis.pop(0)
            apis.append(api)
            headers = {"Last-Event-ID": last}
            with api.stream(
                "GET", f"/v1/sessions/{session}/events", headers=headers
            ) as answer:
                for frame in frames_of(answer.iter_lines()):
                    seen.append(frame)
                    last = frame.id or last
                    if len(seen) % 9 == 0 or frame.event == "turn_ended":
                        break
    text = "".join(
        frame.data["text"]
        for frame in seen
        if frame.event == "draft" and frame.data["kind"] == "text"
    )
    assert (STORY * 30).startswith(text)
    seqs = [f.data["seq"] for f in seen if f.is_of_ledger]
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.fixture
def forgetful() -> Iterator[PostgresServer]:
    """A server whose crash loses what was not stored durably: nothing but a durable commit writes its log.

    The process that stands still would write the log of the other commits after a while
    (https://www.postgresql.org/docs/current/wal-async-commit.html).
    """
    server = new_server("wal_buffers = 16MB\nautovacuum = off\n")
    forget(server)
    yield server
    server.remove()


def forget(server: PostgresServer) -> None:
    """From here until its next start."""
    writer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
    os.kill(int(server.sql(writer)), signal.SIGSTOP)


def test_after_a_crash_of_the_database_that_lost_events_clients_are_told_and_the_turn_ends(
    forgetful: PostgresServer, tmp_path: Path
) -> None:
    name = forgetful.new_database()
    place = forgetful.url(name)
    with (
        two_servers(place, tmp_path, SLOW_S) as pair,
        pair.driving.api() as here,
        pair.other.api() as there,
    ):
        session = here.session("lost")
        here.say(session, "Tell me at length.", id="only")
        streams = [api.events(session, params={"after": "0"}) for api in (here, there)]
        for frames in streams:
            until(frames, "draft")
        statement = f"SELECT seq FROM sessions WHERE id = '{session}'"
        for _ in range(9):  # a crash right behind a durable write loses nothing
            before = there.state(session)["seq"]
            forgetful.kill()
            forgetful.start()
            if int(forgetful.sql(statement, name)) < before:
                break
            forget(forgetful)
        else:
            raise AssertionError("no crash lost anything")
        hurry(pair.provider)
        for frames in streams:
            until(frames, "reset")
            until(frames, "turn_ended")
    events = ledger(place, session)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    for kind in (Queued, TurnStarted, TurnEnded):
        assert sum(isinstance(event, kind) for event in events) == 1, kind
    assert not any(isinstance(event, CancelAsked) for event in events)
    ended = [event.outcome for event in of_kind(events, CallEnded)]
    assert ended[-1] == "finished"
