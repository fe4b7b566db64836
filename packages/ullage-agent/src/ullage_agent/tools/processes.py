"""Runs a command and ends all the processes it starts.

On Linux a launcher (``launcher.py``) is the parent of them all and ends them, including daemons that changed their
session or environment. Elsewhere only the process group can be ended.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
_LINGER_S: Final = (
    0.2  # seconds to wait for the last output after the command itself ended
)
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
    """How a command ended: its exit code, or minus the signal.

    ``left_over``: it left processes behind, which have been ended too. ``exceeded`` is the limit it was ended for.
    """

    code: int
    timed_out: bool
    left_over: bool
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
    left_over: bool = False
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
        if not HAS_LAUNCHER:
            group = ProcessGroup(process.pid, mark, term_s=command.term_s)
            return await _attend(process, group, output, timeout_s)
        launch = LaunchedProcesses(process, life, mark, term_s=command.term_s)
        end = await _attend(process, launch, output, timeout_s)
        return _reported(reports, end)
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
    left_over = report.left_over and not end.timed_out
    return ProcessEnd(report.code, end.timed_out, left_over, report.exceeded)


async def _attend(
    process: subprocess.Popen[bytes],
    group: ProcessGroup | LaunchedProcesses,
    output: OutputReader,
    timeout_s: float,
) -> ProcessEnd:
    code = start(
        in_thread(process.wait)
    )  # goes on while a cancel of the caller ends the processes
    try:
        done, _ = await asyncio.wait({code}, timeout=timeout_s)
        left_over = False
        if done:
            await output.ended(_LINGER_S)
            left_over = group.is_alive()
        if left_over or not done:
            await group.end(strays=not done)
        await output.ended(_LINGER_S)
        return ProcessEnd(await code, timed_out=not done, left_over=left_over)
    except asyncio.CancelledError:
        await group.end(strays=True)
        await code
        raise
    finally:
        if not code.done():
            group.kill()
            code.cancel()


class LaunchedProcesses:
    """A launcher and its descendants. ``lifeline`` is the writing end of a pipe that only this process holds."""

    def __init__(
        self, process: subprocess.Popen[bytes], lifeline: int, mark: str, *, term_s: float
    ) -> None:
        self._process = process
        self._lifeline = lifeline
        self._strays = ProcessGroup(None, mark, term_s=0.0)
        self._term_s = term_s

    def is_alive(self) -> bool:
        """Whether processes are left after the launcher was killed before it could end them."""
        return self._process.returncode not in (0, None) and self._strays.is_alive(
            strays=True
        )

    async def end(self, *, strays: bool) -> None:
        """TERM, a second later KILL, until none is left. A cancel meanwhile kills at once."""
        try:
            await in_thread(self._end)
        except asyncio.CancelledError:
            self.kill()
            raise

    def kill(self) -> None:
        """KILL all of them: the launcher does so when the lifeline closes."""
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(self._term_s + LAUNCHER_S)
        if self._process.poll() != 0:
            self._process.kill()
            self._strays.end_now()


class ProcessGroup:
    """The processes of one command: those in its leader's group, and those that carry its mark.

    Without a leader only the mark identifies them.
    """

    def __init__(self, leader: int | None, mark: str, *, term_s: float = TERM_S) -> None:
        self._leader = leader
        self._term_s = term_s
        self._mark = f"{MARK}={mark}".encode()

    def is_alive(self, *, strays: bool = False) -> bool:
        """Whether a process of the group lives; with ``strays`` also those that left it."""
        return bool(self._members(strays=strays))

    async def end(self, *, strays: bool) -> None:
        """TERM, a second later KILL, until none is left. A cancel meanwhile kills at once."""
        try:
            await in_thread(self._end, strays)
        except asyncio.CancelledError:
            self.kill()
            raise

    def kill(self) -> None:
        """KILL all of them."""
        self._send(signal.SIGKILL, self._members(strays=True))

    def end_now(self) -> None:
        """Does what ``end`` does, in this thread."""
        self._end(strays=True)

    def _end(self, strays: bool) -> None:
        members = self._members(strays=strays)
        self._send(signal.SIGTERM, members)
        self._send(signal.SIGCONT, members)  # a stopped process can't act on TERM
        deadline = time.monotonic() + self._term_s
        while members and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            members = self._members(strays=strays)
        deadline = time.monotonic() + KILL_S
        while members and time.monotonic() < deadline:
            self._send(signal.SIGKILL, members)
            time.sleep(_POLL_S)
            members = self._members(strays=strays)

    def _members(self, *, strays: bool) -> set[int]:
        """Living processes. Without ``/proc`` the leader stands for the whole group."""
        if os.path.isdir("/proc/self"):
            return {pid for pid in _processes() if self._owns(pid, strays=strays)}
        if self._leader is not None and _is_group(self._leader):
            return {self._leader}
        return set()

    def _owns(self, pid: int, *, strays: bool) -> bool:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, _, group = file.read().rpartition(b")")[2].split()[:3]
            if state in (b"Z", b"X"):
                return False
            if int(group) == self._leader:
                return True
            if not strays:
                return False
            with open(f"/proc/{pid}/environ", "rb") as file:
                return self._mark in file.read().split(b"\0")
        except (OSError, ValueError):
            return False  # it has ended, or belongs to another user

    def _send(self, number: signal.Signals, members: set[int]) -> None:
        if members and self._leader is not None:
            with suppress(OSError):
                os.killpg(self._leader, number)
        for pid in members - {self._leader}:
            with suppress(OSError):
                os.kill(pid, number)


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


def _is_group(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except OSError:
        return False
    return True


def _processes() -> Iterator[int]:
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                yield int(name)
