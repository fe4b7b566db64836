"""How long the sessions of a killed worker have no driver: `ullage admin worker`, ended by `kill -9`.

    uv run python -m bench.takeover [--kills 10] [--dispatch restate|lease]

Without `--dispatch` both are measured, one after the other: PostgreSQL alone, and with Restate.

Two servers that drive nothing, three workers, PostgreSQL and the Restate server, each a process of its own. The
sessions stream all the time. A kill is of the worker with the most sessions; the time is until the store names another
driver for each of them. Each process has the name of a machine of its own, so none can look whether another one exists.
At the end every session has come to rest, with its message once.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

from tests.machines import STORY, Machines, machines, worker
from tests.restate import new_restate, under
from tests.server.served import script
from tests.sweeps.test_workers import SESSIONS, check
from ullage_cluster.cli.local_restate import free_ports
from ullage_cluster.postgres.store import PostgresStore
from ullage_simulators import running

GIVEN_UP_S = 60.0
LOOK_S = 0.02
"""Between two looks at who drives, each of which costs the database as much as a sweep."""
WORKERS = 3
"""So that one of those that are left has driven before: the first drive of a process loads half of its code."""

BETWEEN_S = 1.5
"""Seconds that the new drivers stream before the next kill."""


async def drivers(store: PostgresStore) -> dict[str, str]:
    """The driver of each session."""
    return {row.id: row.held_by for row in await store.sessions(limit=100)}


async def taken_over(store: PostgresStore, of_killed: dict[str, str]) -> list[float]:
    """Seconds until each of these sessions has another driver."""
    began = time.monotonic()
    took: dict[str, float] = {}
    while len(took) < len(of_killed):
        now = await drivers(store)
        for session, before in of_killed.items():
            if session not in took and now[session] not in ("", before):
                took[session] = time.monotonic() - began
        if time.monotonic() - began > GIVEN_UP_S:
            raise SystemExit(f"Not taken over: {set(of_killed) - set(took)}")
        await asyncio.sleep(LOOK_S)
    return list(took.values())


async def kills(
    cluster: Machines,
    stack: ExitStack,
    options: tuple[str, ...],
    times: int,
    provider: str,
    folder: Path,
) -> list[float]:
    store = PostgresStore(cluster.place)
    all_times: list[float] = []
    names = {f"worker{number}": process for number, process in enumerate(cluster.workers)}
    try:
        for number in range(times):
            await asyncio.sleep(BETWEEN_S)
            held = {
                session: driver
                for session, driver in (await drivers(store)).items()
                if driver
            }
            machine, _ = Counter(
                driver.split("-")[0] for driver in held.values()
            ).most_common(1)[0]
            of_killed = {
                session: driver
                for session, driver in held.items()
                if driver.split("-")[0] == machine
            }
            names.pop(machine).kill()
            took = await taken_over(store, of_killed)
            all_times += took
            print(
                f"kill {number + 1}: {len(of_killed)} sessions of {machine}, {min(took):.2f} to {max(took):.2f} s",
                flush=True,
            )
            name = f"worker{number + WORKERS}"
            names[name] = stack.enter_context(
                worker(provider, cluster.place, folder, *options, ULLAGE_MACHINE=name)
            )
    finally:
        await store.close()
    return all_times


def measure(dispatch: str, times: int) -> None:
    """Print how long takeovers took under this dispatch."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server: tuple[str, ...] = ("--dispatch", dispatch)
        options = server
        (port,) = free_ports(1)
        if dispatch == "restate":
            restate = new_restate()
            stack.callback(restate.kill)
            server = (*server, "--restate", restate.ingress)
            options = under(restate, f"127.0.0.1:{port}")
        provider = stack.enter_context(running(script(STORY, delay_s=0.5))).url(
            "anthropic"
        )
        cluster = stack.enter_context(
            machines(
                provider,
                folder,
                server=server,
                workers=(options,) * WORKERS,
                lease_s="10",
            )
        )
        with cluster.servers[0].api() as api:
            for name in SESSIONS:
                api.session(name)
                api.say(name, "Tell me.", id=f"m-{name}")
        cluster.until_called(SESSIONS)
        took = sorted(
            asyncio.run(kills(cluster, stack, options, times, provider, folder))
        )
        twentieths = quantiles(took, n=20, method="inclusive")
        print(
            f"{dispatch}: {times} kills, {len(took)} sessions: median {median(took):.2f} s, "
            f"p90 {twentieths[17]:.2f} s, p95 {twentieths[18]:.2f} s, longest {took[-1]:.2f} s",
            flush=True,
        )
        cluster.until_rest(SESSIONS)
        check(cluster.ledgers(SESSIONS))
        print("All came to rest, each message once.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--dispatch", choices=("restate", "lease"))
    args = parser.parse_args()
    for dispatch in [args.dispatch] if args.dispatch else ["lease", "restate"]:
        measure(dispatch, args.kills)


if __name__ == "__main__":
    main()
