"""A process that a run leaves behind fails the run: it holds ports, files and memory of whoever comes next.

What a test starts, and what that starts in turn, inherits a variable of the run, by which it is found when all tests
have ended. Linux only: elsewhere no process tells its variables.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

VARIABLE: Final = "ULLAGE_TEST_RUN"
GRACE_S = 20.0
"""A server that was told to end takes a moment, more on a busy machine."""


def left_behind(run: str, proc: Path = Path("/proc")) -> Iterator[tuple[int, str]]:
    """The processes that have the variable of a run, this one apart: their numbers, and their command lines."""
    wanted = f"{VARIABLE}={run}".encode()
    for place in proc.glob("[0-9]*"):
        with suppress(OSError):
            variables = (place / "environ").read_bytes().split(b"\0")
            if wanted in variables and int(place.name) != os.getpid():
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ")
                yield int(place.name), command.decode(errors="replace")[:200]


class Left:
    """The plug-in of the process that reports."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._found: dict[int, str] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """When the processes that ran the tests have ended: end what is left, and fail the run."""
        end = time.monotonic() + GRACE_S
        while (found := dict(left_behind(self._run))) and time.monotonic() < end:
            time.sleep(0.1)
        self._found = found
        for number in found:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        if found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name what was left."""
        for number, command in self._found.items():
            terminalreporter.write_line(f"LEFT BEHIND: {number} {command}", red=True)


def register(config: pytest.Config) -> None:
    """Watch over a run, in the process that reports."""
    if not hasattr(config, "workerinput"):
        run = os.environ.setdefault(VARIABLE, str(os.getpid()))
        if run == str(os.getpid()):  # a run inside a test is part of the run around it
            config.pluginmanager.register(Left(run), "left")
