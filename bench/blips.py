"""How often a process that lives loses its sessions to others because it lost its connections to PostgreSQL.

    uv run python -m bench.blips [--blips 20] [--restarts 3]

Four workers drive sessions that stream, each with the name of a machine of its own, and nothing but PostgreSQL beside
them. A blip ends one connection of a worker, or all on which it shows that it lives (``pg_terminate_backend``); a
restart ends all connections, in good order (``fast``) or as a crash does (``immediate``). Printed is how many sessions
another driver took, and how many calls were cut, which are made and paid again.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.machines import STORY, Machines, worker
from tests.postgres import PostgresServer, new_server
from tests.promises.stage import of_kind
from tests.server.served import process, script
from tests.sweeps.test_workers import SESSIONS
from ullage.events import CallStarted
from ullage.store.store import SessionRow
from ullage_cluster.postgres.store import PostgresStore
from ullage_simulators import running

LEASE = ("--dispatch", "lease")
WORKERS = 4

LONG = {"text": STORY["text"] * 10}
"""An answer that takes longer than the bench."""

PAUSE_S = 1.5
"""Between two blips."""

RESTART_PAUSE_S = 8.0
"""After a restart: more than the processes wait before they say of others that they have ended."""

LIVING = """
SELECT string_agg(DISTINCT pid::text, ',') FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND objsubid = 1 AND application_name = 'ullage'
GROUP BY classid, objid ORDER BY classid, objid
"""
"""The connections that hold its lock, of each process."""


def owners(cluster: Machines) -> Mapping[str, SessionRow]:
    return cluster.rows(SESSIONS)


def calls(cluster: Machines) -> int:
    """How many calls the ledgers have."""
    ledgers = cluster.ledgers(SESSIONS)
    return sum(len(of_kind(events, CallStarted)) for events in ledgers.values())


def blip(postgres: PostgresServer, number: int, *, ends_all: bool) -> None:
    """End one such connection of a process or all of them, each time of another process."""
    processes = postgres.sql(LIVING).split()
    of_one = processes[number % len(processes)].split(",")
    ended = of_one if ends_all else [of_one[number // len(processes) % len(of_one)]]
    postgres.sql(
        f"SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[{','.join(ended)}]) pid"
    )


def restart(postgres: PostgresServer, mode: str, _number: int) -> None:
    postgres.stop(mode)
    postgres.start()


def count(
    cluster: Machines, name: str, times: int, harm: Callable[[int], None], pause_s: float
) -> None:
    """Print what became of the sessions while this was done so many times."""
    taken = again = 0
    calls_before = calls(cluster)
    for number in range(times):
        before = owners(cluster)
        harm(number)
        time.sleep(pause_s)
        after = owners(cluster)
        if not all(row.held_by for row in after.values()):
            raise SystemExit("A session has no driver: its answer has ended.")
        changed = [
            each for each in SESSIONS if before[each].held_by != after[each].held_by
        ]
        taken += len(changed)
        again += sum(
            before[each].drivers != after[each].drivers
            for each in SESSIONS
            if each not in changed
        )
    print(
        f"{times} × {name}, {len(SESSIONS)} sessions: {taken} taken by another process, {again} begun again by the "
        f"same one, {calls(cluster) - calls_before} calls made again",
        flush=True,
    )


def new_place(stack: ExitStack) -> tuple[PostgresServer, str]:
    """A server of its own, and the URL of a database with the tables of the store."""
    postgres = new_server()
    stack.callback(postgres.remove)
    place = postgres.url(postgres.new_database())
    asyncio.run(_make_tables(place))
    return postgres, place


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blips", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=3)
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        simulator = running(script(LONG, delay_s=1.5))
        provider = stack.enter_context(simulator).url("anthropic")
        postgres, place = new_place(stack)
        server = stack.enter_context(
            process(
                provider,
                folder / "unused",
                "--no-drive",
                *LEASE,
                database=place,
                ULLAGE_MACHINE="server",
                ANTHROPIC_API_KEY="",
            )
        )
        workers = [
            stack.enter_context(
                worker(provider, place, folder, *LEASE, ULLAGE_MACHINE=f"worker{number}")
            )
            for number in range(WORKERS)
        ]
        cluster = Machines(place, [server], workers)
        with server.api() as api:
            for name in SESSIONS:
                api.session(name)
                api.say(name, "Tell me.", id=f"m-{name}")
        cluster.until_called(SESSIONS)
        time.sleep(RESTART_PAUSE_S)
        for ends_all in (False, True):
            count(
                cluster,
                f"{'all connections' if ends_all else 'a connection'} of a process ended",
                args.blips,
                partial(blip, postgres, ends_all=ends_all),
                PAUSE_S,
            )
        for mode in ("fast", "immediate"):
            count(
                cluster,
                f"PostgreSQL restarted ({mode})",
                args.restarts,
                partial(restart, postgres, mode),
                RESTART_PAUSE_S,
            )
        for each in workers:
            each.kill()  # else they wait for the end of the answers


async def _make_tables(place: str) -> None:
    store = PostgresStore(place)
    await store.open()
    await store.close()


if __name__ == "__main__":
    main()
