"""A test of the first tier starts no program, and takes little time of the processor.

One that starts a program fails at once. One that takes more than ``LIMIT_S`` of the processor's time is named in the
closing lines; it fails no run, since the time is the machine's as well. What a module costs that is loaded for the
first time is nobody's. And in every tier a test fails after which a task's exception was left to asyncio, which only
logs it.

    uv run pytest --measure        runs the slow ones too, and writes tests/slow.txt anew
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from tests import marks

SLOW_S: Final = 0.2
"""A test that takes more is slow."""

LIMIT_S: Final = 3 * SLOW_S
"""A busy machine takes longer for the same; no test of the first tier takes so much longer."""

EVENTS: Final = frozenset(
    {
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)
"""What Python tells (https://docs.python.org/3/library/audit_events.html) when a program is started."""

CPU: Final = "cpu_s"
HEAD: Final = """\
# Tests that take more than 0.2 s of the processor's time: the second tier has them, the first is without them.
# Written by: uv run pytest --measure
"""


class ProgramStarted(AssertionError):
    """A test of the first tier started a program. Not an ``OSError``, so that no retry swallows it."""


class Watch:
    """Which test may not start a program now, and what was started nevertheless."""

    def __init__(self) -> None:
        self.test = ""
        self.started: list[str] = []

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse the start of a program, where it is one that is watched for.

        Python's own ``platform`` asks ``uname``, once in a process and for whoever loads a framework first.
        """
        if event in EVENTS and self.test and arguments[:1] != ("uname",):
            self.started.append(f"{event}{arguments[:2]!r:.200}")
            raise ProgramStarted(why(self.test, self.started[-1]))


def why(test: str, started: str) -> str:
    return (
        f"{test} is of the first tier and starts a program: {started}."
        " Use a fake, or mark the test with @pytest.mark.program."
    )


_watch = Watch()


def install() -> None:
    """Listen to what this process starts, and to asyncio, for as long as it lives."""
    sys.addaudithook(_watch.hear)
    logging.getLogger("asyncio").addHandler(untaken)


@contextmanager
def watched(item: pytest.Item) -> Generator[None, None, None]:
    """While a test of the first tier runs, no program is started."""
    _watch.test = item.nodeid if marks.is_of_the_first_tier(item) else ""
    try:
        yield
    finally:
        _watch.test = ""


def complain() -> None:
    """Fail for a start that was refused, and whose refusal something swallowed."""
    if started := ", ".join(_watch.started):
        _watch.started.clear()
        raise ProgramStarted(why("This test", started))


SDKS: Final = "coro=<AsyncClient.aclose()"
"""The SDKs close the clients that nobody closed in tasks of their own."""


class Untaken(logging.Handler):
    """Hears of tasks and futures whose exception nobody took: asyncio only logs them."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what asyncio says of one."""
        said = record.getMessage()
        if "exception was never retrieved" in said and SDKS not in said:
            self.said.append(said)

    def take(self) -> list[str]:
        """What was heard since the last time."""
        said, self.said = self.said, []
        return said


untaken = Untaken()


class Meter:
    """How long the processor works for a test, in this process."""

    def __init__(self) -> None:
        self._begun = self._loaded = 0.0

    def begin(self) -> None:
        self._begun, self._loaded = now(), len(sys.modules)

    def end(self, report: pytest.TestReport) -> None:
        """A test has ended: its report says how long it took, unless it loaded modules meanwhile."""
        if len(sys.modules) == self._loaded:
            report.user_properties.append((CPU, round(now() - self._begun, 2)))


def now() -> float:
    """The processor's time that this process has taken (seconds)."""
    taken = os.times()
    return taken.user + taken.system


class Budget:
    """The plug-in of the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._taken: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the longest case of each test."""
        if report.when == "teardown":
            test = report.nodeid.partition("[")[0]
            taken = dict(report.user_properties).get(CPU, 0.0)
            assert isinstance(taken, float)
            self._taken[test] = max(taken, self._taken.get(test, 0.0))

    def above(self, limit_s: float) -> list[str]:
        """The tests of which a case took longer."""
        return sorted(test for test, taken in self._taken.items() if taken > limit_s)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A run with a test that is too long fails; one that measures writes the list."""
        if self._config.option.measure:
            listed = "".join(f"{test}\n" for test in self.above(SLOW_S))
            marks.SLOW.write_text(HEAD + listed, "utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name what is too long."""
        for test in [] if self._config.option.measure else self.above(LIMIT_S):
            terminalreporter.write_line(
                f"TOO LONG FOR THE FIRST TIER: {test} took {self._taken[test]:.2f} s of the processor."
                f" Make it shorter, or list it in {marks.SLOW.name}.",
                red=True,
            )
