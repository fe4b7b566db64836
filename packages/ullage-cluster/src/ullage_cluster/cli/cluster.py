"""``ullage admin cluster --local``: PostgreSQL, Restate, two servers and two workers of this machine, for a trial."""

from __future__ import annotations

import argparse
import os
import re
import shutil
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
from typing import Final

from ullage.cli.exit_codes import DONE
from ullage.errors import SettingError
from ullage.store.private_file import replace_file
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

TRY: Final = """
Try:
  - Open the link of server 1 in a browser, begin a session, and watch it by the link of server 2 as well.
  - `kill -9 {worker}` in the middle of an answer: the other worker gives the answer again, at once.
  - Call the API with the token of the file that server-1.log names.
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
        self._log = folder / f"{name.replace(' ', '-')}.log"
        replace_file(self._log, b"")
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - this program itself
                [sys.executable, "-m", "ullage", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={**environment, "ULLAGE_MACHINE": name.replace(" ", "")},
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
        """All programs have ended."""
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
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            keeper = Keeper(folder)
            stack.callback(keeper.release)
            parts = _started(args, folder, stack, keeper)
            _until_interrupted(parts, keeper)
    except KeyboardInterrupt:
        print("\nStopped. Nothing of it is left.")
    return DONE


def _started(
    args: argparse.Namespace, folder: Path, stack: ExitStack, keeper: Keeper
) -> list[ClusterPart]:
    environment: Mapping[str, str] = dict(os.environ)
    if not args.model:
        environment = stack.enter_context(simulated(pause_s=PAUSE_S)).within(environment)
    if not is_installed():
        print(f"Installing {PACKAGE} with npm, once (some 130 MB) ...", flush=True)
    program = restate_program()
    print("Starting Restate and PostgreSQL ...", flush=True)
    restate = LocalRestate(folder / "restate", program)
    stack.callback(restate.kill)
    keeper.add(restate.start())
    store = args.store or _database(folder / "postgres", stack, keeper)

    dispatch = ["--store", store, "--dispatch", "restate"]
    model = ["--model", args.model] if args.model else []
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
    print(
        TRY.format(
            worker=parts[COUNT].process.pid,
            folder=folder,
        ),
        flush=True,
    )
    return parts


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


def _until_interrupted(parts: Sequence[ClusterPart], keeper: Keeper) -> None:
    running = list(parts)
    while running:
        for part in tuple(running):
            if part.process.poll() is not None:
                running.remove(part)
                keeper.forget(part.process.pid)
                print(f"{part.name.capitalize()} has ended.", flush=True)
        time.sleep(0.2)
    print("All servers and workers have ended.")


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
