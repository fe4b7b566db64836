"""Processes of one store share a provider's rate limit, which they learn from its headers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from tests.machines import Machines, machines
from tests.promises.stage import of_kind
from tests.server.served import patiently, script
from ullage.events import CallEnded, CallRetried
from ullage.models.rate_limits import PROMISED_S, RateState
from ullage_agent.runtime.call_slots import RATE
from ullage_cluster.postgres.store import PostgresStore
from ullage_simulators import Server, running
from ullage_simulators.scenario import Scenario

PER_MINUTE = 60
SESSIONS = tuple(f"s{number}" for number in range(40))
STEPS = 2


OPTIONS = ("--dispatch", "lease", "--tools", "list")


def story(per_minute: int) -> Scenario:
    """Each session makes two calls, within the provider's limit for all of them."""
    looks = {"calls": [{"name": "list", "arguments": {"path": "."}}]}
    told = script({**looks, "when": {"step": 1}}, {"text": "Done."})
    return replace(told, requests_per_minute=per_minute)


def send_all(many: Machines) -> None:
    with many.servers[0].api() as one, many.servers[1].api() as other:
        for number, session in enumerate(SESSIONS):
            api = (one, other)[number % 2]
            api.session(session)
            api.post(f"/v1/sessions/{session}/messages", json={"text": "Look around."})


@contextmanager
def working(folder: Path, per_minute: int) -> Iterator[tuple[Server, Machines]]:
    """Two workers at all sessions, behind one limit of requests."""
    with (
        running(story(per_minute)) as simulator,
        machines(
            simulator.url("anthropic"), folder, server=OPTIONS, workers=(OPTIONS, OPTIONS)
        ) as many,
    ):
        send_all(many)
        yield simulator, many


def test_two_workers_keep_one_limit_and_nobody_starves(tmp_path: Path) -> None:
    with working(tmp_path, PER_MINUTE) as (simulator, many):
        many.until_rest(SESSIONS, within_s=240)
        statuses = [each.status for each in simulator.exchanges if each.number]
        first = statuses.index(429) if 429 in statuses else len(statuses)
        refused = statuses.count(429)
        assert statuses.count(200) == len(SESSIONS) * STEPS
        assert first >= PER_MINUTE - 1
        assert refused <= 4, f"{refused} of {len(statuses)} were refused"
        ledgers = many.ledgers(SESSIONS)
        ends = []
        for session, events in ledgers.items():
            outcomes = [e.outcome for e in of_kind(events, CallEnded)]
            assert outcomes == ["finished"] * STEPS, session
            ends.append(max(e.at for e in events))
            waits = of_kind(events, CallRetried)
            assert all(e.attempt or "rate limit" in e.error for e in waits)
        assert max(ends) - min(ends) < 180


def test_a_worker_that_is_killed_while_its_calls_wait_keeps_nothing_of_the_limit(
    tmp_path: Path,
) -> None:
    with working(tmp_path, PER_MINUTE // 2) as (simulator, many):
        until_waiting(many, 20)
        many.workers[0].kill()
        assert promised_s(many.place) < PROMISED_S + 3
        many.until_rest(SESSIONS, within_s=240)
        statuses = [each.status for each in simulator.exchanges if each.number]
        assert statuses.count(429) <= 4
        for session, events in many.ledgers(SESSIONS).items():
            outcomes = [e.outcome for e in of_kind(events, CallEnded)]
            assert outcomes.count("finished") == STEPS, session


def until_waiting(many: Machines, count: int) -> None:
    """Wait until the calls of so many sessions have been told to wait."""
    for _ in patiently():
        waiting = [
            session
            for session, events in many.ledgers(SESSIONS).items()
            if isinstance(events[-1], CallRetried)
        ]
        if len(waiting) >= count:
            return
    raise AssertionError(f"Only these wait: {waiting}")


def promised_s(place: str) -> float:
    """For how many seconds the slots of the provider's limit of requests are promised."""

    async def read() -> RateState:
        store = PostgresStore(place)
        try:
            (text,) = (await store.shared(RATE)).values()
            return msgspec.json.decode(text, type=RateState)
        finally:
            await store.close()

    requests = asyncio.run(read()).buckets["requests"]
    return max(0.0, -requests.level * 60 / requests.per_minute)
