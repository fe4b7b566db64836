"""What an attack costs the process it is made on: how long its event loop stood still, and how much memory it took."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

TICK_S = 0.01


@dataclass
class Lag:
    """The longest the loop stood still, in milliseconds, and the most that this process computed meanwhile.

    On a loaded machine the loop also stands still because other programs run: then ``busy_ms`` is far below.
    """

    wall_ms: float = 0.0
    busy_ms: float = 0.0


@asynccontextmanager
async def ticking() -> AsyncIterator[Lag]:
    """Measures for the time of the block."""
    lag = Lag()

    async def tick() -> None:
        before, worked = time.monotonic(), time.process_time()
        while True:
            await asyncio.sleep(TICK_S)
            now, work = time.monotonic(), time.process_time()
            lag.wall_ms = max(lag.wall_ms, (now - before - TICK_S) * 1000)
            lag.busy_ms = max(lag.busy_ms, (work - worked) * 1000)
            before, worked = now, work

    task = asyncio.create_task(tick())
    try:
        yield lag
    finally:
        await asyncio.sleep(2 * TICK_S)  # a stall that is still going on is seen
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def peak_mb(process: int | str = "self") -> float:
    """The most memory a process ever had resident; of its program alone, which ``getrusage`` does not promise."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0
