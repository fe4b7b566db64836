"""How often a process that lives loses its sessions to others because it lost its connections to PostgreSQL.

    uv run python -m bench.blips [--blips 20] [--restarts 3]

Four workers drive sessions that stream, each with the name of a machine of its own, and nothing but PostgreSQL beside
them. A blip ends the connection on which one worker listens and shows that it lives (``pg_terminate_backend``); a
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

PAUSE_S = 1.5
"""Between two blips."""

RESTART_PAUSE_S = 8.0
"""After a restart: more than the processes wait before they say of others that they have ended."""

LISTENING = """
SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
AND pid IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'ullage') ORDER BY pid
"""


def owners(cluster: Machines) -> Mapping[str, SessionRow]:
    return cluster.rows(SESSIONS)


def calls(cluster: Machines) -> int:
    """How many calls the ledgers have."""
    ledgers = cluster.ledgers(SESSIONS)
    return sum(len(of_kind(events, CallStarted)) for events in ledgers.values())


def blip(postgres: PostgresServer, number: int) -> None:
    """End the connection of one process that listens, each time of another one."""
    pids = postgres.sql(LISTENING).split()
    postgres.sql(f"SELECT pg_terminate_backend({pids[number % len(pids)]})")


def restart(postgres: PostgresServer, mode: str) -> None:
    postgres.stop(mode)
    postgres.start()


def count(
    cluster: Machines, name: str, times: int, harm: Callable[[int], None], pause_s: float
) -> None:
    """Print what became of the sessions while this was done so many times."""
    before, calls_before = owners(cluster), calls(cluster)
    for number in range(times):
        harm(number)
        time.sleep(pause_s)
    after, calls_after = owners(cluster), calls(cluster)
    taken = sum(after[each].drivers - before[each].drivers for each in SESSIONS)
    print(
        f"{times} × {name}: {taken} sessions were taken over, {calls_after - calls_before} calls were made again",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blips", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=3)
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        simulator = running(script(STORY, delay_s=1.5))
        provider = stack.enter_context(simulator).url("anthropic")
        postgres = new_server()
        stack.callback(postgres.remove)
        place = postgres.url(postgres.new_database())
        asyncio.run(_make_tables(place))
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
        count(
            cluster,
            "a listening connection ended",
            args.blips,
            lambda number: blip(postgres, number),
            PAUSE_S,
        )
        for mode in ("fast", "immediate"):
            count(
                cluster,
                f"PostgreSQL restarted ({mode})",
                args.restarts,
                lambda _, mode=mode: restart(postgres, mode),
                RESTART_PAUSE_S,
            )


async def _make_tables(place: str) -> None:
    store = PostgresStore(place)
    await store.open()
    await store.close()


if __name__ == "__main__":
    main()
