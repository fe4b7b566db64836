"""What a list of sessions costs, with few and with a million of them in the store.

    uv run python -m bench.lists                  # SQLite and PostgreSQL, 100, 50,000 and 1,000,000 sessions
    uv run python -m bench.lists --sqlite --sessions 100 50000

Half of the sessions are of one tenant, the others of 999 more; one of 100 needs a person. Rows are copies of one
session of four events, made by SQL. CPU is of this process and, behind the plus, of all processes of PostgreSQL
(``bench/store_postgres.py``). The last row is of ``ullage serve`` in a process of its own, and CPU is that one's. The
database is in the temporary directory (``TMPDIR`` chooses another).
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import asyncpg
import httpx2

from bench.live import live_server
from bench.results import Table, ms, show
from bench.store_postgres import cpu_of, cpu_of_all, store_place
from tests.postgres import PostgresServer
from tests.store.sessions import said
from ullage.events import CallStarted, Event, SessionStarted, TurnEnded, TurnStarted
from ullage.store.places import store_at
from ullage.store.store import DEFAULT_TENANT, SessionCursor, SessionStore
from ullage.turns.standing import NEEDS_A_PERSON

SIZES = (100, 50_000, 1_000_000)
REPEATS = 200

SEED: tuple[Event, ...] = (
    SessionStarted(model="claude-opus-4-6", title="How full is the cask?"),
    TurnStarted(turn="t"),
    CallStarted(call="c"),
    TurnEnded(turn="t"),
)

NUMBERS = {
    True: "(WITH RECURSIVE n (n) AS (SELECT {0} UNION ALL SELECT n + 1 FROM n WHERE n < {1}) SELECT n FROM n)",
    False: "(SELECT generate_series({0}, {1}) AS n)",
}
"""The numbers from one to another, in SQLite and in PostgreSQL."""

ADD_SESSIONS = """
INSERT INTO sessions (id, title, model, created, changed, listed, origin, tenant, standing, state{seq})
SELECT 's' || n, title, model, created - n, changed - n, listed - n, origin,
    CASE WHEN n % 2 = 0 THEN 'default' ELSE 't' || (n % 999) END,
    CASE WHEN n % 100 = 0 THEN '{{"state":"failed","kind":"Unreachable"}}' ELSE standing END,
    CASE WHEN n % 100 = 0 THEN 'failed' ELSE state END{seq}
FROM sessions, {numbers} numbers WHERE id = 'seed'
"""

ADD_EVENTS = {
    True: (
        "INSERT INTO events (id, name, at, body) SELECT sessions.key << 32 | events.seq, events.name, at, body "
        "FROM sessions JOIN events ON events.session = (SELECT key FROM sessions WHERE id = 'seed') WHERE key > {0}"
    ),
    False: (
        "INSERT INTO events SELECT key, events.seq, name, at, body FROM sessions "
        "JOIN events ON session = (SELECT key FROM sessions WHERE id = 'seed') WHERE key > {0}"
    ),
}


async def fill(place: str, first: int, last: int, *, is_sqlite: bool) -> None:
    """Add sessions of these numbers."""
    numbers = NUMBERS[is_sqlite].format(first, last)
    sessions = ADD_SESSIONS.format(numbers=numbers, seq="" if is_sqlite else ", seq")
    newest = "SELECT max(key) FROM sessions"
    if is_sqlite:
        with closing(sqlite3.connect(place)) as database:
            (before,) = database.execute(newest).fetchone()
            database.execute(sessions)
            database.execute(ADD_EVENTS[True].format(before))
            database.commit()
        return
    connection = await asyncpg.connect(place)
    before = await connection.fetchval(newest)
    for statement in (
        sessions,
        ADD_EVENTS[False].format(before),
        "VACUUM ANALYZE",
        "CHECKPOINT",
    ):
        await connection.execute(statement, timeout=3_600)
    await connection.close()


Call = Callable[[], Awaitable[object]]


async def calls(store: SessionStore, many: int) -> dict[str, Call]:
    """What is measured, by name."""
    rows = await store.sessions(limit=1)
    far = SessionCursor(rows[0].listed - many / 2, 0)
    lease = await store.acquire("s2", "bench", ttl_s=3_600)
    after = (await store.about("s2")).seq
    sent = iter(range(10**9))

    async def append() -> None:
        nonlocal after
        written = await store.append(lease, [CallStarted(call="c")], after=after)
        after = written[-1].seq

    return {
        "100 of a tenant": lambda: store.sessions(tenant=DEFAULT_TENANT),
        "the next 100, half through": lambda: store.sessions(
            tenant=DEFAULT_TENANT, before=far
        ),
        "100 of a tenant of 1/1,998": lambda: store.sessions(tenant="t7"),
        "100 that need a person": lambda: store.sessions(
            tenant=DEFAULT_TENANT, states=NEEDS_A_PERSON
        ),
        "counts by state, of a tenant": lambda: store.standing_counts(DEFAULT_TENANT),
        "counts by state, of all": store.standing_counts,
        "100 of all tenants": store.sessions,
        "one session": lambda: store.about("s2"),
        "append": append,
        "send": lambda: store.send("s4", said(f"m{next(sent)}"), "steer"),
    }


async def measured(
    call: Call,
    server: PostgresServer | None,
    used: Callable[[], float] = time.process_time,
) -> tuple[str, str]:
    """Wall time, and CPU as ``used`` has it."""
    for _ in range(10):  # more than a plan takes to be kept
        await call()
    times = list[float]()
    client, backend = used(), cpu_of(server) if server else 0.0
    for _ in range(REPEATS):
        start = time.perf_counter()
        await call()
        times.append(time.perf_counter() - start)
    spent = ms((used() - client) / REPEATS)
    if server is not None:
        spent += f" + {ms((cpu_of(server) - backend) / REPEATS)}"
    return ms(median(times)), spent


def served(place: str, folder: Path, server: PostgresServer | None) -> tuple[str, str]:
    """What the first page of a list costs a server."""
    with ExitStack() as stack:
        serving = live_server(stack, "lists", "http://127.0.0.1:9", place, folder)
        client = stack.enter_context(httpx2.Client(base_url=serving.url))

        async def get() -> object:
            return client.get("/v1/sessions").raise_for_status()

        return asyncio.run(measured(get, server, lambda: cpu_of_all(serving)))


async def main() -> None:
    """Print a table for each kind of store."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--sessions", type=int, nargs="+", default=SIZES)
    asked = parser.parse_args()
    tables = []
    for is_sqlite in (True, False):
        if (asked.postgres and is_sqlite) or (asked.sqlite and not is_sqlite):
            continue
        found: dict[str, list[str]] = {}
        with (
            TemporaryDirectory() as folder,
            store_place(Path(folder), is_sqlite=is_sqlite) as (place, server),
        ):
            many = 0
            for size in asked.sessions:
                store = store_at(place)
                if not many:
                    await store.create("seed", SEED)
                await store.close()
                await fill(place, many + 1, size, is_sqlite=is_sqlite)
                many = size
                store = store_at(place)
                for name, call in (await calls(store, many)).items():
                    found.setdefault(name, []).extend(await measured(call, server))
                await store.close()
                costs = await asyncio.to_thread(served, place, Path(folder), server)
                found.setdefault("GET /v1/sessions", []).extend(costs)
        columns = [
            f"{size:,}: {what}" for size in asked.sessions for what in ("wall", "CPU")
        ]
        name = "SQLite" if is_sqlite else "PostgreSQL"
        rows = tuple((case, *costs) for case, costs in found.items())
        tables.append(Table(f"{name}, by sessions", ("", *columns), rows))
    show(*tables)


if __name__ == "__main__":
    asyncio.run(main())
