"""Two servers that drive nothing and two workers over PostgreSQL: a worker is killed, and the other one finishes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.machines import PIECE_S, STORY, Machines, hurry, machines, worker
from tests.promises.stage import of_kind
from tests.server.served import script
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    Queued,
    QueueLeft,
    TurnEnded,
    TurnStarted,
)
from ullage_simulators import running

SESSIONS = tuple(f"s{number}" for number in range(6))
LEASE = ("--dispatch", "lease")


def begin(cluster: Machines) -> None:
    """Begin the sessions at both servers, and wait until they stream."""
    for number, name in enumerate(SESSIONS):
        with cluster.servers[number % 2].api() as api:
            api.session(name)
            api.say(name, "Tell me.", id=f"m-{name}")
            api.say(name, "Tell me.", id=f"m-{name}")
    cluster.until_called(SESSIONS)


def check(ledgers: Mapping[str, list[Event]]) -> dict[str, int]:
    """Each message once, each turn ended once, no gap; gives how many calls of each session were cut and made again."""
    cut: dict[str, int] = {}
    for name, events in ledgers.items():
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        for kind in (Queued, QueueLeft, TurnStarted, TurnEnded):
            assert sum(isinstance(event, kind) for event in events) == 1, (name, kind)
        said = [event.message.id for event in of_kind(events, MessageAdded)]
        assert said.count(f"m-{name}") == 1
        cut[name] = len(of_kind(events, CallStarted)) - 1
        outcomes = [event.outcome for event in of_kind(events, CallEnded)]
        assert outcomes == ["cancelled"] * cut[name] + ["finished"]
    return cut


@pytest.mark.parametrize("killed", [0, 1], ids=["first", "second"])
def test_what_a_killed_worker_drove_is_finished_by_the_other_one(
    killed: int, tmp_path: Path
) -> None:
    lasts_longer = "600"
    with (
        running(script(STORY, delay_s=PIECE_S)) as simulator,
        machines(
            simulator.url("anthropic"),
            tmp_path,
            server=LEASE,
            workers=(LEASE, LEASE),
            lease_s=lasts_longer,
        ) as cluster,
    ):
        begin(cluster)
        drivers = cluster.drivers(SESSIONS)
        of_killed = [
            name
            for name, machine in drivers.items()
            if machine.startswith(f"worker{killed}-")
        ]
        cluster.workers[killed].kill()
        cluster.until_driven(of_killed, f"worker{1 - killed}")
        hurry(simulator)
        cluster.until_rest(SESSIONS)
        check(cluster.ledgers(SESSIONS))


def test_a_worker_that_is_told_to_end_lets_answers_end(tmp_path: Path) -> None:
    with (
        running(script(STORY, delay_s=0.06)) as simulator,
        machines(
            simulator.url("anthropic"), tmp_path, server=LEASE, workers=(LEASE, LEASE)
        ) as cluster,
    ):
        begin(cluster)
        assert cluster.workers[0].end() == 0
        cluster.until_rest(SESSIONS, looking=1)
        assert not any(check(cluster.ledgers(SESSIONS)).values())


def test_a_session_whose_call_for_a_driver_was_lost_is_driven_all_the_same(
    tmp_path: Path,
) -> None:
    with (
        running(script(STORY)) as simulator,
        machines(
            simulator.url("anthropic"), tmp_path, server=LEASE, workers=()
        ) as cluster,
    ):
        with cluster.servers[0].api() as api:
            for name in SESSIONS:
                api.session(name)
                api.say(name, "Tell me.", id=f"m-{name}")
        with worker(simulator.url("anthropic"), cluster.place, tmp_path, *LEASE):
            cluster.until_rest(SESSIONS)
        check(cluster.ledgers(SESSIONS))
