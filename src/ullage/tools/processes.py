"""A command with all the processes it starts, which end with it.

On Linux a launcher (``launcher.py``) is the parent of them all and ends them, daemons too, whatever they did to their
session or environment. Elsewhere the process group is what can be reached.
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

from ullage.tools.threads import in_thread

MARK: Final = "ULLAGE_COMMAND"
"""The environment variable that tells whose processes these are, for those that lost their launcher."""

TERM_S: Final = 1.0
"""Seconds between TERM and KILL."""
KILL_S: Final = 0.9
"""Seconds in which KILL is repeated for what was started meanwhile; with ``TERM_S`` it stays below 2."""

LAUNCHER_S: Final = 10.0
"""Seconds a launcher gets, after TERM and its own wait, to end what it started."""

LAUNCHER: Final = str(Path(__file__).with_name("launcher.py"))
HAS_LAUNCHER: Final = sys.platform.startswith("linux")

_POLL_S: Final = 0.02
_LINGER_S: Final = 0.2  # seconds to wait for the last output after the command itself ended
_CHUNK: Final = 1 << 16
_NO_END: Final = 1 << 62
UNLIMITED: Final[Mapping[str, int]] = {
    "processes": 1 << 20,
    "memory_bytes": _NO_END,
    "file_bytes": _NO_END,
    "temp_bytes": _NO_END,
    "open_files": 1 << 20,
}
"""The limits of a command that has none."""

Exceeded = Literal["", "processes", "memory", "disk", "temp"]


class ProcessEnd(NamedTuple):
    """How a command ended: its exit code, or minus the signal; whether time was up; whether processes were left over.

    What was left over has been ended too. ``exceeded`` is the limit that the command was ended for.
    """

    code: int
    timed_out: bool
    left_over: bool
    exceeded: Exceeded = ""


class ProcessSpec(NamedTuple):
    """What to run. ``descriptors`` are passed on; ``env`` is the whole environment; ``term_s`` is from TERM to KILL.

    ``spec`` is what the launcher is told beside these: limits, and how the command is confined.
    """

    arguments: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    descriptors: Sequence[int] = ()
    term_s: float = TERM_S
    spec: Mapping[str, Any] = {}


class LauncherReport(msgspec.Struct, frozen=True):
    """What the launcher tells at the end."""

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
        "temp": "",
        "is_wrapped": False,
        "open": [],
        "held": [],
        "landlock": None,
        "seccomp": "",
        "capabilities": None,
        **command.spec,
    }
    return [sys.executable, "-I", "-S", LAUNCHER, msgspec.json.encode(spec).decode()]


async def run_command(command: ProcessSpec, take: Callable[[bytes], object], *, timeout_s: float) -> ProcessEnd:
    """Run it without input; ``take`` gets what it prints, both streams in the order they were written.

    Cancelling ends all its processes, TERM first and KILL a second later, and only then goes on; cancelling again
    kills at once. Raises ``OSError`` where it can't be started.
    """
    mark = secrets.token_hex(12)
    reading, writing = os.pipe()
    reports, reporting = os.pipe()
    lifeline, life = os.pipe()
    output = OutputReader(reading, take)
    arguments = launched(command, lifeline=lifeline, report=reporting) if HAS_LAUNCHER else command.arguments
    try:
        try:
            process = subprocess.Popen(  # not asyncio's: there a cancel while it starts leaves it running
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
            return await _attended(process, ProcessGroup(process.pid, mark, term_s=command.term_s), output, timeout_s)
        launch = LaunchedProcesses(process, life, mark, term_s=command.term_s)
        ended = await _attended(process, launch, output, timeout_s)
        return _reported(reports, ended)
    finally:
        output.close()
        os.close(reports)
        with suppress(OSError):  # closed by a kill
            os.close(life)


def _reported(reports: int, ended: ProcessEnd) -> ProcessEnd:
    """How the launcher says that the command ended. Raises ``OSError`` for one that could not be started."""
    told = os.read(reports, _CHUNK)
    if not told:  # the launcher itself was killed
        return ended
    report = _REPORT.decode(told)
    if report.error:
        raise OSError(report.error)
    return ProcessEnd(report.code, ended.timed_out, report.left_over and not ended.timed_out, report.exceeded)


async def _attended(
    process: subprocess.Popen[bytes], group: ProcessGroup | LaunchedProcesses, output: OutputReader, timeout_s: float
) -> ProcessEnd:
    code = asyncio.ensure_future(in_thread(process.wait))
    try:
        done, _ = await asyncio.wait({code}, timeout=timeout_s)
        if done:
            await output.ended(_LINGER_S)
            left_over = group.is_alive()
            if left_over:
                await group.end(strays=False)
        else:
            left_over = False
            await group.end(strays=True)
        await output.ended(_LINGER_S)
        return ProcessEnd(await code, not done, left_over)
    except asyncio.CancelledError:
        await group.end(strays=True)
        await code
        raise
    finally:
        if not code.done():
            group.kill()
            code.cancel()


class LaunchedProcesses:
    """A launcher and all that descends from it. The lifeline is the writing end of a pipe that only we hold."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: int, mark: str, *, term_s: float) -> None:
        self._process = process
        self._lifeline = lifeline
        self._strays = ProcessGroup(None, mark, term_s=0.0)
        self._term_s = term_s

    def is_alive(self) -> bool:
        """Whether processes are left that lost their launcher: it was killed before it could end them."""
        return self._process.returncode not in (0, None) and self._strays.is_alive(strays=True)

    async def end(self, *, strays: bool) -> None:
        """TERM, a second later KILL, until none is left. A cancel meanwhile kills at once and then goes on."""
        try:
            await in_thread(self._end)
        except asyncio.CancelledError:
            self.kill()
            raise

    def kill(self) -> None:
        """KILL to all there are now; the launcher does it when the lifeline is closed."""
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

    Without a leader the mark is all that is known of them.
    """

    def __init__(self, leader: int | None, mark: str, *, term_s: float = TERM_S) -> None:
        self._leader = leader
        self._term_s = term_s
        self._mark = f"{MARK}={mark}".encode()

    def is_alive(self, *, strays: bool = False) -> bool:
        """Whether a process of the group lives; with ``strays`` also those that left it."""
        return bool(self._members(strays=strays))

    async def end(self, *, strays: bool) -> None:
        """TERM, a second later KILL, until none is left. A cancel meanwhile kills at once and then goes on."""
        try:
            await in_thread(self._end, strays)
        except asyncio.CancelledError:
            self.kill()
            raise

    def kill(self) -> None:
        """KILL to all there are now."""
        self._send(signal.SIGKILL, self._members(strays=True))

    def end_now(self) -> None:
        """Like ``end``, in this thread."""
        self._end(strays=True)

    def _end(self, strays: bool) -> None:
        members = self._members(strays=strays)
        self._send(signal.SIGTERM, members)
        self._send(signal.SIGCONT, members)  # one that is stopped can't act on TERM
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
        """Living processes; without ``/proc`` the group is one, named by its leader."""
        if not os.path.isdir("/proc/self"):
            return {self._leader} if self._leader is not None and _is_group(self._leader) else set()
        return {pid for pid in _processes() if self._owns(pid, strays=strays)}

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
            return False  # gone meanwhile, or not ours to look at

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
        """Wait until nobody can write any more, or the time is up."""
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
        yield from (int(name) for name in os.listdir("/proc") if name.isdigit())
