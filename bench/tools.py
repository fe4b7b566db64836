"""What tools cost: a call, a thread, a search, the end of a command, and how long 100 MB hold the event loop up.

    uv run python -m bench.tools

Wall time: what else runs on the machine is in it.
"""

from __future__ import annotations

import asyncio
import functools
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from ullage.messages import Tool
from ullage.tools.files import Query, search
from ullage.tools.functions import tool
from ullage.tools.processes import ProcessSpec, run_command
from ullage.tools.result_budget import fit
from ullage.tools.running import run_call
from ullage.tools.threads import in_thread
from ullage.tools.tool import AgentTool, Output, ToolContext

CALLS = 1_000
TEXTS: Mapping[str, Callable[[], str]] = {
    "100 MB of log lines": lambda: "some line of a long log, number 7\n" * 3_000_000,
    "100 MB of Japanese": lambda: "日本語のテキスト\n" * 4_000_000,
    "100 MB to be mended": lambda: "some line of text, \ud800\n" * 4_500_000,
}


class Memory:
    """ToolContext that keep nothing."""

    session, call_id, root = "s", "c", Path()

    async def keep(self, data: bytes) -> str:
        return "handle"

    async def kept(
        self, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        return b""


async def longest_wait(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Seconds the work took, and the longest the loop was held up meanwhile."""
    longest = 0.0

    async def turn() -> None:
        nonlocal longest
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - begin)

    turning = asyncio.ensure_future(turn())
    await asyncio.sleep(0.01)
    begin = time.perf_counter()
    await work()
    took = time.perf_counter() - begin
    turning.cancel()
    return took, longest


async def kept(text: str) -> None:
    """A call that gives this text, and its result cut."""

    async def give(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        return Output(text)

    ran = await run_call(
        AgentTool(declaration=Tool(name="give"), run=give), "{}", Memory()
    )
    await fit(ran.output, Memory(), 25_000)


async def long_results() -> None:
    for name, make in TEXTS.items():
        text = make()

        took, longest = await longest_wait(functools.partial(kept, text))
        print(
            f"{name}: {took:.2f} s, the loop held up for at most {longest * 1000:.0f} ms"
        )


async def small_things() -> None:
    @tool
    async def nothing() -> str:
        return ""

    works: Mapping[str, Callable[[], Awaitable[object]]] = {
        "a call of an async function": lambda: run_call(nothing, "{}", Memory()),
        "a thread": lambda: in_thread(int),
    }
    for name, work in works.items():
        begin = time.perf_counter()
        for _ in range(CALLS):
            await work()
        print(f"{name}: {(time.perf_counter() - begin) / CALLS * 1e6:.0f} µs")


async def programs() -> None:
    with tempfile.TemporaryDirectory() as directory:
        begin = time.perf_counter()
        await search(Path(directory), ".", Query(pattern="x"))
        print(f"a search of an empty directory: {time.perf_counter() - begin:.3f} s")
        lines = {
            "a command": "sleep 1000",
            "one that ignores TERM": "trap '' TERM; sleep 1000; sleep 1000",
        }
        for name, line in lines.items():
            command = ProcessSpec(
                ("/bin/sh", "-c", line), Path(directory), dict(os.environ)
            )
            task = asyncio.ensure_future(run_command(command, print, timeout_s=60))
            await asyncio.sleep(0.2)
            task.cancel()
            begin = time.perf_counter()
            await asyncio.gather(task, return_exceptions=True)
            print(f"{name}, cancelled: gone after {time.perf_counter() - begin:.2f} s")


async def main() -> None:
    """Each in turn."""
    await small_things()
    await programs()
    await long_results()


if __name__ == "__main__":
    asyncio.run(main())
