"""The test's side of the fork server."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tests.sweeps.orders import Ended, Order

ROOT = Path(__file__).parents[2]
LONGEST_S = 180.0
"""A process that lives longer hangs, whatever machine it is on."""


class Process:
    """One process that was ordered. ``pid`` is known once it has begun."""

    def __init__(self, order: Order) -> None:
        self.order = order
        loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[int] = loop.create_future()
        self.over: asyncio.Future[int] = loop.create_future()

    async def status(self) -> int:
        """Its exit code, or minus the signal it died of. Raises ``TimeoutError`` for one that hangs."""
        return await asyncio.wait_for(asyncio.shield(self.over), LONGEST_S)


class Forks:
    """Starts processes through a running fork server. No two that live may have one key."""

    def __init__(self, server: asyncio.subprocess.Process) -> None:
        self._server = server
        self._processes: dict[str, Process] = {}

    def start(self, order: Order) -> Process:
        assert self._server.stdin is not None
        name = order.key
        assert name not in self._processes, f"there is a process {name}"
        process = self._processes[name] = Process(order)
        self._server.stdin.write(msgspec.json.encode(order) + b"\n")
        return process

    async def run(self, order: Order) -> int:
        """Start it and wait for its end."""
        return await self.start(order).status()

    async def listen(self) -> None:
        assert self._server.stdout is not None
        while line := await self._server.stdout.readline():
            told = msgspec.json.decode(line)
            process = self._processes[told["name"]]
            if "pid" in told:
                process.begun.set_result(told["pid"])
            else:
                del self._processes[told["name"]]
                process.over.set_result(msgspec.convert(told, Ended).status)
        problem = RuntimeError("the fork server ended; what it printed says why")
        for process in self._processes.values():
            process.over.set_exception(problem)


@asynccontextmanager
async def fork_server() -> AsyncIterator[Forks]:
    """A fork server for the time of the block. What lives at its end is killed."""
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.sweeps.fork_server",
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={
            **os.environ,
            "SSL_CERT_DIR": str(ROOT),
        },  # certificates take a third of a process's time; all is loopback
    )
    forks = Forks(server)
    listening = asyncio.create_task(forks.listen())
    try:
        yield forks
    finally:
        assert server.stdin is not None
        server.stdin.close()
        await server.wait()
        await listening
