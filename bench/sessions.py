"""Many sessions in one process, all of whose answers stream at once: stalls of the event loop, CPU, and memory.

    uv run python -m bench.sessions
    uv run python -m bench.sessions --sessions 100 --turns 2 --spread 0

The simulator runs in a process of its own. A task of the measured loop sleeps a millisecond at a time; what it
oversleeps is how long the loop was kept from it, by its own work or by other programs on the machine. The CPU time
that the loop's thread used meanwhile is its own work alone, and is held to the target. An idle loop, measured first,
is the machine's own share.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from ullage.runtime.agent import Agent

TICK_S = 0.001
TARGET_MS = 50.0
"""The longest that the loop may be busy with one thing: what a person begins to notice is 100 ms."""

ANSWER = (
    "The cask was filled in spring, and by autumn a hand's breadth of air stood over the wine. "
    * 24
)
MODEL = "anthropic:claude-sonnet-4-6"


class Stalls(NamedTuple):
    """What the ticking task overslept, in milliseconds; ``over`` how often it was more than the target."""

    worst_ms: float
    p999_ms: float
    p99_ms: float
    over: int
    ticks: int

    def __str__(self) -> str:
        return (
            f"worst {self.worst_ms:.1f} ms, 99.9 % {self.p999_ms:.1f} ms, 99 % {self.p99_ms:.1f} ms, "
            f"{self.over} over {TARGET_MS:g} ms ({self.ticks:,} ticks)"
        )


class Measured(NamedTuple):
    """One run of all sessions."""

    sessions: int
    answers: int
    pieces: int
    wall_s: float
    cpu_s: float
    opened_mb: float
    most_mb: float
    waited: Stalls
    busy: Stalls


def serve(to_parent: Connection) -> None:
    """The simulator's process: answers slowly, in small pieces."""
    from ullage_simulators import running
    from ullage_simulators.scenario import read

    calls = [{"name": "look", "arguments": {"room": "cellar"}}]
    scenario = read(
        {
            "server": {"delay_s": 0.01, "chunk": 24},
            "answers": [
                {"when": {"after": "user"}, "reasoning": ANSWER[:400], "calls": calls},
                {"text": ANSWER},
            ],
        }
    )
    with running(scenario) as server:
        to_parent.send(server.url("anthropic"))
        to_parent.recv()


@contextlib.contextmanager
def simulator() -> Iterator[str]:
    """The simulator's address; its process lives as long as the block."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs,), daemon=True
    )
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("end")
        process.join(5)


class Ticks(NamedTuple):
    """What was measured of each tick, in milliseconds."""

    waited: list[float]
    busy: list[float]


@contextlib.asynccontextmanager
async def ticking() -> AsyncIterator[Ticks]:
    """Collects by how many milliseconds each tick came late, and how many of CPU the loop used in it."""
    late = Ticks([], [])

    async def tick() -> None:
        while True:
            begun, used = time.perf_counter(), time.thread_time()
            await asyncio.sleep(TICK_S)
            late.waited.append((time.perf_counter() - begun - TICK_S) * 1_000)
            late.busy.append((time.thread_time() - used) * 1_000)

    task = asyncio.create_task(tick())
    try:
        yield late
    finally:
        task.cancel()
        await asyncio.wait([task])


def stalls_of(late: list[float]) -> Stalls:
    """The worst and the quantiles of what was measured."""
    ordered = sorted(late) or [0.0]

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    return Stalls(
        ordered[-1],
        at(0.999),
        at(0.99),
        sum(each > TARGET_MS for each in ordered),
        len(ordered),
    )


def memory_mb() -> float:
    """Memory of this process now."""
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return most_mb()


def most_mb() -> float:
    """The most it ever was."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


async def look(room: str) -> str:
    """Look into a room.

    Args:
        room: Which.
    """
    return f"The {room} is as it was."


async def live(
    agent: Agent, name: str, turns: int, ready: asyncio.Barrier, begins_s: float
) -> int:
    """One session with a display that follows it; gives how many pieces were shown."""
    pieces = 0
    async with agent.session(name) as session:
        await ready.wait()
        await asyncio.sleep(begins_s)
        for _ in range(turns):
            await session.send("How is the cellar?")
            async for frame in session.events(until_rest=True):
                pieces += hasattr(frame, "offset")
    return pieces


async def measure(
    sessions: int, turns: int, spread_s: float, url: str, directory: Path
) -> Measured:
    """All sessions at once, in one process, one store and one client; they begin within ``spread_s``."""
    settings: dict[str, Any] = {
        "base_url": url,
        "config": False,
        "environment": {"ANTHROPIC_API_KEY": "bench"},
    }
    agent = Agent(MODEL, tools=[look], store=directory / "sessions.db", **settings)
    async with agent.session("warm") as session:
        await session.ask("How is the cellar?")
    before = memory_mb()
    ready = asyncio.Barrier(sessions + 1)
    async with asyncio.TaskGroup() as group:
        living = [
            group.create_task(
                live(agent, f"s{number}", turns, ready, spread_s * number / sessions)
            )
            for number in range(sessions)
        ]
        await ready.wait()
        opened = memory_mb() - before
        begun, used = time.perf_counter(), time.process_time()
        async with ticking() as late:
            await asyncio.wait(living)
        wall, cpu = time.perf_counter() - begun, time.process_time() - used
    pieces = sum(task.result() for task in living)
    answers = sessions * turns * 2
    return Measured(
        sessions, answers, pieces, wall, cpu, opened, most_mb(), *map(stalls_of, late)
    )


async def idle(seconds: float = 2.0) -> Stalls:
    """The machine's own share: a loop that does nothing but tick."""
    async with ticking() as late:
        await asyncio.sleep(seconds)
    return stalls_of(late.waited)


def main() -> None:
    """Measure, and print."""
    options = argparse.ArgumentParser(
        prog="bench.sessions", description="Many streaming sessions in one process."
    )
    options.add_argument("--sessions", type=int, default=100)
    options.add_argument("--turns", type=int, default=2)
    options.add_argument(
        "--spread", type=float, default=1.0, help="seconds within which they begin"
    )
    chosen = options.parse_args()
    logging.getLogger("ullage").setLevel(logging.ERROR)
    print(f"an idle loop on this machine: {asyncio.run(idle())}")
    with simulator() as url, tempfile.TemporaryDirectory() as directory:
        found = asyncio.run(
            measure(chosen.sessions, chosen.turns, chosen.spread, url, Path(directory))
        )
    print(
        f"{found.sessions} sessions, {found.answers} answers, {found.pieces:,} pieces in {found.wall_s:.1f} s"
    )
    print(f"the loop was busy: {found.busy}")
    print(f"the loop was kept:  {found.waited}")
    print(
        f"CPU {found.cpu_s:.1f} s, {1_000 * found.cpu_s / found.answers:.1f} ms an answer"
    )
    print(
        f"memory: {1_000 * found.opened_mb / found.sessions:.0f} kB an open session, {found.most_mb:.0f} MB at most"
    )


if __name__ == "__main__":
    main()
