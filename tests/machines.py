"""Servers and workers on one database in processes of their own, each of them on a machine of another name."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple

from tests.postgres import database
from tests.server.served import MODEL, WAIT_S, Process, first_line, patiently, process
from ullage.events import CallStarted, Event
from ullage.store.store import SessionRow
from ullage_cluster.postgres.store import PostgresStore
from ullage_simulators import Server

STORY = {"text": "The cask was filled in spring and by autumn it was opened again. " * 12}
"""An answer of 156 words, that the simulator gives piece by piece."""

PIECE_S = 0.5
"""Seconds between the pieces of an answer that lasts until ``hurry``, or half a minute if it is ``STORY``."""


def hurry(simulator: Server) -> None:
    """From now on all pieces come at once: a test that needs an answer to last does not guess for how long."""
    loop = vars(simulator.app._closing).get("_loop")
    if loop is None:  # no answer waits
        simulator.app.close()
    else:
        loop.call_soon_threadsafe(simulator.app.close)


def slow_down(simulator: Server) -> None:
    """Answers that begin from now on have their pauses again, after ``hurry`` and the end of all answers."""
    simulator.app._closing.clear()


class Program:
    """A command of ``ullage`` that goes on until it is ended, in a process of its own. Its errors go to a file."""

    module: ClassVar[str] = "ullage"
    """What Python runs."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, ready: str, **variables: str
    ) -> None:
        """Returns once the program has printed a line with ``ready``, which is ``greeting``."""
        self._errors = (folder / f"{arguments[0]}-{time.monotonic_ns()}.log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module, *arguments],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "ANTHROPIC_API_KEY": "x", **variables},
            cwd=folder,
        )
        assert self.process.stdout is not None
        self.greeting = first_line(self.process.stdout)
        if ready not in self.greeting:
            self.kill()
            raise AssertionError(
                f"ullage {arguments[0]} did not begin: {self.greeting!r} {self.said()}"
            )

    def said(self) -> str:
        """What it wrote to standard error."""
        self._errors.seek(0)
        return self._errors.read()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The process stands still as long as the block lasts."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(WAIT_S)

    def end(self) -> int:
        """End it in good order, if it has not ended; gives its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=WAIT_S)
        return self.process.returncode


class WorkerProcess(Program):
    """``ullage admin worker`` in a process of its own, for everybody who reaches it."""

    def __init__(
        self, provider: str, store: str, folder: Path, *options: str, **variables: str
    ) -> None:
        command = ["admin", "worker", "--store", store, "--model", MODEL, "--no-token"]
        command += ["--base-url", provider, *options]
        super().__init__(command, folder, "drives sessions", **variables)


class ServerProcess(Program):
    """``ullage serve`` in a process of its own, for everybody who reaches it."""

    def __init__(
        self, provider: str, store: str, folder: Path, *options: str, **variables: str
    ) -> None:
        command = ["serve", "--store", store, "--model", MODEL, "--no-token"]
        command += ["--base-url", provider, *options]
        super().__init__(command, folder, "http://", **variables)
        self.url = next(
            word for word in self.greeting.split() if word.startswith("http://")
        )


class Machines(NamedTuple):
    """Two servers that drive nothing, and two workers."""

    place: str
    servers: list[Process]
    workers: list[WorkerProcess]

    def rows(self, names: Sequence[str]) -> dict[str, SessionRow]:

        async def read() -> dict[str, SessionRow]:
            store = PostgresStore(self.place)
            try:
                return {name: await store.about(name) for name in names}
            finally:
                await store.close()

        return asyncio.run(read())

    def ledgers(self, names: Sequence[str]) -> dict[str, list[Event]]:

        async def read() -> dict[str, list[Event]]:
            store = PostgresStore(self.place)
            try:
                return {name: await store.read(name) for name in names}
            finally:
                await store.close()

        return asyncio.run(read())

    def drivers(self, names: Sequence[str]) -> dict[str, str]:
        """The machine that drives each of these sessions now."""
        rows = self.rows(names)
        return {name: row.held_by.partition(":")[0] for name, row in rows.items()}

    def until_driven(self, names: Sequence[str], by: str) -> None:
        """Wait until machine ``by`` drives all these sessions."""
        for _ in patiently():
            found = self.drivers(names)
            if all(machine.startswith(f"{by}-") for machine in found.values()):
                return
        raise AssertionError(f"{by} does not drive all of them: {found}")

    def until_called(self, names: Sequence[str]) -> None:
        """Wait until the model of each session is called."""
        for _ in patiently():
            ledgers = self.ledgers(names)
            called = [
                name
                for name, events in ledgers.items()
                if any(isinstance(event, CallStarted) for event in events)
            ]
            if len(called) == len(names):
                return
        raise AssertionError(f"Only these were driven: {called}")

    def until_rest(
        self, names: Sequence[str], looking: int = 0, within_s: float = WAIT_S
    ) -> None:
        """Wait until all of these sessions are at rest, by looks at one server alone."""
        with self.servers[looking].api() as api:
            for _ in patiently(within_s):
                states = {api.state(name)["state"] for name in names}
                if states == {"idle"}:
                    return
        raise AssertionError(f"Not all came to rest: {states}")


@contextmanager
def worker(
    provider: str, place: str, folder: Path, *options: str, **variables: str
) -> Iterator[WorkerProcess]:
    """A worker that is ended afterwards. What it said is added to a failure."""
    begun = WorkerProcess(provider, place, folder, *options, **variables)
    try:
        yield begun
    except BaseException as problem:
        problem.add_note(f"A worker said:\n{begun.said()}")
        raise
    finally:
        begun.end()


@contextmanager
def machines(
    provider: str,
    folder: Path,
    *,
    server: Sequence[str] = (),
    workers: Sequence[Sequence[str]] = ((), ()),
    lease_s: str = "2",
) -> Iterator[Machines]:
    """Servers and workers of a new database. ``workers`` are the options of each."""
    with ExitStack() as stack:
        place = stack.enter_context(database())
        servers, working = [], []
        for number in range(2):
            begun = process(
                provider,
                folder / "unused",
                "--no-drive",
                *server,
                database=place,
                ULLAGE_MACHINE=f"server{number}",
                ANTHROPIC_API_KEY="",
            )
            servers.append(stack.enter_context(begun))
        for number, options in enumerate(workers):
            begun_worker = worker(
                provider,
                place,
                folder,
                *options,
                ULLAGE_MACHINE=f"worker{number}",
                ULLAGE_LEASE_TTL_S=lease_s,
            )
            working.append(stack.enter_context(begun_worker))
        yield Machines(place, servers, working)
