"""Restate is killed, updated, or loses its data while answers stream: nobody notices, and nothing is called twice."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.machines import PIECE_S, Machines, hurry, machines
from tests.promises.stage import of_kind
from tests.restate import new_restate, under
from tests.server.served import script
from tests.sweeps.test_workers import SESSIONS, begin, check
from ullage.events import MessageAdded
from ullage.messages import TextPart
from ullage_cluster.cli.local_restate import LocalRestate, free_ports
from ullage_simulators import running

STORY = {"text": "The cask was filled in spring and by autumn it was opened again. " * 40}
ROUNDS = 3
STREAMS = ("streaming", "")


@contextmanager
def answering(
    folder: Path, delay_s: float = PIECE_S
) -> Iterator[tuple[Machines, LocalRestate]]:
    """Two servers and two workers under a Restate server of their own, while each session's answer streams."""
    restate = new_restate()
    (port,) = free_ports(1)
    server = ("--dispatch", "restate", "--restate", restate.ingress)
    worker = under(restate, f"127.0.0.1:{port}")
    try:
        with (
            running(script(STORY, delay_s=delay_s)) as simulator,
            machines(
                simulator.url("anthropic"),
                folder,
                server=server,
                workers=(worker, worker),
                lease_s="10",
            ) as cluster,
        ):
            begin(cluster)
            yield cluster, restate
            hurry(simulator)
            cluster.until_rest(SESSIONS)
            ledgers = cluster.ledgers(SESSIONS)
            assert not any(check(ledgers).values()), "an answer was called again"
            for events in ledgers.values():
                answer = of_kind(events, MessageAdded)[-1].message
                text = "".join(part.text for part in answer.of_type(TextPart))
                assert text == STORY["text"]
    finally:
        restate.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "update"])
def test_answers_outlive_the_end_of_restate(how: signal.Signals, tmp_path: Path) -> None:
    with answering(tmp_path) as (cluster, restate):
        for _ in range(ROUNDS):
            assert restate.process is not None
            restate.process.send_signal(how)
            restate.process.wait()
            with cluster.servers[0].api() as api:
                states = [api.state(name) for name in SESSIONS]
                assert api.get("/readyz").json() == {"ready": True, "lacks": ["dispatch"]}
            assert {(state["state"], state["note"]) for state in states} == {STREAMS}
            restate.start()
            time.sleep(0.5)  # in which Restate calls workers for what it knows


def test_messages_are_answered_without_restate_and_after_it_lost_its_data(
    tmp_path: Path,
) -> None:
    with answering(tmp_path, 0.06) as (cluster, restate):
        restate.kill()
        restate.forget()
        with cluster.servers[0].api() as api:
            for name in ("away", "back"):
                api.session(name)
                api.say(name, "Tell me.")
                assert api.until(name)["ended"] == "finished"
                if name == "away":
                    restate.start()
