"""The window over HTTP, and that it is the one everybody else has."""

from __future__ import annotations

import asyncio
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.hostile.logs import claude
from tests.importers.first_calls import claude_code
from tests.places import CLIENT_LOGS
from tests.server.served import MODEL, Api, frames_of, script, serving
from ullage.codec.stream import Answer
from ullage.events import CallStarted, CompactionStarted, Event, ReadingTaken
from ullage.importers import read
from ullage.messages import Request
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.store.overhead import OverheadStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hooks import Hook
from ullage_server.app import LOGS_AT_ONCE, application
from ullage_server.live_types import SHOWN
from ullage_server.serving import HttpServer, listener, url_of
from ullage_simulators import running

MOMENTS = 1_000


def test_steps_say_estimate_actual_and_growth(api: Api) -> None:
    session = api.session("steps")
    for number in range(3):
        api.say(session, f"number {number}")
        api.until(session)
    steps = api.get(f"/v1/sessions/{session}/steps").json()["steps"]
    assert [step["number"] for step in steps] == [1, 2, 3]
    for before, step in zip([None, *steps], steps, strict=False):
        assert step["tokens"] == step["actual"]
        assert step["error"] == step["estimated"] - step["actual"]
        expected = None if before is None else step["tokens"] - before["tokens"]
        assert step["grown"] == expected


def test_the_largest_items_come_first_with_how_they_begin(api: Api) -> None:
    session = api.session("largest")
    api.say(session, "the largest of all, " * 50, id="big")
    api.until(session)
    items = api.get(f"/v1/sessions/{session}/largest", params={"count": 1}).json()[
        "largest"
    ]
    assert [(item["message"], item["position"]) for item in items] == [("big", 1)]
    assert items[0]["preview"].startswith("the largest of all")
    assert len(items[0]["preview"]) <= SHOWN


class Decisions(Hook):
    """Writes down the reading that each call was decided on."""

    def __init__(self) -> None:
        self.seen: dict[str, Reading] = {}

    async def before_call(self, request: Request, reading: Reading) -> None:
        """A call was decided on."""
        self.seen[reading.snapshot_id] = reading

    async def after_call(self, answer: Answer, reading: Reading) -> None:
        """A call has ended."""


async def look(what: str) -> str:
    """Look at something.

    Args:
        what: what to look at
    """
    return f"{what}: " + "as it should be, and a little more than that. " * random.Random(
        what
    ).randint(1, 60)


ANSWERS: tuple[dict[str, Any], ...] = (
    {
        "when": {"contains": "summar"},
        "text": "Casks were looked at; all were as they should be.",
    },
    {
        "when": {"contains": "look", "after": "user"},
        "calls": [{"name": "look", "arguments": {"what": "bung"}}],
    },
    {"text": "Everything is as it should be, as far as anybody can see. " * 6},
)
TURNS = 30


class Seen:
    """What was told, and by whom."""

    def __init__(self) -> None:
        self.decisions = Decisions()
        self.contexts: list[dict[str, Any]] = []
        self.states: list[dict[str, Any]] = []
        self.statuses: dict[str, dict[str, Any]] = {}

    async def ask(self, client: httpx2.AsyncClient, over: asyncio.Event) -> None:
        """Ask for the window at random moments."""
        rng = random.Random(3)
        while not over.is_set() or len(self.contexts) < MOMENTS:
            self.contexts.append((await client.get("/v1/sessions/s/context")).json())
            self.states.append((await client.get("/v1/sessions/s")).json())
            await asyncio.sleep(rng.random() * 0.002)

    async def follow(self, client: httpx2.AsyncClient) -> None:
        """Take in every status until the last turn is over."""
        lines: list[str] = []
        ended = 0
        async with client.stream("GET", "/v1/sessions/s/events?after=0") as answer:
            async for line in answer.aiter_lines():
                lines.append(line)
                if line:
                    continue
                for frame in frames_of(lines):
                    if frame.event == "status":
                        self.statuses[frame.data["snapshot"]] = frame.data
                    ended += frame.event == "turn_ended"
                lines.clear()
                if ended >= TURNS:
                    return

    async def live(self, provider: str, store: Path) -> list[Event]:
        """A session with many turns and some compactions; gives its ledger."""
        agent = Agent(
            MODEL,
            tools=[look],
            hooks=[self.decisions],
            store=store,
            environment={"ANTHROPIC_API_KEY": "x"},
            base_url=provider,
            config=False,
            window=6_000,
            reserve=1_000,
            max_output=1_000,
        )
        with listener("127.0.0.1", 0) as listening:
            server = HttpServer(application(agent))
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            async with httpx2.AsyncClient(
                base_url=url_of(listening), timeout=60
            ) as client:
                await client.post("/v1/sessions", json={"id": "s"})
                over = asyncio.Event()
                asking = asyncio.create_task(self.ask(client, over))
                following = asyncio.create_task(self.follow(client))
                for number in range(TURNS):
                    said = {"text": f"look at cask {number}", "kind": "follow_up"}
                    await client.post("/v1/sessions/s/messages", json=said)
                await following
                over.set()
                await asking
            server.should_exit = True
            await serving
        async with agent.session("s", resume=False) as session:
            return await session.history()


@pytest.mark.sweep
def test_api_status_event_and_decision_carry_the_same_snapshot(tmp_path: Path) -> None:
    """Asked at random moments of a busy session: whoever names the same snapshot names the same numbers."""
    seen = Seen()
    with running(script(*ANSWERS, delay_s=0.001)) as simulator:
        events = asyncio.run(seen.live(simulator.url("anthropic"), tmp_path / "s.db"))
    taken = {event.snapshot: event for event in events if isinstance(event, ReadingTaken)}
    _the_api_shows_what_events_say(seen, taken)
    _the_status_shows_what_events_say(seen, taken)
    _decisions_rest_on_what_was_shown(events, seen.decisions, taken)


def _the_api_shows_what_events_say(seen: Seen, taken: dict[str, ReadingTaken]) -> None:
    assert len(seen.contexts) >= MOMENTS
    by_id: dict[str, dict[str, Any]] = {}
    for context in seen.contexts:
        numbers = {
            name: context[name]
            for name in ("used", "window", "compaction_point", "input_limit", "reserve")
        }
        assert by_id.setdefault(context["snapshot_id"], numbers) == numbers
    shared = by_id.keys() & taken.keys()
    assert len(shared) > 20
    for name in shared:
        event, numbers = taken[name], by_id[name]
        assert numbers["used"] == {
            "tokens": event.used.tokens,
            "low": event.used.low,
            "high": event.used.high,
        }
        assert numbers["window"]["tokens"] == event.window
        assert numbers["compaction_point"]["tokens"] == event.compaction_point


def _the_status_shows_what_events_say(seen: Seen, taken: dict[str, ReadingTaken]) -> None:
    assert seen.statuses.keys() == taken.keys()
    for name, status in seen.statuses.items():
        event = taken[name]
        assert status["tokens"] == event.used.tokens
        assert status["low"] == event.used.low
        assert status["high"] == event.used.high
        assert status["max_tokens"] == event.window
        assert status["compaction_point"] == event.compaction_point
    for state in seen.states:
        if state["status"] is not None:
            assert seen.statuses[state["status"]["snapshot"]] == state["status"]


def _decisions_rest_on_what_was_shown(
    events: list[Event], decisions: Decisions, taken: dict[str, ReadingTaken]
) -> None:
    calls = [
        event
        for event in events
        if isinstance(event, CallStarted) and event.purpose == "main"
    ]
    compactions = [event for event in events if isinstance(event, CompactionStarted)]
    assert calls and compactions
    for call in calls:
        reading, event = decisions.seen[call.snapshot], taken[call.snapshot]
        assert (
            reading.used.tokens
            == event.used.tokens
            == (call.estimate.tokens if call.estimate else None)
        )
    for started in compactions:
        assert taken[started.snapshot].used.high == started.high


FIXTURES = CLIENT_LOGS
LOGS = sorted(path for path in FIXTURES.glob("*/*.jsonl") if read(path).usable)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_it_is_read_as_a_file_is(api: Api, path: Path) -> None:
    answer = api.post("/v1/look", content=path.read_bytes())
    assert answer.status_code == 200, answer.text
    looked, imported = answer.json(), read(path)
    meter = Meter()
    for event in imported.events:
        meter.apply(event)
    assert looked["reading"]["used"]["tokens"] == meter.reading().used.tokens
    assert len(looked["steps"]) == len(meter.steps)
    assert looked["log"]["format"] == imported.format
    assert looked["log"]["skipped_lines"] == imported.skipped_lines


def test_a_log_is_shown_by_what_was_learnt(provider: str, tmp_path: Path) -> None:
    taught = Meter()
    for event in read(claude_code(tmp_path, 1, "Which price?", 21_000)).events:
        taught.apply(event)
    assert taught.first_call is not None
    log = claude_code(tmp_path, 2, "Which price?", 30_000)
    with serving(provider, tmp_path / "s.db") as server:
        store = OverheadStore(server.agent._data)
        store.add(taught.first_call)
        looked = server.api.post("/v1/look", content=log.read_bytes()).json()
        assert abs(looked["steps"][0]["estimated"] - 21_000) < 100
        assert store.read() == (taught.first_call,)


def test_health_answers_while_more_logs_are_read_than_may_be_at_once(api: Api) -> None:
    messages = (claude("a", uuid=f"u{number}") for number in range(10_000))
    log = b"\n".join(json.dumps(message).encode() for message in messages)
    with ThreadPoolExecutor(2 * LOGS_AT_ONCE) as clients:
        asked = [
            clients.submit(api.post, "/v1/look", content=log, timeout=300)
            for _ in range(2 * LOGS_AT_ONCE)
        ]
        assert api.get("/healthz", timeout=300).status_code == 200
        assert not all(each.done() for each in asked)
        assert {each.result().status_code for each in asked} == {200}


def test_the_window_may_be_said(api: Api) -> None:
    answer = api.post("/v1/look", params={"window": 12_345}, content=LOGS[0].read_bytes())
    assert answer.json()["reading"]["window"] == {"tokens": 12_345, "source": "user"}


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"\0\1\2",
        b"{}",
        b"[]",
        b"SQLite format 3\0" + b"x" * 100,
        b"\x1f\x8b123",
    ],
)
def test_what_is_no_log_is_refused_by_each_format(api: Api, content: bytes) -> None:
    answer = api.post("/v1/look", content=content)
    assert answer.status_code == 422
    assert answer.json()["detail"]
    assert "/tmp" not in answer.text


def test_our_own_export_is_a_log_too(api: Api) -> None:
    session = api.session("own")
    api.say(session, "hello")
    api.until(session)
    exported = api.get(f"/v1/sessions/{session}/export").content
    looked = api.post("/v1/look", content=exported).json()
    context = api.get(f"/v1/sessions/{session}/context").json()
    assert looked["log"]["format"] == "ullage"
    assert looked["reading"]["used"] == context["used"]
