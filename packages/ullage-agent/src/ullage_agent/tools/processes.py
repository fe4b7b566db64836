"""Runs a command and ends all the processes it starts.

On Linux a launcher (``launcher.py``) is the parent of them all and ends them, including daemons that changed their
session or environment. Elsewhere only the process group can be ended.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ullage.tasks import start
from ullage.threads import in_thread

MARK: Final = "ULLAGE_COMMAND"
"""The environment variable that identifies a command's processes after their launcher is gone."""

TERM_S: Final = 1.0
"""Seconds between TERM and KILL."""
KILL_S: Final = 0.9
"""Seconds in which KILL is repeated for processes started meanwhile; with ``TERM_S`` it stays below 2."""

LAUNCHER_S: Final = 10.0
"""Seconds a launcher gets, after TERM and its own wait, to end what it started."""

LAUNCHER: Final = str(Path(__file__).with_name("launcher.py"))
HAS_LAUNCHER: Final = sys.platform.startswith("linux")

_POLL_S: Final = 0.02
_LINGER_S: Final = 0.2  # seconds that the last output has after the command has ended
_CHUNK: Final = 1 << 16
_NO_END: Final = 1 << 62
UNLIMITED: Final[Mapping[str, int]] = {
    "processes": 1 << 20,
    "memory_bytes": _NO_END,
    "file_bytes": _NO_END,
    "open_files": 1 << 20,
}
"""The limits of a command that has none."""

Exceeded = Literal["", "processes", "memory", "disk"]


class ProcessEnd(NamedTuple):
    """How a command ended: its exit code, or minus the signal. ``exceeded`` is the limit it was ended for."""

    code: int
    timed_out: bool
    exceeded: Exceeded = ""


class ProcessSpec(NamedTuple):
    """What to run. ``descriptors`` are inherited; ``env`` is the whole environment; ``term_s`` is from TERM to KILL.

    ``spec`` are further options of the launcher: limits, and how the command is confined.
    """

    arguments: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    descriptors: Sequence[int] = ()
    term_s: float = TERM_S
    spec: Mapping[str, Any] = {}


class LauncherReport(msgspec.Struct, frozen=True):
    """What the launcher reports at the end."""

    code: int
    exceeded: Exceeded = ""
    error: str = ""


_REPORT: Final = msgspec.json.Decoder(LauncherReport)


def launched(command: ProcessSpec, *, lifeline: int = -1, report: int = -1) -> list[str]:
    """The command line of the launcher that runs this command. Without ``report`` its exit code is the command's."""
    spec = {
        "command": list(command.arguments),
        "lifeline": lifeline,
        "report": report,
        "grace_s": command.term_s,
        "limits": dict(UNLIMITED),
        "is_wrapped": False,
        "open": [],
        "held": [],
        "seccomp": "",
        **command.spec,
    }
    return [sys.executable, "-I", "-S", LAUNCHER, msgspec.json.encode(spec).decode()]


async def run_command(
    command: ProcessSpec, take: Callable[[bytes], object], *, timeout_s: float
) -> ProcessEnd:
    """Run it without input; ``take`` gets what it prints, both streams in the order they were written.

    Cancelling ends all its processes before it returns, TERM first and KILL a second later; a second cancel kills at
    once. Raises ``OSError`` if it can't be started.
    """
    mark = secrets.token_hex(12)
    reading, writing = os.pipe()
    reports, reporting = os.pipe()
    lifeline, life = os.pipe()
    output = OutputReader(reading, take)
    arguments = command.arguments
    if HAS_LAUNCHER:
        arguments = launched(command, lifeline=lifeline, report=reporting)
    try:
        try:
            process = subprocess.Popen(  # not asyncio's, which leaves it running after a cancel during its start
                arguments,
                cwd=command.cwd,
                env={**command.env, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                pass_fds=(*command.descriptors, lifeline, reporting),
                start_new_session=True,
            )
        finally:
            for descriptor in (writing, reporting, lifeline):
                os.close(descriptor)
        started = _StartedCommand(process, life, mark, term_s=command.term_s)
        end = await _attend(started, output, timeout_s)
        return _reported(reports, end) if HAS_LAUNCHER else end
    finally:
        output.close()
        os.close(reports)
        with suppress(OSError):  # a kill has closed it
            os.close(life)


def _reported(reports: int, end: ProcessEnd) -> ProcessEnd:
    """How the command ended by the launcher's report. Raises ``OSError`` if the command could not be started."""
    data = os.read(reports, _CHUNK)
    if not data:  # the launcher itself was killed
        return end
    report = _REPORT.decode(data)
    if (
        report.error and not end.timed_out
    ):  # the time limit may end a sandbox before it is set up
        raise OSError(report.error)
    return ProcessEnd(report.code, end.timed_out, report.exceeded)


async def _attend(
    command: _StartedCommand, output: OutputReader, timeout_s: float
) -> ProcessEnd:
    # goes on while a cancel of the caller ends the processes
    code = start(in_thread(command.process.wait))
    try:
        done, _ = await asyncio.wait({code}, timeout=timeout_s)
        if done:
            await output.ended(_LINGER_S)
        await command.end()
        await output.ended(_LINGER_S)
        return ProcessEnd(await code, timed_out=not done)
    except asyncio.CancelledError:
        await command.end()
        await code
        raise
    finally:
        if not code.done():
            command.kill()
            code.cancel()


class _StartedCommand:
    """A command that was started: its launcher, or elsewhere than on Linux the leader of its process group.

    ``lifeline`` is the writing end of a pipe that only this process holds.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], lifeline: int, mark: str, *, term_s: float
    ) -> None:
        self.process = process
        self._lifeline = lifeline
        self._mark = mark
        self._term_s = term_s

    async def end(self) -> None:
        """TERM, a second later KILL, until none is left. A cancel meanwhile kills at once."""
        try:
            await in_thread(self._end)
        except asyncio.CancelledError:
            self.kill()
            raise

    def kill(self) -> None:
        """KILL all of them: the launcher does so when the lifeline closes."""
        if not HAS_LAUNCHER:
            self._signal_group(signal.SIGKILL)
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)

    def _end(self) -> None:
        if HAS_LAUNCHER:
            if self.process.poll() is None:
                self.process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(self._term_s + LAUNCHER_S)
            if self.process.poll() != 0:
                self.process.kill()
                end_marked(self._mark)
            return
        self._signal_group(signal.SIGTERM)
        self._signal_group(signal.SIGCONT)  # a stopped process can't act on TERM
        deadline = time.monotonic() + self._term_s
        while self._signal_group(0) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: int) -> bool:
        """Whether the group had a process."""
        try:
            os.killpg(self.process.pid, number)
        except OSError:
            return False
        return True


def end_marked(mark: str, *, term_s: float = 0.0) -> None:
    """KILL every process with this mark until none is left; those that live get TERM before and this time to end."""
    send = [signal.SIGTERM, signal.SIGCONT] if term_s else []
    began_at = time.monotonic()
    while (found := marked(mark)) and time.monotonic() < began_at + term_s + KILL_S:
        if time.monotonic() >= began_at + term_s:
            send = [signal.SIGKILL]
        for pid, number in itertools.product(found, send):
            with suppress(OSError):
                os.kill(pid, number)
        send = []
        time.sleep(_POLL_S)


def marked(mark: str) -> set[int]:
    """The living processes whose environment has this mark; none where there is no ``/proc``."""
    found: set[int] = set()
    wanted = f"{MARK}={mark}".encode()
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or belongs to another user
            if wanted in file.read_bytes().split(b"\0"):
                found.add(int(file.parent.name))
    return found


class OutputReader:
    """The reading end of a command's output, on the event loop."""

    def __init__(self, descriptor: int, take: Callable[[bytes], object]) -> None:
        self._descriptor = descriptor
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    async def ended(self, timeout_s: float) -> None:
        """Wait until the last writer has closed it, or the time is up."""
        await asyncio.wait({self._end}, timeout=timeout_s)

    def close(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._end.cancel()

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._take(data)
            return
        self._loop.remove_reader(self._descriptor)
        if not self._end.done():
            self._end.set_result(None)
