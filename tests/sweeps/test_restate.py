"""Two servers and two workers over PostgreSQL and Restate, each in a process of its own: what dies is replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.machines import STORY, Machines, machines, worker
from tests.restate import new_restate
from tests.server.served import script
from tests.sweeps.test_workers import SESSIONS, begin, check
from ullage.cli import main
from ullage.events import CallStarted
from ullage_cluster.cli.local_restate import LocalRestate, free_ports
from ullage_simulators import running


class RestateCluster(NamedTuple):
    """The machines, the Restate server between them, and where its workers listen."""

    parts: Machines
    restate: LocalRestate
    workers_url: str

    def register(self) -> None:
        """Tell Restate where the workers are, as an operator does."""
        register = ["admin", "dispatch", "register", self.workers_url]
        assert main([*register, "--admin", self.restate.admin]) == 0


@contextmanager
def restate_cluster(folder: Path) -> Iterator[RestateCluster]:
    """Two servers and two workers, whose answers last nine seconds. The workers share an address."""
    restate = new_restate()
    (port,) = free_ports(1)
    server = ["--dispatch", "restate", "--restate", restate.ingress]
    options = [*server, "--listen", f"127.0.0.1:{port}"]
    try:
        with (
            running(script(STORY, delay_s=0.06)) as simulator,
            machines(
                simulator.url("anthropic"),
                folder,
                server=server,
                workers=(options, options),
                lease_s="120",
            ) as parts,
        ):
            cluster = RestateCluster(parts, restate, f"http://127.0.0.1:{port}")
            cluster.register()
            yield cluster
    finally:
        restate.kill()


def calls(cluster: Machines) -> Counter[str]:
    """How often the model was called for each session."""
    counted: Counter[str] = Counter()
    for name, events in cluster.ledgers(SESSIONS).items():
        counted[name] = sum(isinstance(event, CallStarted) for event in events)
    return counted


def test_what_a_killed_worker_drove_is_finished_by_the_other_one(tmp_path: Path) -> None:
    with restate_cluster(tmp_path) as cluster:
        begin(cluster.parts)
        drivers = cluster.parts.drivers(SESSIONS)
        busiest, _ = Counter(drivers.values()).most_common(1)[0]
        killed = int(busiest.removeprefix("worker")[0])
        of_killed = [name for name, machine in drivers.items() if machine == busiest]
        assert of_killed
        cluster.parts.workers[killed].kill()
        # The leases would end after this test had given up: only Restate brings them to the other worker.
        cluster.parts.until_driven(of_killed, f"worker{1 - killed}")
        cluster.parts.until_rest(SESSIONS)
        check(cluster.parts)
        made = calls(cluster.parts)
        assert all(made[name] == 2 for name in of_killed)
        assert all(made[name] == 1 for name in set(SESSIONS) - set(of_killed))


def test_when_restate_is_killed_and_started_again_every_answer_is_finished(
    tmp_path: Path,
) -> None:
    with restate_cluster(tmp_path) as cluster:
        begin(cluster.parts)
        cluster.restate.kill()
        with cluster.parts.servers[0].api() as api:
            api.session("late")
            api.say("late", "Tell me.", id="m-late")
        cluster.restate.start()
        cluster.parts.until_rest((*SESSIONS, "late"))
        check(cluster.parts)


def test_when_restate_has_lost_its_data_the_sweep_wakes_every_session(
    tmp_path: Path,
) -> None:
    with restate_cluster(tmp_path) as cluster:
        begin(cluster.parts)
        cluster.restate.kill()
        cluster.restate.forget()
        cluster.restate.start()
        cluster.register()
        cluster.parts.until_rest(SESSIONS)
        check(cluster.parts)


def test_a_worker_that_is_told_to_end_lets_answers_end(tmp_path: Path) -> None:
    with restate_cluster(tmp_path) as cluster:
        begin(cluster.parts)
        assert cluster.parts.workers[0].end() == 0
        cluster.parts.until_rest(SESSIONS, looking=1)
        check(cluster.parts)
        assert set(calls(cluster.parts).values()) == {1}


def test_sessions_that_no_worker_served_yet_are_driven_by_the_first_one(
    tmp_path: Path,
) -> None:
    with restate_cluster(tmp_path) as cluster:
        for each in cluster.parts.workers:
            each.kill()
        with cluster.parts.servers[0].api() as api:
            for name in SESSIONS:
                api.session(name)
                api.say(name, "Tell me.", id=f"m-{name}")
        address = cluster.workers_url.removeprefix("http://")
        restate = ["--dispatch", "restate", "--restate", cluster.restate.ingress]
        options = (*restate, "--listen", address)
        with (
            running(script({"text": "Once."})) as simulator,
            worker(simulator.url("anthropic"), cluster.parts.place, tmp_path, *options),
        ):
            cluster.parts.until_rest(SESSIONS)
        check(cluster.parts)
