"""How every client is timed in a tool loop and with many streams at once; the answer goes out as JSON.

Loaded by the scripts beside it, each in the environment of its peer; imports nothing but the standard library. A script
is started as: python SCRIPT WAY URL BEHIND STEPS, where STEPS 0 asks for many streams at once instead of one long loop.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import NamedTuple

TICK_S = 0.001
ONCE = 100
WITHIN_S = 1.0
"""Seconds within which the streams begin, one after the other; each takes more than five."""
ANSWERED = "That was all."

marks: list[tuple[float, float]] = []
"""CPU time of the process and wall time at each tool call."""


class Way(NamedTuple):
    """What a client does. ``loop`` works through a task, with so many steps behind it; ``stream`` has one answer.

    Each gets the base URL of the wire, and gives the text of the last answer.
    """

    loop: Callable[[str, int], Awaitable[str]]
    stream: Callable[[str, int], Awaitable[str]]


def log(number: int) -> str:
    """What the tool gives the ``number``th time: some 600 characters."""
    return f"log {number}: " + " ".join(
        f"line {line} valve {line * number % 97} ok" for line in range(30)
    )


def earlier(count: int) -> list[tuple[str, str]]:
    """Id and result of the calls that stand behind a task: what as many steps of ``read_log`` would have left."""
    return [(f"call_{number:024d}", log(number)) for number in range(1, count + 1)]


GIVEN = 0 if "ullage" in sys.argv[0] else int(sys.argv[3])
"""Steps that are given as a history. Ullage makes its own, since a step costs it the same however many there were."""


async def read_log(number: int) -> str:
    """Read one log."""
    marks.append((time.process_time(), time.perf_counter()))
    return log(GIVEN + len(marks))


async def _loop(way: Way, url: str, behind: int, steps: int) -> dict[str, object]:
    text = await way.loop(url, behind)
    made = behind - GIVEN + steps
    if len(marks) != made or ANSWERED not in text:
        raise SystemExit(
            f"made {len(marks)} of {made} tool calls, and said {text[:100]!r}"
        )
    first, last = marks[-steps], marks[-1]
    mean = (last[0] - marks[0][0]) / (len(marks) - 1)
    return {
        "cpu": (last[0] - first[0]) / (steps - 1),
        "wall": (last[1] - first[1]) / (steps - 1),
        "mean": mean,
    }


async def _streams(way: Way, url: str) -> dict[str, object]:
    stall = own = 0.0

    async def tick() -> None:
        nonlocal stall, own
        while True:
            start, began = time.perf_counter(), time.thread_time()
            await asyncio.sleep(TICK_S)
            stall = max(stall, time.perf_counter() - start - TICK_S)
            own = max(own, time.thread_time() - began)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(2)
    idle, stall, own = stall, 0.0, 0.0
    await way.stream(url, ONCE)
    opening, own_opening, stall, own = stall, own, 0.0, 0.0
    start, began = time.perf_counter(), time.process_time()

    async def begun(number: int) -> str:
        await asyncio.sleep(WITHIN_S * number / ONCE)
        return await way.stream(url, number)

    texts = await asyncio.gather(*map(begun, range(ONCE)))
    found = {
        "wall": time.perf_counter() - start,
        "cpu": time.process_time() - began,
        "stall": stall,
        "own": own,
    }
    ticking.cancel()
    if short := [text for text in texts if len(text) < 700]:
        raise SystemExit(
            f"{len(short)} answers are not whole, such as {short[0][:100]!r}"
        )
    return {**found, "idle": idle, "opening": opening, "own_opening": own_opening}


def report(packages: list[str], ways: Mapping[str, Way]) -> None:
    """Print what the asked way takes."""
    way, url, behind, steps = (
        ways[sys.argv[1]],
        sys.argv[2],
        int(sys.argv[3]),
        int(sys.argv[4]),
    )
    found = asyncio.run(_loop(way, url, behind, steps) if steps else _streams(way, url))
    print(json.dumps({"versions": {name: version(name) for name in packages}, **found}))
