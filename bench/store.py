"""What storing costs: appends, drafts, reading, opening, and how long the event loop stands still meanwhile.

    uv run python -m bench.store
    uv run python -m bench.store --postgres   # appends in PostgreSQL beside SQLite

Wall time but where it says CPU, since a store waits for the disk; on the disk of the temporary directory (``TMPDIR``
chooses another). The raw commit beside the appends is SQLite alone, with one row of the same size a transaction, in
the same run.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.invented import Writer as Author
from bench.results import Section, Table, ratio
from ullage.encoding import encode
from ullage.events import CallEnded, CallStarted, DraftPiece, Event, MessageAdded
from ullage.messages import Message, TextPart
from ullage.store.leases import new_owner
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Checkpoint, Lease

SINGLE, MANY, DURABLE = 2_000, 20_000, 300
AT_ONCE = 1_000
LEDGER = 100_000
STREAMS, PIECES = 100, 50
PIECE_EVERY_S = 0.1
TICK_S = 0.001


class Spent(NamedTuple):
    """Seconds for one of many."""

    wall: float
    cpu: float


def events(count: int, seed: int = 1) -> list[Event]:
    """Messages of about 600 characters."""
    author = Author(seed)
    return [
        MessageAdded(
            message=Message(
                id=f"m{number}",
                role="user",
                parts=(TextPart(id="p", text=author.prose(600)),),
            )
        )
        for number in range(count)
    ]


def section() -> Section:
    """All measurements."""
    with TemporaryDirectory() as place:
        return asyncio.run(_measured(Path(place)))


async def _measured(place: Path) -> Section:
    store = SqliteStore(place / "sessions.db")
    await store.create("appends")
    lease = await store.acquire("appends", new_owner(), ttl_s=3_600)
    written = events(SINGLE)
    after = 0
    single: list[float] = []
    began = time.process_time()
    for event in written:
        start = time.perf_counter()
        after = (await store.append(lease, [event], after=after))[-1].seq
        single.append(time.perf_counter() - start)
    single_cpu = (time.process_time() - began) / SINGLE
    durable: list[float] = []
    for event in written[:DURABLE]:
        start = time.perf_counter()
        after = (await store.append(lease, [event], after=after, durable=True))[-1].seq
        durable.append(time.perf_counter() - start)
    together = await _appended_together(store)
    raw = _raw_commits(place / "raw.db", [encode(event) for event in written])
    idle = await _idle_stall()
    stall, own, streamed, pieces = await _streams(store)
    opened, resumed, everything = await _opening(place)
    noticed = await _noticed(place)
    await store.close()
    levels = _levels()
    return Section(
        name="store",
        title="Storing",
        command="uv run python -m bench.store",
        about=__doc__.split("\n\n")[2] if __doc__ else "",
        ratios=Table(
            "Beside SQLite alone",
            ("one append of one event", "CPU", "SQLite, a row a transaction", "ratio"),
            (
                ("awaited one by one", _us(single_cpu), _us(raw), ratio(single_cpu, raw)),
                (
                    f"{AT_ONCE:,} waiting",
                    _us(together.cpu),
                    _us(raw),
                    ratio(together.cpu, raw),
                ),
            ),
        ),
        figures=(
            Table(
                "Wall time",
                ("what", "median", "slowest of 100"),
                (
                    (f"append, {AT_ONCE:,} waiting, for each", _us(together.wall), ""),
                    (
                        "append, survives the process",
                        _us(median(single)),
                        _us(_p99(single)),
                    ),
                    ("append, on the disk", _us(median(durable)), _us(_p99(durable))),
                    (
                        f"open the file of a ledger of {LEDGER:,} events: checkpoint of 2 MB and the last 100",
                        _ms(opened),
                        "",
                    ),
                    ("the same, open already", _ms(resumed), ""),
                    (f"read all {LEDGER:,}", _ms(everything), ""),
                    (
                        "an event of another process is noticed after",
                        _ms(median(noticed)),
                        _ms(_p99(noticed)),
                    ),
                ),
            ),
            Table(
                f"{STREAMS} sessions streaming, each followed, a piece every {PIECE_EVERY_S * 1000:.0f} ms",
                (
                    "loop",
                    "pieces a second",
                    "stood still, longest",
                    "its own CPU, longest",
                    "a piece had after",
                    "slowest of 100",
                ),
                (
                    (
                        "streaming",
                        f"{pieces:,.0f}",
                        _ms(stall),
                        _ms(own),
                        _ms(median(streamed)),
                        _ms(_p99(streamed)),
                    ),
                    ("idle, on the same machine", "", _ms(idle), "", "", ""),
                ),
            ),
            Table("zlib on 3 KB of source code", ("level", "size left", "time"), levels),
        ),
    )


async def _appended_together(store: SqliteStore) -> Spent:
    """Seconds for one of many appends of an event that wait at the same time, in many sessions."""
    leases: list[Lease] = []
    for number in range(20):
        await store.create(f"together-{number}")
        leases.append(await store.acquire(f"together-{number}", new_owner(), ttl_s=3_600))
    made = events(MANY, 2)
    after = dict.fromkeys(range(20), 0)
    wall = cpu = 0.0
    for first in range(0, MANY, AT_ONCE):
        waiting = []
        for number, event in enumerate(made[first : first + AT_ONCE]):
            waiting.append(
                store.append(leases[number % 20], [event], after=after[number % 20])
            )
            after[number % 20] += 1
        start, began = time.perf_counter(), time.process_time()
        await asyncio.gather(*waiting)
        wall += time.perf_counter() - start
        cpu += time.process_time() - began
    return Spent(wall / MANY, cpu / MANY)


def _raw_commits(path: Path, rows: Sequence[bytes]) -> float:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB)")
    times = []
    for row in rows:
        start = time.process_time()
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO rows (body) VALUES (?)", (row,))
        database.execute("COMMIT")
        times.append(time.process_time() - start)
    database.close()
    return sum(times) / len(times)


async def _idle_stall() -> float:
    """The longest that a loop with nothing to do stands still: what the machine's other work costs."""
    stall, end = 0.0, time.perf_counter() + PIECES * PIECE_EVERY_S
    while (start := time.perf_counter()) < end:
        await asyncio.sleep(TICK_S)
        stall = max(stall, time.perf_counter() - start - TICK_S)
    return stall


async def _streams(store: SqliteStore) -> tuple[float, float, list[float], float]:
    """The loop's longest stall and own CPU in one, seconds from a piece to its follower, and pieces a second."""
    delays: list[float] = []
    stall = own = 0.0

    async def tick() -> None:
        nonlocal stall, own
        while True:
            start, began = time.perf_counter(), time.thread_time()
            await asyncio.sleep(TICK_S)
            stall = max(stall, time.perf_counter() - start - TICK_S)
            own = max(own, time.thread_time() - began)

    async def follow(session: str) -> None:
        async for each in store.follow(session):
            if isinstance(each, DraftPiece):
                delays.append(time.perf_counter() - float(each.part))
            elif isinstance(each, CallEnded):
                return

    async def drive(number: int) -> None:
        session = f"stream-{number}"
        await store.create(session, [CallStarted(call="c")])
        lease = await store.acquire(session, new_owner(), ttl_s=3_600)
        following = asyncio.create_task(follow(session))
        await asyncio.sleep(PIECE_EVERY_S * number / STREAMS)
        for offset in range(PIECES):
            await store.draft(
                lease,
                [
                    DraftPiece(
                        "c", offset, "text", repr(time.perf_counter()), "word " * 30
                    )
                ],
            )
            await asyncio.sleep(PIECE_EVERY_S)
        await store.append(lease, [CallEnded(call="c")], after=1, ends_draft="c")
        await following

    ticking = asyncio.create_task(tick())
    start = time.perf_counter()
    await asyncio.gather(*(drive(number) for number in range(STREAMS)))
    spent = time.perf_counter() - start
    ticking.cancel()
    return stall, own, delays, STREAMS * PIECES / spent


async def _opening(place: Path) -> tuple[float, float, float]:
    path = place / "long.db"
    store = SqliteStore(path)
    made = events(1_000, 3)
    await store.create("long")
    lease = await store.acquire("long", new_owner(), ttl_s=3_600)
    for first in range(0, LEDGER, len(made)):
        await store.append(lease, made, after=first)
    state = b"".join(encode(event) for event in made * 3)[: 2 * 1024 * 1024]
    await store.save_checkpoint(lease, Checkpoint(LEDGER - 100, "bench", state))
    resumed = await _timed(lambda: _resume(store))
    everything = await _timed(lambda: store.read("long"))
    await store.close()

    async def anew() -> None:
        again = SqliteStore(path)
        await _resume(again)
        await again.close()

    return await _timed(anew), resumed, everything


async def _resume(store: SqliteStore) -> None:
    found = await store.checkpoint("long", "bench")
    assert found is not None
    assert len(await store.read("long", after=found.seq)) == 100


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        await work()
        times.append(time.perf_counter() - start)
    return median(times)


_WRITES = """
import asyncio, pathlib, sys, time
from ullage.events import TurnStarted
from ullage.store.sqlite.store import SqliteStore
async def main():
    store = SqliteStore(pathlib.Path(sys.argv[1]))
    for number in range(100):
        await store.command("noticed", [TurnStarted(turn="t", at=time.time())])
        await asyncio.sleep(0.013)
    await store.close()
asyncio.run(main())
"""


async def _noticed(place: Path) -> list[float]:
    """Seconds from an event's making in one process until it is had in another."""
    path = place / "noticed.db"
    store = SqliteStore(path)
    await store.create("noticed")
    process = subprocess.Popen([sys.executable, "-c", _WRITES, str(path)])
    delays = []
    async for event in store.follow("noticed"):
        assert not isinstance(event, DraftPiece)
        delays.append(time.time() - event.at)
        if event.seq == 100:
            break
    process.wait()
    await store.close()
    return delays


def _levels() -> tuple[tuple[str, ...], ...]:
    root = Path(__file__).parents[1] / "src"
    code = b"".join(path.read_bytes() for path in sorted(root.rglob("*.py")))
    pieces = [
        code[start : start + 3_000] for start in range(0, min(len(code), 900_000), 3_000)
    ]
    rows = []
    for level in (1, 6):
        start = time.perf_counter()
        left = sum(len(zlib.compress(piece, level)) for piece in pieces)
        spent = (time.perf_counter() - start) / len(pieces)
        rows.append((str(level), f"{left / sum(map(len, pieces)):.0%}", _us(spent)))
    return tuple(rows)


def _p99(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} us"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"


if __name__ == "__main__":
    if "--postgres" in sys.argv[1:]:
        from bench.store_postgres import table

        print(table(events(SINGLE)).markdown())
    else:
        print(section().text())
