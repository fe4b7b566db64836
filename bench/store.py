"""What an append costs: in SQLite, or in PostgreSQL beside it.

    uv run python -m bench.store
    uv run python -m bench.store --postgres

Wall time but where it says CPU, since a store waits for the disk; on the disk of the temporary directory (``TMPDIR``
chooses another).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.invented import Writer as Author
from bench.results import Table, show, us
from ullage.events import Event, MessageAdded
from ullage.messages import Message, TextPart
from ullage.store.leases import new_owner
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Lease

SINGLE, MANY, DURABLE = 2_000, 20_000, 300
SESSIONS, AT_ONCE = 20, 1_000


class Spent(NamedTuple):
    """Seconds for one of many."""

    wall: float
    cpu: float


def events(count: int, seed: int = 1) -> list[Event]:
    """Messages of about 600 characters."""
    author = Author(seed)
    made: list[Event] = []
    for number in range(count):
        part = TextPart(id="p", text=author.prose(600))
        message = Message(id=f"m{number}", role="user", parts=(part,))
        made.append(MessageAdded(message=message))
    return made


async def one_by_one(
    store: SqliteStore, name: str, made: Sequence[Event], *, durable: bool
) -> list[float]:
    """Seconds of each append that is awaited."""
    await store.create(name)
    lease = await store.acquire(name, new_owner(), ttl_s=3_600)
    times: list[float] = []
    for after, event in enumerate(made):
        start = time.perf_counter()
        await store.append(lease, [event], after=after, durable=durable)
        times.append(time.perf_counter() - start)
    return times


async def together(store: SqliteStore, count: int = MANY) -> Spent:
    """Of one of many appends that wait at the same time, in many sessions; CPU with that of the writing thread."""
    leases: list[Lease] = []
    for number in range(SESSIONS):
        await store.create(f"together-{number}")
        leases.append(await store.acquire(f"together-{number}", new_owner(), ttl_s=3_600))
    made, after = events(count, 2), [0] * SESSIONS
    start, began = time.perf_counter(), time.process_time()
    for first in range(0, count, AT_ONCE):
        waiting = []
        for number, event in enumerate(made[first : first + AT_ONCE]):
            place = number % SESSIONS
            waiting.append(store.append(leases[place], [event], after=after[place]))
            after[place] += 1
        await asyncio.gather(*waiting)
    wall, cpu = time.perf_counter() - start, time.process_time() - began
    return Spent(wall / count, cpu / count)


async def measured(place: Path) -> Table:
    store = SqliteStore(place / "sessions.db")
    made = events(SINGLE)
    began = time.process_time()
    single = await one_by_one(store, "single", made, durable=False)
    cpu = (time.process_time() - began) / SINGLE
    durable = await one_by_one(store, "durable", made[:DURABLE], durable=True)
    waiting = await together(store)
    await store.close()
    rows = (
        ("survives the process", us(median(single)), us(_p99(single)), us(cpu)),
        ("on the disk", us(median(durable)), us(_p99(durable)), ""),
        (f"{AT_ONCE:,} waiting, for each", us(waiting.wall), "", us(waiting.cpu)),
    )
    return Table("An append", ("append", "median", "slowest of 100", "CPU"), rows)


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def main() -> None:
    if "--postgres" in sys.argv[1:]:
        from bench.store_postgres import table

        show(table(events(SINGLE)))
        return
    with TemporaryDirectory() as place:
        show(asyncio.run(measured(Path(place))))


if __name__ == "__main__":
    main()
