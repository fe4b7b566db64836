"""What so many sessions and events need: machines, shards, disk and money; what gives way first, and what next.

    uv run python -m bench.capacity                            # 10^6 sessions and 10^9 events in 30 days
    uv run python -m bench.capacity --sessions 1e5 --events 1e8 --days 10 --core-hour 0.03
    uv run python -m bench.capacity --measured many.json       # figures that bench.many --json wrote

A calculation, no measurement: it multiplies what one step costs. A step is a model's call of 100 pieces with a tool.
Its CPU is that of a turn of one such call (``bench.live``, ``bench.many``), its bytes and events are those of
``bench.written``. CPU is assumed to grow with the number of steps alone.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from bench.results import Table

HOURS_A_MONTH: Final = 730
GB: Final = 1e9


class Measured(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a step costs. The defaults are docs/capacity.md's. CPU in milliseconds."""

    driving_ms: float = 77.5
    following_ms: float = 21.4
    """Of a server at which one client follows the session."""
    postgres_ms: float = 29.4
    restate_ms: float = 0.0
    """0 is a deployment with leases."""
    wal_bytes: float = 7_463
    table_bytes: float = 4_096
    """Of tables and indexes."""
    events: float = 9
    syncs: float = 1.1
    """Of PostgreSQL's log, where one session is at work; with more of them several share one."""


class Population(NamedTuple):
    """What is asked for. At its busiest the service has ``peak`` times the mean rate."""

    sessions: float = 1e6
    events: float = 1e9
    days: float = 30
    peak: float = 4
    step_s: float = 10
    """How long a step takes, which is the model's time."""


class Limits(NamedTuple):
    """What one machine, one database and one Restate server have. A core is planned with half of its time."""

    cores: float = 8
    """Of a machine with servers or workers."""
    database_cores: float = 64
    planned: float = 0.5
    wal_bytes_s: float = 125e6
    """What a disk of type gp3 writes unless more is paid for."""
    syncs_s: float = 3_000
    """What a disk of type gp3 does unless more is paid for."""
    restorable_bytes: float = 125e6 * 4 * 3_600
    """What such a disk takes back in four hours."""
    connections: float = 500
    of_process: float = 8
    """Connections of a process: four that write, three that read, one that listens."""
    invocations: float = 1_000
    """Of a Restate server, unless it is configured otherwise."""


class Prices(NamedTuple):
    """Dollars. On demand, Linux, us-east-1 on 17 June 2026: m7g.large has 2 cores for $0.0816 an hour."""

    core_hour: float = 0.0408
    gb_month: float = 0.08
    """Of a disk of type gp3; for the tables, a standby's copy and the log."""
    wal_days: float = 7
    """How long the log is kept."""


class Rates(NamedTuple):
    """Per second at the busiest time, but ``steps``, which are all."""

    steps: float
    steps_s: float
    working: float
    """Sessions that are driven at once."""


class Cores(NamedTuple):
    """Cores with their reserve, for the busiest time."""

    drivers: int
    followers: int
    database: int
    restate: int


class Bottleneck(NamedTuple):
    """A limit of one database or one engine, and the share of it that all sessions need at the busiest time."""

    name: str
    used: float
    is_of_database: bool
    remedy: str


class Bill(NamedTuple):
    """Dollars a month, and the bytes behind them."""

    cores: float
    disks: float
    table_bytes: float
    wal_bytes: float


def rates(population: Population, measured: Measured) -> Rates:
    """How much is done in how much time."""
    steps = population.events / measured.events
    steps_s = population.peak * steps / (population.days * 86_400)
    working = min(population.sessions, steps_s * population.step_s)
    return Rates(steps, steps_s, working)


def cores(found: Rates, measured: Measured, limits: Limits) -> Cores:
    """How many of each kind."""

    def needed(ms: float) -> int:
        return math.ceil(found.steps_s * ms / 1e3 / limits.planned)

    times = (
        measured.driving_ms,
        measured.following_ms,
        measured.postgres_ms,
        measured.restate_ms,
    )
    return Cores(*map(needed, times))


def processes(needed: Cores) -> int:
    """Servers and workers: each uses one core."""
    return needed.drivers + needed.followers


def bottlenecks(
    population: Population, measured: Measured, limits: Limits
) -> list[Bottleneck]:
    """Every limit, the one that is reached first before the others."""
    found = rates(population, measured)
    needed = cores(found, measured, limits)
    tables = population.events / measured.events * measured.table_bytes
    connections = processes(needed) * limits.of_process
    log_s = found.steps_s / limits.planned
    invocations = found.working / limits.invocations if measured.restate_ms else 0.0
    of_database = (
        ("CPU", needed.database / limits.database_cores, "more shards"),
        (
            "bytes of its log a second",
            log_s * measured.wal_bytes / limits.wal_bytes_s,
            "a faster disk, then more shards",
        ),
        (
            "syncs of its log a second",
            log_s * measured.syncs / limits.syncs_s,
            "a faster disk, then more shards",
        ),
        (
            "tables that four hours restore",
            tables / limits.restorable_bytes,
            "archive sooner (ullage admin store prune --archive), then more shards",
        ),
        (
            "connections",
            connections / limits.connections,
            "pgbouncer in transaction mode, with ?direct=",
        ),
    )
    all_limits = [
        Bottleneck(f"PostgreSQL: {name}", used, True, remedy)
        for name, used, remedy in of_database
    ]
    remedy = "concurrent-invocations-limit, then a Restate server for each shard"
    name = "Restate: invocations at once"
    all_limits.append(Bottleneck(name, invocations, False, remedy))
    return sorted(all_limits, key=lambda each: -each.used)


def shards(limits_used: list[Bottleneck]) -> int:
    """Databases that are needed, where connections are pooled."""
    hard = [
        each.used
        for each in limits_used
        if each.is_of_database and "connections" not in each.name
    ]
    return max(1, math.ceil(max(hard)))


def bill(
    population: Population, measured: Measured, limits: Limits, prices: Prices
) -> Bill:
    """What a month costs with machines for the busiest time and, of the database, a standby."""
    found = rates(population, measured)
    needed = cores(found, measured, limits)
    tables = found.steps * measured.table_bytes
    wal = found.steps / population.days * prices.wal_days * measured.wal_bytes
    bought = sum(needed) + needed.database
    return Bill(
        bought * HOURS_A_MONTH * prices.core_hour,
        (2 * tables + wal) / GB * prices.gb_month,
        tables,
        wal,
    )


def tables(
    population: Population, measured: Measured, limits: Limits, prices: Prices
) -> list[Table]:
    found = rates(population, measured)
    needed = cores(found, measured, limits)
    reached = bottlenecks(population, measured, limits)
    month = bill(population, measured, limits, prices)

    def row(name: str, value: float, unit: str = "") -> tuple[str, str]:
        return name, f"{value:,.0f}{unit}"

    load = (
        row("steps", found.steps),
        row("steps a second, mean", found.steps_s / population.peak),
        row("steps a second, busiest time", found.steps_s),
        row("sessions that work at once", found.working),
        row("events a second", found.steps_s * measured.events),
    )
    machines = (
        row("shards (databases, each with a standby)", shards(reached)),
        row("cores that drive", needed.drivers),
        row("cores that serve followers", needed.followers),
        row("machines for both", math.ceil(processes(needed) / limits.cores)),
        row("cores of PostgreSQL, without standbys", needed.database),
        row("cores of Restate", needed.restate),
    )
    money = (
        row("tables and indexes", month.table_bytes / GB, " GB"),
        row("log that is kept", month.wal_bytes / GB, " GB"),
        row("cores, a month", month.cores, " $"),
        row("disks, a month", month.disks, " $"),
    )
    limits_rows = tuple(
        (each.name, f"{each.used:.0%}", _reached_at(each), each.remedy)
        for each in reached
    )
    return [
        Table("Load", ("", "count"), load),
        Table("Machines", ("", "count"), machines),
        Table("Disk and money", ("", ""), money),
        Table(
            "Limits of one database and one engine, the first that is reached on top",
            ("limit", "used", "reached at", "what then"),
            limits_rows,
        ),
    ]


def _reached_at(limit: Bottleneck) -> str:
    return f"{1 / limit.used:,.1f} × this load" if limit.used else "never"


def measured_in(path: Path | None) -> Measured:
    """The figures of a file; those of the docs without one. Raises ``SystemExit`` for a file that has others."""
    if path is None:
        return Measured()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Measured)
    except (OSError, msgspec.MsgspecError) as problem:
        raise SystemExit(
            f"{path} has no figures: {problem}. Make it with bench.many --json."
        ) from None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--measured", type=Path, help="figures of bench.many --json")
    defaults = {**Population()._asdict(), **Limits()._asdict(), **Prices()._asdict()}
    for name, value in defaults.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=float, default=float(value))
    given: dict[str, Any] = vars(parser.parse_args())
    measured = measured_in(given["measured"])
    population = Population(*(given[name] for name in Population._fields))
    limits = Limits(*(given[name] for name in Limits._fields))
    prices = Prices(*(given[name] for name in Prices._fields))
    for each in tables(population, measured, limits, prices):
        print(each.text(), end="\n\n")
    print(f"Figures of a step: {measured}")


if __name__ == "__main__":
    main()
