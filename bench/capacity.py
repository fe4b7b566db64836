"""What so many sessions and events need: machines, shards, disk and money; what gives way first, and what next.

    uv run python -m bench.capacity                            # 10^6 sessions and 10^9 events in 30 days
    uv run python -m bench.capacity --sessions 1e5 --events 1e8 --days 10 --core-hour 0.03
    uv run python -m bench.capacity --restate-ms 12            # each figure of Given is an option

A calculation, no measurement: it multiplies what one step costs. A step is a model's call of 100 pieces with a tool.
Its CPU is that of a turn of one such call (``bench.live``, ``bench.many``), its bytes and events are those of
``bench.written``. A page that is open lists 100 sessions every few seconds, which costs the same with a million of them
(``bench.lists``). CPU is assumed to grow with the numbers of steps and of open pages alone.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from bench.results import Table

HOURS_A_MONTH: Final = 730
GB: Final = 1e9


class Given(NamedTuple):
    """All that the calculation takes. What a step costs is docs/capacity.md's, CPU in milliseconds.

    Prices are dollars on demand, Linux, us-east-1 on 17 June 2026: m7g.large has 2 cores for $0.0816 an hour.
    """

    sessions: float = 1e6
    events: float = 1e9
    days: float = 30
    peak: float = 4
    """Times the mean rate, at the busiest."""
    step_s: float = 10
    """How long a step takes, which is the model's time."""

    driving_ms: float = 77.5
    following_ms: float = 21.4
    """Of a server at which one client follows the session."""
    postgres_ms: float = 29.4
    restate_ms: float = 0.0
    """0 is a deployment with leases."""
    pages: float = 10_000
    """Open pages, at the busiest."""
    page_s: float = 5
    """Between two lists of a page."""
    list_ms: float = 4.0
    """Of a server that lists 100 sessions, with counts; among 200,000 in PostgreSQL."""
    list_postgres_ms: float = 1.5

    wal_bytes: float = 10_514
    table_bytes: float = 7_373
    """Of tables and indexes, that of the search among them."""
    step_events: float = 9
    step_syncs: float = 1.1
    """Of PostgreSQL's log, where one session is at work; with more of them several share one."""

    machine_cores: float = 8
    """Of a machine with servers or workers."""
    database_cores: float = 64
    planned: float = 0.5
    """Of a core's time."""
    wal_bytes_s: float = 125e6
    syncs_s: float = 3_000
    """What a disk of type gp3 writes and does unless more is paid for."""
    restorable_bytes: float = 125e6 * 4 * 3_600
    """What such a disk takes back in four hours."""
    connections: float = 500
    of_process: float = 8
    """Connections of a process: four that write, three that read, one that listens."""
    invocations: float = 1_000
    """Of a Restate server, unless it is configured otherwise."""

    core_hour: float = 0.0408
    gb_month: float = 0.08
    """Of a disk of type gp3; for the tables, a standby's copy and the log."""
    wal_days: float = 7
    """How long the log is kept."""

    @property
    def steps(self) -> float:
        return self.events / self.step_events

    @property
    def steps_s(self) -> float:
        """At the busiest time."""
        return self.peak * self.steps / (self.days * 86_400)

    @property
    def working(self) -> float:
        """Sessions that are driven at once."""
        return min(self.sessions, self.steps_s * self.step_s)

    def cores(self, ms: float, list_ms: float = 0.0) -> int:
        """Cores with their reserve, for the busiest time, where a step and a list take so much of one."""
        busy_ms = self.steps_s * ms + self.pages / self.page_s * list_ms
        return math.ceil(busy_ms / 1e3 / self.planned)

    @property
    def database(self) -> int:
        """Cores of PostgreSQL."""
        return self.cores(self.postgres_ms, self.list_postgres_ms)

    @property
    def serving(self) -> int:
        """Cores of servers."""
        return self.cores(self.following_ms, self.list_ms)

    @property
    def processes(self) -> int:
        """Servers and workers: each uses one core."""
        return self.cores(self.driving_ms) + self.serving

    @property
    def kept_bytes(self) -> tuple[float, float]:
        """Of the tables, and of the log."""
        log = self.steps / self.days * self.wal_days * self.wal_bytes
        return self.steps * self.table_bytes, log


class Limit(NamedTuple):
    """A limit of one database or one engine, and the share of it that all sessions need at the busiest time."""

    name: str
    used: float
    remedy: str
    is_of_database: bool = True


def limits(given: Given) -> list[Limit]:
    """Every limit, the one that is reached first before the others."""
    log_s = given.steps_s / given.planned
    pooled = "pgbouncer in transaction mode, with ?direct="
    engines = "concurrent-invocations-limit, then a Restate server for each shard"
    invoked = given.working / given.invocations if given.restate_ms else 0.0
    found = [
        Limit("CPU", given.database / given.database_cores, "more shards"),
        Limit(
            "bytes of its log a second",
            log_s * given.wal_bytes / given.wal_bytes_s,
            "a faster disk, then more shards",
        ),
        Limit(
            "syncs of its log a second",
            log_s * given.step_syncs / given.syncs_s,
            "a faster disk, then more shards",
        ),
        Limit(
            "tables that four hours restore",
            given.kept_bytes[0] / given.restorable_bytes,
            "archive sooner (ullage admin store prune --archive), then more shards",
        ),
        Limit(
            "connections",
            given.processes * given.of_process / given.connections,
            pooled,
            is_of_database=False,
        ),
        Limit("Restate: invocations at once", invoked, engines, is_of_database=False),
    ]
    return sorted(found, key=lambda each: -each.used)


def shards(reached: list[Limit]) -> int:
    """Databases that are needed, where connections are pooled."""
    return max(1, *(math.ceil(each.used) for each in reached if each.is_of_database))


def bill(given: Given) -> tuple[float, float]:
    """Dollars a month for cores and for disks, with machines for the busiest time and, of the database, a standby."""
    bought = given.processes + 2 * given.database + given.cores(given.restate_ms)
    tables, log = given.kept_bytes
    disks = (2 * tables + log) / GB * given.gb_month
    return bought * HOURS_A_MONTH * given.core_hour, disks


def needs(given: Given) -> Iterator[tuple[str, float]]:
    yield "steps", given.steps
    yield "steps a second, busiest time", given.steps_s
    yield "sessions that work at once", given.working
    yield "shards (databases, each with a standby)", shards(limits(given))
    yield "cores that drive", given.cores(given.driving_ms)
    yield "cores that serve followers and lists", given.serving
    yield "machines for both", math.ceil(given.processes / given.machine_cores)
    yield "cores of PostgreSQL, without standbys", given.database
    yield "cores of Restate", given.cores(given.restate_ms)
    tables, log = given.kept_bytes
    yield "GB of tables and indexes", tables / GB
    yield "GB of the log that is kept", log / GB
    cores, disks = bill(given)
    yield "$ a month for cores", cores
    yield "$ a month for disks", disks


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, value in Given()._asdict().items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=float, default=float(value))
    given = Given(**vars(parser.parse_args()))
    rows = tuple((name, f"{value:,.0f}") for name, value in needs(given))
    print(Table("Needs", ("", "count"), rows).text(), end="\n\n")
    reached = tuple(
        (each.name, f"{1 / each.used:,.1f} × this load", each.remedy)
        for each in limits(given)
        if each.used
    )
    title = "Limits of one database and one engine, the first that is reached on top"
    print(Table(title, ("limit", "reached at", "what then"), reached).text())


if __name__ == "__main__":
    main()
