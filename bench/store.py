"""What an append costs: in SQLite, and in PostgreSQL beside it.

    uv run python -m bench.store
    uv run python -m bench.store --postgres

One event of about 600 characters each time, on the disk of the temporary directory (``TMPDIR`` chooses another).
PostgreSQL is on the same machine, reached by a socket, with fsync (``bench/store_postgres.py``). CPU is of the client's
process (``process_time``) and of all of PostgreSQL's processes; a write of SQLite has no other process.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.invented import Writer as Author
from bench.results import Table, show, us
from bench.store_postgres import cpu_of, store_place
from tests.postgres import PostgresServer
from ullage.events import Event, MessageAdded
from ullage.messages import Message, TextPart
from ullage.store.places import store_at
from ullage.store.store import SessionStore


class Appends(NamedTuple):
    """So many sessions append at once, each so many times."""

    name: str
    sessions: int
    each: int
    durable: bool = False


CASES = (
    Appends("survives the process", 1, 2_000),
    Appends("on the disk", 1, 300, durable=True),
    Appends("200 sessions at once", 200, 20),
    Appends("200 sessions at once, on the disk", 200, 20, durable=True),
)


def events(count: int, seed: int = 1) -> list[Event]:
    """Messages of about 600 characters."""
    author = Author(seed)
    made: list[Event] = []
    for number in range(count):
        part = TextPart(id="p", text=author.prose(600))
        message = Message(id=f"m{number}", role="user", parts=(part,))
        made.append(MessageAdded(message=message))
    return made


async def _timed(appending: Awaitable[object]) -> float:
    start = time.perf_counter()
    await appending
    return time.perf_counter() - start


async def measured(
    name: str, store: SessionStore, server: PostgresServer | None, made: Sequence[Event]
) -> AsyncIterator[tuple[str, ...]]:
    """A row for each case."""

    def used() -> tuple[float, float, float]:
        backend = cpu_of(server) if server else 0.0
        return time.perf_counter(), time.process_time(), backend

    for case in CASES:
        leases = []
        for number in range(case.sessions):
            session = f"{case.name} {number}"
            await store.create(session)
            leases.append(await store.acquire(session, "o", ttl_s=3_600))
        began, times = used(), list[float]()
        for after, event in enumerate(made[: case.each]):
            times += await asyncio.gather(
                *(
                    _timed(
                        store.append(lease, [event], after=after, durable=case.durable)
                    )
                    for lease in leases
                )
            )
        spent = [new - old for old, new in zip(began, used(), strict=True)]
        wall, client, backend = (each / len(times) for each in spent)
        slow = sorted(times)[int(len(times) * 0.99)]
        costs = us(median(times)), us(slow), us(client), us(backend)
        yield f"{name}, {case.name}", *costs, f"{1 / wall:,.0f}"


async def main() -> None:
    """Print a row for each store and case."""
    made = events(max(case.each for case in CASES))
    stores = {"SQLite": True}
    if "--postgres" in sys.argv[1:]:
        stores["PostgreSQL"] = False
    rows: list[tuple[str, ...]] = []
    for name, is_sqlite in stores.items():
        with (
            TemporaryDirectory() as folder,
            store_place(Path(folder), is_sqlite=is_sqlite) as (place, server),
        ):
            store = store_at(place)
            rows += [row async for row in measured(name, store, server, made)]
            await store.close()
    columns = ("an append", "median", "slowest of 100", "CPU", "CPU of the server")
    show(Table("Appends", (*columns, "a second"), tuple(rows)))


if __name__ == "__main__":
    asyncio.run(main())
