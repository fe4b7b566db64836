"""A thousand sessions that stream at once over four servers and one PostgreSQL, with ten thousand more in the store.

    uv run python -m bench.many                             # leases: the servers drive
    uv run python -m bench.many --dispatch restate          # two workers drive, Restate calls them
    uv run python -m bench.many --every 2                   # slower pieces

Every session is sent its message at one server, and followed and cancelled at another one. All answers begin within
``--spread`` seconds and have 100 pieces each, one every ``--every`` seconds, so all of them stream at once for a while.
*Send* is from the request until the message is acknowledged, *first piece* from the request until the client of the
other server has it, *piece* from the provider to that client. *Cancel* is of 40 more sessions, one each half second,
meanwhile. PostgreSQL (with fsync), Restate, the provider and all clients are processes of the same machine. CPU is of
``/proc``, for all that the processes do in that time, looks for lost news among it; the cancelled turns are in it too.
``bench.capacity`` takes that of a turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2

from bench.live import (
    PIECES,
    Delays,
    begin,
    cancels,
    frames,
    live_server,
    percentile,
    say,
)
from bench.process import local_server
from bench.results import Table, machine
from bench.store_postgres import cpu_of, cpu_of_all, cpu_s, store_place
from tests.machines import ServerProcess, WorkerProcess
from tests.postgres import PostgresServer
from tests.restate import new_restate, under
from tests.store.sessions import said, step
from ullage.events import MessageAdded
from ullage.store.places import store_at
from ullage_cluster.cli.local_restate import LOOPBACK, LocalRestate, free_ports

SERVERS: Final = 4
WORKERS: Final = 2
FILLED_AT_ONCE: Final = 200
CANCEL_EVERY_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Deployment:
    """What was started, and what it has used."""

    place: str
    postgres: PostgresServer
    servers: list[ServerProcess]
    workers: list[WorkerProcess]
    restate: LocalRestate | None

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU so far, of all processes of a kind."""
        engine = self.restate.process if self.restate else None
        return {
            "servers": cpu_of_all(*self.servers),
            "workers": cpu_of_all(*self.workers),
            "PostgreSQL": cpu_of(self.postgres),
            "Restate": cpu_s(engine.pid) if engine else 0.0,
        }


@dataclass(slots=True)
class Latencies:
    """Seconds of each operation."""

    send: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    pieces: Delays = field(default_factory=Delays)
    cancel: list[float] = field(default_factory=list)


def deploy(stack: ExitStack, dispatch: str, provider: str, folder: Path) -> Deployment:
    """Four servers, and with Restate two workers, until the stack ends."""
    place, postgres = stack.enter_context(store_place(folder, is_sqlite=False))
    assert postgres is not None
    options = ["--dispatch", dispatch]
    restate = None
    if dispatch == "restate":
        restate = new_restate()
        stack.callback(restate.kill)
        options += ["--restate", restate.ingress]
    servers = [
        live_server(stack, f"server{number}", provider, place, folder, *options)
        for number in range(SERVERS)
    ]
    workers: list[WorkerProcess] = []
    if restate is not None:
        (port,) = free_ports(1)
        listen = f"{LOOPBACK}:{port}"
        for number in range(WORKERS):
            worker = WorkerProcess(
                provider,
                place,
                folder,
                *under(restate, listen),
                ULLAGE_MACHINE=f"worker{number}",
            )
            stack.callback(worker.end)
            workers.append(worker)
    return Deployment(place, postgres, servers, workers, restate)


async def fill(place: str, sessions: int) -> None:
    """Store sessions at rest, each with a message and a step of a tool loop."""
    chance = random.Random(16)
    events = [MessageAdded(message=said("m")), *step(chance, 0)]
    store = store_at(place)
    try:
        for first in range(0, sessions, FILLED_AT_ONCE):
            names = range(first, min(first + FILLED_AT_ONCE, sessions))
            await asyncio.gather(*(store.create(f"old-{name}", events) for name in names))
    finally:
        await store.close()


async def follow(url: str, session: str, sent_at: list[float], found: Latencies) -> None:
    """Take down when each piece of a session's turn comes."""
    has_first = False
    async for name, at, data in frames(url, session):
        if name == "turn_ended":
            return
        if name != "draft":
            continue
        if not has_first:
            has_first = True
            found.first.append(at - sent_at[0])
        piece = json.loads(data)
        if piece["kind"] == "text":
            found.pieces.note(piece["text"], at, session)


async def one_stream(
    client: httpx2.AsyncClient, looking: str, session: str, found: Latencies
) -> None:
    """Send a session its message, and follow its answer at another server."""
    sent_at = [0.0]
    following = asyncio.create_task(follow(looking, session, sent_at, found))
    await asyncio.sleep(1.0)  # until it follows
    sent_at[0] = time.monotonic()
    await say(client, session)
    found.send.append(time.monotonic() - sent_at[0])
    await following


async def stream_all(
    deployment: Deployment, streams: int, spread_s: float
) -> tuple[Latencies, dict[str, float]]:
    """All sessions stream at once, and some more are cancelled; gives also the CPU that it took."""
    urls = [server.url for server in deployment.servers]
    found = Latencies()
    async with AsyncClients(urls) as clients:
        names = [f"s{number}" for number in range(streams)]
        await asyncio.gather(
            *(begin(client, names[at::SERVERS]) for at, client in enumerate(clients))
        )
        before = deployment.cpu()
        tasks = []
        for number, name in enumerate(names):
            sending, looking = number % SERVERS, (number + 1) % SERVERS
            stream = one_stream(clients[sending], urls[looking], name, found)
            tasks.append(asyncio.create_task(stream))
            await asyncio.sleep(spread_s / streams)
        print(f"All {streams} are sent their message", flush=True)
        sending_server, other = deployment.servers[:2]
        found.cancel = await cancels(
            sending_server, other, "cancelled", every_s=CANCEL_EVERY_S
        )
        await asyncio.gather(*tasks)
        after = deployment.cpu()
    return found, {kind: after[kind] - used for kind, used in before.items()}


class AsyncClients(list[httpx2.AsyncClient]):
    """A client for each server, closed at the end of the block."""

    def __init__(self, urls: list[str]) -> None:
        super().__init__(httpx2.AsyncClient(base_url=url, timeout=300) for url in urls)

    async def __aenter__(self) -> AsyncClients:
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in self:
            await client.aclose()


def latency_table(found: Latencies) -> Table:
    named = (
        ("send", found.send),
        ("first piece, at another server", found.first),
        ("piece, at another server", found.pieces.seconds),
        ("cancel, through another server", found.cancel),
    )
    rows = []
    for name, seconds in named:
        ordered = sorted(seconds)
        shares = [f"{percentile(ordered, each) * 1e3:,.0f}" for each in (0.5, 0.95, 0.99)]
        rows.append((name, *shares, f"{len(ordered):,}"))
    columns = ("milliseconds", "median", "95 of 100", "99 of 100", "n")
    return Table("Latencies", columns, tuple(rows))


def cpu_table(cpu: dict[str, float], turns: int) -> Table:
    """CPU of each kind of process for a turn."""
    rows = [
        (kind, f"{used / turns * 1e3:,.1f}", f"{used:,.0f}") for kind, used in cpu.items()
    ]
    return Table(
        f"CPU of a turn of {PIECES} pieces", ("", "ms a turn", "s in all"), tuple(rows)
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dispatch", choices=("lease", "restate"), default="lease")
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--every", type=float, default=0.6)
    parser.add_argument("--spread", type=float, default=20.0)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = stack.enter_context(
            local_server("-m", "bench.live_provider", str(PIECES), str(arguments.every))
        )
        deployment = deploy(stack, arguments.dispatch, provider, folder)
        asyncio.run(fill(deployment.place, arguments.sessions))
        print(f"{arguments.sessions:,} sessions are stored, streams begin", flush=True)
        began = time.monotonic()
        found, cpu = asyncio.run(
            stream_all(deployment, arguments.streams, arguments.spread)
        )
        took_s = time.monotonic() - began
    print(latency_table(found).text())
    print(cpu_table(cpu, arguments.streams).text())
    print(machine())
    print(
        f"{arguments.dispatch}: {arguments.streams} streams, a piece each {arguments.every} s; "
        f"came {len(found.pieces):,} of {PIECES * arguments.streams:,} in {took_s:.0f} s"
    )


if __name__ == "__main__":
    main()
