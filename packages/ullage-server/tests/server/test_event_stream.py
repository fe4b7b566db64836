"""Following a session over HTTP: every event once, whatever breaks in between."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.agents import haiku
from tests.server.served import (
    WAIT_S,
    Api,
    Frame,
    Local,
    frames_of,
    script,
    serving,
)
from ullage.events import DraftPiece, Event, Renamed
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import SessionStore
from ullage_server import event_stream
from ullage_server.event_stream import (
    StreamPosition,
    frames,
    moved,
    read_events,
    streamed,
)
from ullage_server.metrics import Metrics
from ullage_server.tokens import Tokens
from ullage_simulators import running

LONG = {
    "when": {"contains": "at length"},
    "text": "Word after word the cask was described. " * 40,
}
CALLS = {
    "when": {"contains": "look", "after": "user"},
    "calls": [{"name": "look", "arguments": {"what": "bung"}}],
}


async def look(what: str) -> str:
    """Look at a thing.

    Args:
        what: the thing
    """
    await asyncio.sleep(0.01)
    return f"{what}: as it should be. " * 20


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A server whose answers stream for a while."""
    with (
        running(
            script(
                LONG,
                CALLS,
                {"when": {"after": "tool"}, "text": "It was looked at. " * 30},
                delay_s=0.004,
            )
        ) as simulator,
        serving(
            simulator.url("anthropic"),
            tmp_path_factory.mktemp("busy") / "sessions.db",
            tools=[look],
        ) as server,
    ):
        yield server


def take(api: Api, session: str, last: str, count: int) -> list[Frame]:
    """So many frames behind a place, then the connection is dropped."""
    headers = {"Last-Event-ID": last}
    found: list[Frame] = []
    with api.stream("GET", f"/v1/sessions/{session}/events", headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        for frame in frames_of(answer.iter_lines()):
            found.append(frame)
            if len(found) >= count or (
                frame.event == "turn_ended" and frame.data["turn"] == "turn-9"
            ):
                break
    return found


@pytest.mark.sweep
def test_a_hundred_reconnects_leave_no_gap_and_no_duplicate(busy: Local) -> None:
    """The frames of all connections together are those of a single one that nothing interrupted."""
    api, rng = busy.api, random.Random(7)
    session = api.session("reconnects")
    whole: list[Frame] = []

    def follow() -> None:
        with Api(base_url=busy.url, timeout=60) as other:
            for frame in other.events(session, params={"after": "0"}):
                whole.append(frame)
                if frame.event == "turn_ended" and frame.data["turn"] == "turn-9":
                    return

    following = threading.Thread(target=follow)
    following.start()

    def speak() -> None:
        with Api(base_url=busy.url, timeout=60) as other:
            for number in range(9):
                other.say(
                    session,
                    "look at the bung" if number % 3 else "tell me at length",
                    id=f"said-{number}",
                    kind="follow_up",
                )
                time.sleep(0.05)

    speaking = threading.Thread(target=speak)
    speaking.start()
    seen: list[Frame] = []
    last, connections = "0", 0
    while not (
        seen and seen[-1].event == "turn_ended" and seen[-1].data["turn"] == "turn-9"
    ):
        # Pieces of an answer that has ended are not sent: a slow machine sees few of them, but all 200 other frames.
        found = take(api, session, last, rng.randint(1, 2))
        seen += found
        last = next((frame.id for frame in reversed(found) if frame.id), last)
        connections += 1
    speaking.join()
    following.join(60)
    assert connections >= 100
    events = [frame.data["seq"] for frame in seen if frame.is_of_ledger]
    assert events == list(range(1, events[-1] + 1))
    given = [f.data for f in seen if f.is_of_ledger]
    assert given == [f.data for f in whole if f.is_of_ledger]
    _no_piece_twice_and_none_out_of_order(seen)
    _no_piece_twice_and_none_out_of_order(whole)
    assert any(frame.event == "draft" for frame in whole), "answers streamed"


def _no_piece_twice_and_none_out_of_order(seen: list[Frame]) -> None:
    offsets: dict[str, list[int]] = {}
    for frame in seen:
        if frame.event == "draft":
            offsets.setdefault(frame.data["call"], []).append(frame.data["offset"])
    for call, had in offsets.items():
        assert had == list(range(len(had))), (call, had)


def test_every_reading_comes_with_its_status_before_it(api: Api) -> None:
    session = api.session("status")
    api.say(session, "hello")
    before: Frame | None = None
    readings = 0
    for frame in api.events(session, params={"after": "0"}):
        if frame.event == "reading_taken":
            readings += 1
            assert before is not None and before.event == "status" and before.id == ""
            assert before.data["snapshot"] == frame.data["snapshot"]
            assert before.data["tokens"] == frame.data["used"]["tokens"]
            assert {
                "max_tokens",
                "messages_in_context",
                "near_limit",
            } <= before.data.keys()
        before = frame
        if frame.event == "turn_ended":
            break
    assert readings >= 2


def test_an_event_that_people_are_told_of_comes_with_its_sentence(api: Api) -> None:
    session = api.session("told")
    api.post(f"/v1/sessions/{session}/rename", json={"title": "A cask"})
    before: Frame | None = None
    for frame in api.events(session, params={"after": "0"}):
        if frame.event == "renamed":
            line = {"text": "renamed: A cask", "style": "dim"}
            assert before == Frame("line", "", {"seq": frame.data["seq"], **line})
            break
        before = frame


def test_without_a_place_it_begins_with_what_comes_next_and_where(api: Api) -> None:
    session = api.session("now")
    newest = api.until(session, "idle")["seq"]
    with api.stream("GET", f"/v1/sessions/{session}/events") as answer:
        lines = answer.iter_lines()
        retry, place = next(lines), next(lines)
        assert retry == "retry: 1000"
        assert place.startswith(f"id: {newest}.0.")
        api.say(session, "hello")
        assert next(frames_of(lines)).data["seq"] == newest + 1


def test_a_place_that_is_none_is_refused(api: Api) -> None:
    session = api.session("places")
    for place in ("x", "-1", "1.2.3.4", "9" * 30):
        answer = api.get(
            f"/v1/sessions/{session}/events", headers={"Last-Event-ID": place}
        )
        assert answer.status_code == 400, place
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("place", ["5000", "5000.3", "3.0.1", "3.2.86400000"])
def test_a_client_with_events_that_the_database_has_lost_is_told_and_goes_on_from_the_newest(
    api: Api, place: str
) -> None:
    session = api.session(f"lost-{place}")
    api.say(session, "hello")
    newest = api.until(session)["seq"]
    headers = {"Last-Event-ID": place}
    with api.stream("GET", f"/v1/sessions/{session}/events", headers=headers) as answer:
        frames = frames_of(answer.iter_lines())
        first = next(frames)
        assert (first.event, first.data) == ("reset", {"seq": newest})
        api.say(session, "hello again")
        following = next(frames)
        assert following.data["seq"] == newest + 1
    assert take(api, session, first.id, 1) == [following]


def test_a_deleted_session_ends_its_streams(api: Api) -> None:
    session = api.session("deleted")
    with api.stream("GET", f"/v1/sessions/{session}/events?after=0") as answer:
        lines = answer.iter_lines()
        next(frames_of(lines))
        assert api.delete(f"/v1/sessions/{session}").status_code == 204
        assert all(frame.event for frame in frames_of(lines)), "the stream ends by itself"


def test_silence_is_broken_by_comments(tmp_path: Path) -> None:
    from ullage_agent.runtime.hosting import Host

    async def hear() -> list[bytes]:
        agent = haiku(tmp_path / "s.db", environment={})
        async with Host(agent) as host:
            await host.store.create("quiet")
            read = partial(read_events, host.store, "quiet", StreamPosition(0))
            chunks = frames(read, asyncio.Event(), head=b"\n", heartbeat_s=0.01)
            heard = [await anext(chunks) for _ in range(3)]
            await chunks.aclose()
            return heard

    first, *comments = asyncio.run(hear())
    assert first == b"\n"
    assert comments == [b": still here\n\n"] * 2


def test_pieces_are_counted_per_call() -> None:
    from ullage.events import CallEnded, CallStarted, Queued
    from ullage.messages import Message

    place = moved(StreamPosition(4, 9), CallStarted(call="a", seq=5, at=1.5))
    place = moved(place, DraftPiece("a", 0, "text", "p", "x"))
    assert place == StreamPosition(5, 1, 1_500)
    place = moved(
        place,
        Queued(message=Message(id="m", role="user"), kind="steer", position=1, seq=6),
    )
    assert place == StreamPosition(6, 1), "pieces that came before another event were had"
    place = moved(place, CallStarted(call="b", purpose="summary", seq=7))
    assert place == StreamPosition(7, 1)
    assert moved(place, CallEnded(call="a", seq=8)) == StreamPosition(8, 0)


def test_frames_are_one_line_of_data_each(api: Api) -> None:
    session = api.session("lines")
    api.say(session, "two\nlines\r\nand a\u2028separator")
    with api.stream("GET", f"/v1/sessions/{session}/events?after=0") as answer:
        for line in answer.iter_raw():
            for each in line.split(b"\n"):
                assert each == b"" or each.startswith(
                    (b"event: ", b"id: ", b"data: ", b"retry: ", b": ")
                ), each
                if each.startswith(b"data: "):
                    json.loads(each[6:])
            if b"event: turn_ended" in line:
                break


class LargeStore:
    """A store with so many large events. ``opened`` counts its reads that are not closed yet."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.opened = 0
        self.closed = asyncio.Event()

    async def follow(
        self, session: str, *, after: int = 0, offset: int = -1, at: float = 0.0
    ) -> AsyncIterator[Event]:
        self.opened += 1
        try:
            for seq in range(after + 1, self.number + 1):
                title = "t" * event_stream.MOST_HELD
                yield Renamed(session=session, seq=seq, id=f"e{seq}", at=1.0, title=title)
            await asyncio.Event().wait()
        finally:
            self.opened -= 1
            self.closed.set()


async def test_who_reads_nothing_holds_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "SLOW_S", 0.01)
    store = LargeStore(5)
    start = StreamPosition(0)
    read = partial(read_events, cast(SessionStore, store), "s", start)
    made = frames(read, asyncio.Event(), head=b"\n")
    got = await anext(made)
    async with asyncio.timeout(WAIT_S):
        got += await anext(made)
        await store.closed.wait()
    assert store.opened == 0
    async with aclosing(made):
        while b"id: 5." not in got:
            got += await anext(made)
    ids = [line for line in got.split(b"\n") if line.startswith(b"id: ")]
    assert ids == [b"id: %d.0.1000" % seq for seq in range(1, 6)]


async def test_a_stream_that_is_left_ends_with_its_response() -> None:
    ended = asyncio.Event()
    told = SimpleNamespace(
        scope={}, closing=asyncio.Event(), metrics=Metrics(), tokens=Tokens()
    )
    read = partial(read_events, cast(SessionStore, LargeStore(1)), "s", StreamPosition(0))
    answer = streamed(cast(Any, told), cast(Any, told), read, b"\n", ended.set)
    assert await anext(cast(Any, answer.iterator)) == b"\n"
    assert answer.background
    await answer.background()
    assert ended.is_set()


async def test_a_silent_stream_ends_soon_after_its_token(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.create("s")
    is_valid = True
    made = frames(
        partial(read_events, store, "s", StreamPosition(0)),
        asyncio.Event(),
        head=b"\n",
        heartbeat_s=3_600,
        may_go_on=lambda: is_valid,
    )
    async with aclosing(made) as chunks:
        assert await anext(chunks) == b"\n"
        is_valid = False
        assert [chunk async for chunk in chunks] == []
    await store.close()
