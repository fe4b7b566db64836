"""``ullage admin cluster --local``: PostgreSQL, Restate, two servers and two workers of this machine, for a trial."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from ullage.cli.exit_codes import DONE
from ullage.display.text import quoted
from ullage.errors import SettingError, StoreUnavailable
from ullage.store.places import store_at
from ullage.store.private_file import replace_file
from ullage.store.store import SessionRow
from ullage_agent.cli.simulated import simulated
from ullage_cluster.cli import cluster_keeper
from ullage_cluster.cli.cluster_keeper import DONE as DONE_KEEPING
from ullage_cluster.cli.local_postgres import LocalPostgres
from ullage_cluster.cli.local_restate import (
    LOOPBACK,
    PACKAGE,
    STARTED_IN_S,
    LocalRestate,
    free_ports,
    is_installed,
    restate_program,
)

COUNT: Final = 2
"""Servers, and workers."""

ENDED_IN_S: Final = 15.0

PAUSE_S: Final = 0.1
"""Before each piece of a simulated answer, so that there is time to end a worker in the middle of it."""

TOOLS: Final = "list,read,search,write"
"""Of the simulated model; its files are invented. Writing needs an approval."""

LOOKED_AT_S: Final = 0.1
LISTED: Final = 20
"""Newest sessions whose drivers are told."""

TOUR: Final = """
A tour in three minutes:
  1. Open both links, in two windows. In the first send `What can you do?`. Below is said which worker answers.
  2. End that worker in the middle of the answer, by the command said there: the other one continues.
  3. Send `Write a note.` The call needs your approval, which both windows list: give it in the second,
     or in another terminal: ullage admin approve --store '{store}'
  4. Send `Tell me.`, and `kill -9 {restate}` meanwhile: the answer does not depend on Restate.
What you end is started again.
The logs are in {folder}. Ctrl-C ends everything and removes it."""


class ClusterPart:
    """One of our own programs of the trial, in a process of its own."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
    ) -> None:
        self.name = name
        self.machine = name.replace(" ", "")
        self._command = [sys.executable, "-m", "ullage", *arguments]
        self._environment = {**environment, "ULLAGE_MACHINE": self.machine}
        self._log = folder / f"{name.replace(' ', '-')}.log"
        replace_file(self._log, b"")
        self.start()

    def start(self) -> None:
        """Start it, again once it has ended."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - this program itself
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._log.parent,
                env=self._environment,
                start_new_session=True,  # Ctrl-C is ours: it ends the parts in their order
            )

    def said(self) -> str:
        """What it has printed."""
        return self._log.read_text(errors="replace")

    def until(self, is_ready: Callable[[], bool]) -> None:
        """Return once it is. Raises ``SettingError``."""
        ends = time.monotonic() + STARTED_IN_S
        while not is_ready():
            if self.process.poll() is not None or time.monotonic() > ends:
                raise SettingError(
                    f"The {self.name} did not start. Correct what it says:\n{self.said()[-1000:]}"
                )
            time.sleep(0.05)

    def tell_to_end(self) -> None:
        """Send SIGTERM, if it runs."""
        if self.process.poll() is None:
            self.process.terminate()

    def until_ended(self) -> None:
        """Wait for its end, not longer than it may take."""
        try:
            self.process.wait(ENDED_IN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Keeper:
    """A process that ends the trial's programs when this one is killed before it can."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - a file of this package
            [sys.executable, "-I", "-S", cluster_keeper.__file__, str(folder)],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def add(self, process: int, how: signal.Signals = signal.SIGKILL) -> None:
        """This program is started; ``how`` ends it at once."""
        self._tell(f"{process} {how.value}")

    def forget(self, process: int) -> None:
        """This program has ended: its number may become another's."""
        self._tell(f"{process} 0")

    def release(self) -> None:
        """All programs have ended: it deletes the folder, also when a second Ctrl-C comes meanwhile."""
        self._tell(DONE_KEEPING)
        self._process.communicate()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # somebody has killed it
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()


def run(args: argparse.Namespace) -> int:
    """Run everything until Ctrl-C. Raises ``SettingError`` for what can't be started."""
    if not args.local:
        raise SettingError(
            "`ullage admin cluster` starts a trial on this machine: give --local. docs/scale.md is about several."
        )
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _interrupt)
    try:
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="ullage-cluster-"))
            keeper = Keeper(folder)
            stack.callback(keeper.release)
            asyncio.run(_tell(_started(args, folder, stack, keeper), keeper))
    except KeyboardInterrupt:
        print("\nStopped. Nothing of it is left.")
    return DONE


class Trial(NamedTuple):
    """What runs."""

    store: str
    restate: LocalRestate
    parts: Sequence[ClusterPart]


def _started(
    args: argparse.Namespace, folder: Path, stack: ExitStack, keeper: Keeper
) -> Trial:
    environment: Mapping[str, str] = dict(os.environ)
    model = ["--model", args.model]
    if not args.model:
        model = ["--tools", TOOLS]
        place = folder / "simulated"
        begun = simulated(pause_s=PAUSE_S, place=place)
        environment = stack.enter_context(begun).within(environment)
    if not is_installed():
        print(f"Installing {PACKAGE} with npm, once (some 130 MB) ...", flush=True)
    program = restate_program()
    print("Starting Restate and PostgreSQL ...", flush=True)
    restate = LocalRestate(folder / "restate", program)
    stack.callback(restate.kill)
    engine = restate.start()
    keeper.add(engine)
    store = args.store or _database(folder / "postgres", stack, keeper)

    dispatch = ["--store", store, "--dispatch", "restate"]
    workers_port, *ports = free_ports(1 + COUNT)
    parts: list[ClusterPart] = []
    stack.callback(_end, parts)
    for number, port in enumerate(ports, 1):
        arguments = ["serve", "--port", str(port), "--no-live", *dispatch, *model]
        arguments += ["--restate", restate.ingress]
        part = ClusterPart(f"server {number}", arguments, environment, folder)
        parts.append(part)
        keeper.add(part.process.pid)
        if number == 1:  # it makes the tables
            _link_of(parts[0])
    listen = ["--listen", f"{LOOPBACK}:{workers_port}", "--restate-key", restate.key]
    listen += ["--restate-admin", restate.admin]
    for number in range(1, COUNT + 1):
        arguments = ["admin", "worker", *dispatch, *listen, *model]
        part = ClusterPart(f"worker {number}", arguments, environment, folder)
        parts.append(part)
        keeper.add(part.process.pid)
    links = [_link_of(part) for part in parts[:COUNT]]
    for part in parts[COUNT:]:
        part.until(lambda: _listens(workers_port))

    print(f"PostgreSQL  {store}\nRestate     {restate.ingress} (admin {restate.admin})")
    for part, address in zip(parts, [*links, "", ""], strict=True):
        print(f"{part.name.capitalize():<11} pid {part.process.pid}  {address}".rstrip())
    print(TOUR.format(restate=engine, store=store, folder=folder), flush=True)
    return Trial(store, restate, parts)


def _link_of(server: ClusterPart) -> str:
    """What opens its page: the link that works once, or its address where the user has set a token."""
    server.until(lambda: "Ctrl-C stops it" in server.said())
    addresses: list[str] = re.findall(r"http://\S+", server.said())
    return max(addresses, key=lambda address: "#link=" in address)


def _database(folder: Path, stack: ExitStack, keeper: Keeper) -> str:
    postgres = LocalPostgres(folder)
    stack.callback(postgres.stop)
    keeper.add(postgres.start(), signal.SIGQUIT)
    return postgres.url


async def _tell(trial: Trial, keeper: Keeper) -> None:
    """Say who drives each session, and start again what was killed, until all servers and workers failed."""
    running = list(trial.parts)
    told: dict[str, str] = {}
    store = store_at(trial.store)
    try:
        while running:
            for part in tuple(running):
                if not _runs(part, keeper):
                    running.remove(part)
            if trial.restate.has_ended:
                print("Restate has ended, and is started again.", flush=True)
                keeper.add(await asyncio.to_thread(trial.restate.start))
            with suppress(StoreUnavailable):
                for row in await store.sessions(limit=LISTED):
                    line = _line(row, trial.parts)
                    if line and line != told.get(row.id):
                        print(line, flush=True)
                    told[row.id] = line
            await asyncio.sleep(LOOKED_AT_S)
    finally:
        await store.close()
    print("All servers and workers have ended.")


def _runs(part: ClusterPart, keeper: Keeper) -> bool:
    """Whether it runs, again if it was ended. It does not when it failed."""
    code = part.process.poll()
    if code is None:
        return True
    keeper.forget(part.process.pid)
    if code > 0:
        print(
            f"{part.name.capitalize()} has failed. The end of its log:\n{part.said()[-1000:]}"
        )
        return False
    part.start()
    keeper.add(part.process.pid)
    again = f"{part.name.capitalize()} has ended, and is started again"
    print(f"{again}: pid {part.process.pid}", flush=True)
    return True


def _line(row: SessionRow, parts: Sequence[ClusterPart]) -> str:
    """What a session does that has a title; empty at rest."""
    title = quoted(row.title)
    for asked in row.standing.approvals:
        return f"The session {title} needs your approval of `{asked.tool}`."
    for part in parts if row.title else ():
        pid = str(part.process.pid)
        if pid in row.held_by.split(":")[1:2]:
            name = part.name.capitalize()
            return f"{name} drives the session {title}. To end it: kill -9 {pid}"
    return ""


def _end(parts: Sequence[ClusterPart]) -> None:
    for part in parts:
        part.tell_to_end()
    for part in parts:
        part.until_ended()


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0):
            return True
    except OSError:
        return False


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
