"""Two servers of different machines on one store: one is killed, or told to end, and the other finishes the work."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable
from pathlib import Path
from threading import Timer

import pytest

from tests.machines import PIECE_S, STORY, hurry
from tests.server.served import Api, Process, patiently, process, script
from tests.sweeps.test_workers import SESSIONS, check
from ullage.events import Event
from ullage.store.sqlite.store import SqliteStore
from ullage_simulators import running

LEASE_S = "5"


def ledgers(path: Path) -> dict[str, list[Event]]:
    """Every session's events, as they are on the disk."""

    async def read() -> dict[str, list[Event]]:
        store = SqliteStore(path)
        try:
            return {name: await store.read(name) for name in SESSIONS}
        finally:
            await store.close()

    return asyncio.run(read())


def until_all_stream(api: Api) -> None:
    for name in SESSIONS:
        api.until_event(name, "draft")


def until_all_rest(api: Api) -> None:
    """Waits without a command: only looks."""
    for _ in patiently():
        if {api.state(name)["state"] for name in SESSIONS} == {"idle"}:
            return
    raise AssertionError("The other server did not finish the work.")


def check_cut(path: Path, cut: Iterable[str]) -> None:
    """The calls of these sessions were cut and made again, once; all the rest is as ``check`` has it."""
    assert check(ledgers(path)) == {name: int(name in cut) for name in SESSIONS}


def begin(api: Api) -> None:
    for name in SESSIONS:
        api.session(name)
    for name in SESSIONS:
        api.say(name, "Tell me.", id=f"m-{name}")
    until_all_stream(api)


@pytest.mark.parametrize("machine", ["a", "b"], ids=["same", "other"])
def test_what_a_killed_server_drove_is_finished_by_another_one_without_a_request(
    machine: str, tmp_path: Path
) -> None:
    store = tmp_path / "s.db"
    with running(script(STORY, delay_s=PIECE_S)) as simulator:
        provider = simulator.url("anthropic")
        first = process(provider, store, ULLAGE_MACHINE="a", ULLAGE_LEASE_TTL_S=LEASE_S)
        other = process(
            provider, store, ULLAGE_MACHINE=machine, ULLAGE_LEASE_TTL_S=LEASE_S
        )
        with first as killed, other as survivor:
            with killed.api() as api:
                begin(api)
            killed.kill()
            hurry(simulator)
            with survivor.api() as api:
                until_all_rest(api)
    check_cut(store, cut=SESSIONS)


def test_a_server_that_hung_until_another_one_had_finished_writes_nothing_more(
    tmp_path: Path,
) -> None:
    store = tmp_path / "s.db"
    with running(script(STORY, delay_s=PIECE_S)) as simulator:
        provider = simulator.url("anthropic")
        first = process(provider, store, ULLAGE_MACHINE="a", ULLAGE_LEASE_TTL_S=LEASE_S)
        other = process(provider, store, ULLAGE_MACHINE="b", ULLAGE_LEASE_TTL_S=LEASE_S)
        with first as hung, other as survivor:
            with hung.api() as api:
                begin(api)
            with hung.stopped(), survivor.api() as api:
                hurry(simulator)
                until_all_rest(api)
            with hung.api() as api:
                until_all_rest(api)
    check_cut(store, cut=SESSIONS)


def test_looking_at_the_sessions_of_another_server_leaves_them_to_it(
    tmp_path: Path,
) -> None:
    store = tmp_path / "s.db"
    with running(script(STORY, delay_s=PIECE_S)) as simulator:
        provider = simulator.url("anthropic")
        first = process(provider, store, ULLAGE_MACHINE="a")
        other = process(provider, store, ULLAGE_MACHINE="b")
        with (
            first as driving,
            other as looking,
            driving.api() as api,
            looking.api() as looker,
        ):
            begin(api)
            drivers = {name: api.state(name)["held_by"] for name in SESSIONS}
            for name in SESSIONS:
                looker.get(f"/v1/sessions/{name}/context").raise_for_status()
                looker.get(f"/v1/sessions/{name}/messages").raise_for_status()
                looker.until_event(name, "turn_started")
            hurry(simulator)
            for name in SESSIONS:
                seen = looker.until_event(name, "turn_started").data["seq"]
                looker.until_event(name, "turn_ended", after=seen)
            assert len(set(drivers.values())) == 1 and "" not in drivers.values()
            metrics = looker.get("/metrics").text
            assert 'ullage_store_write_seconds_count{what="append"}' not in metrics
    check_cut(store, cut=())


def test_a_server_that_is_told_to_end_lets_answers_end_and_another_has_the_rest(
    tmp_path: Path,
) -> None:
    store = tmp_path / "s.db"
    with running(script(STORY, delay_s=PIECE_S)) as simulator:
        provider = simulator.url("anthropic")
        first = process(provider, store, ULLAGE_MACHINE="a")
        other = process(provider, store, ULLAGE_MACHINE="b")
        with first as leaving, other as staying:
            with leaving.api() as api:
                begin(api)
            Timer(0.5, hurry, [simulator]).start()
            ended(leaving, signal.SIGTERM)
            with staying.api() as api:
                until_all_rest(api)
    check_cut(store, cut=())


def ended(server: Process, how: signal.Signals) -> None:
    code, said, errors = server.end(how)
    assert (code, "Traceback" in errors) == (0, False), errors
    assert "Stopped." in said
