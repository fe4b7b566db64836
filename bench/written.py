"""What a step of a tool loop has written to the disk, beside what was said in it.

    uv run python -m bench.written                      # SQLite
    uv run python -m bench.written --steps 1000         # with the moves of SQLite's log into its file
    uv run python -m bench.written --postgres           # PostgreSQL's log

A step is one call of the model and one of a tool whose result has some 600 characters; the model's answers come in
pieces. *Said* are the texts, arguments and results of the messages, without any JSON around them.

For SQLite the bytes are those that the writer's thread handed to the system (``wchar`` of its ``io`` in ``/proc``): the
log, and the file when the log is moved into it. For PostgreSQL they are those of its log (``pg_current_wal_lsn``);
the pages of its tables are written once more by its checkpoints, every five minutes however many steps there were.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.process import local_server
from bench.results import Table, machine
from bench.store_postgres import store_place
from tests.postgres import PostgresServer
from tests.store.sessions import content_bytes
from ullage.events import Event
from ullage.store.places import store_at
from ullage.store.store import SessionStore
from ullage_agent.runtime.agent import Agent

STEPS = 60


class DatabaseState(NamedTuple):
    """What PostgreSQL has counted so far: bytes of tables and indexes, commits, and syncs of its log."""

    size: int
    commits: int
    syncs: int

    @classmethod
    def now(cls, server: PostgresServer) -> DatabaseState:
        """The counts. Connections hand theirs over a second after they were at work."""
        time.sleep(1.5)
        found = server.sql(
            "SELECT sum(pg_database_size(datname)), sum(xact_commit), "
            "(SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal') "
            "FROM pg_stat_database WHERE datname IS NOT NULL"
        )
        return cls(*map(int, found.split("|")))


class WrittenBytes(NamedTuple):
    """Bytes for each step: written, and said. ``events`` are how many of each kind a step has."""

    written: float
    said: float
    events: dict[str, float]
    database: tuple[float, ...] = ()
    """Of each count of ``DatabaseState``, what a step adds."""


class WrittenCounter:
    """The bytes that a store has written so far."""

    def __init__(self, server: PostgresServer | None) -> None:
        self._server = server

    def now(self) -> int:
        if self._server is not None:
            return int(self._server.sql("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))
        (writer,) = (
            each.native_id
            for each in threading.enumerate()
            if each.name == "ullage store"
        )
        lines = Path(f"/proc/self/task/{writer}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["wchar"])

    def database(self) -> DatabaseState | None:
        """The counts of PostgreSQL; ``None`` for SQLite."""
        return None if self._server is None else DatabaseState.now(self._server)


async def measured(
    store: SessionStore, url: str, counter: WrittenCounter, steps: int
) -> WrittenBytes:
    """A loop of so many steps, without the first ones: those make the tables and grow the file."""
    made = 0
    began = (0, 0)
    before: DatabaseState | None = None

    async def read_log(number: int) -> str:
        """Read one log."""
        nonlocal made, began, before
        made += 1
        if made == steps // 6:
            rows = await store.read("loop")
            before = counter.database()
            began = (counter.now(), rows[-1].seq)
        lines = " ".join(f"line {line} valve {line * made % 97} ok" for line in range(30))
        return f"log {made}: {lines}"

    agent = Agent(
        "anthropic:claude-opus-4-6",
        tools=[read_log],
        store=store,
        environment={"ANTHROPIC_API_KEY": "none"},
        config=False,
        base_url=f"{url}/anthropic/v1",
        window=10_000_000,
        max_steps=100_000,
        max_repeats=1_000_000,
    )
    async with agent.session("loop") as session:
        await session.send("Read the logs.")
        (await session.wait()).or_raise()
        written = counter.now() - began[0]
        after = counter.database()
    events: list[Event] = await store.read("loop", after=began[1])
    counted = made - steps // 6
    kinds = Counter(type(event).__name__ for event in events)
    growth: tuple[float, ...] = ()
    if before is not None and after is not None:
        growth = tuple(
            (new - old) / counted for old, new in zip(before, after, strict=True)
        )
    return WrittenBytes(
        written / counted,
        content_bytes(events) / counted,
        {name: count / counted for name, count in kinds.most_common()},
        growth,
    )


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place, server = stack.enter_context(
            store_place(folder, is_sqlite=not arguments.postgres)
        )
        url = stack.enter_context(
            local_server("-m", "bench.loop_server", str(arguments.steps), "0")
        )
        store = store_at(place)
        try:
            found = await measured(store, url, WrittenCounter(server), arguments.steps)
        finally:
            await store.close()
    columns = ("bytes of a step", "written", "said", "ratio")
    kind = "PostgreSQL" if arguments.postgres else "SQLite"
    row = (
        kind,
        f"{found.written:,.0f}",
        f"{found.said:,.0f}",
        f"{found.written / found.said:.1f} ×",
    )
    print(Table("Written for what was said", columns, (row,)).text())
    print(", ".join(f"{name} {count:.1f}" for name, count in found.events.items()))
    for name, added in zip(DatabaseState._fields, found.database, strict=False):
        print(f"{name} of the database, a step: {added:,.1f}")
    print(machine())


if __name__ == "__main__":
    asyncio.run(main())
