"""A test that fails in a run of the whole suite is run once more, alone and in one process.

If it passes then, the run passes: its closing lines name it as FLAKY, and JUnit's file has it as ``flakyFailure``.
The run still fails where

- a test fails twice, or a process of the tests crashed
- more than ``MOST`` tests are flaky
- a flaky test is of the functional core or the house, which wait for nothing
- it is listed in ``tests/flaky.txt``: each may stand there once, with the reason, until it is fixed or deleted

A run of named paths, or one that ends at the first failure, shows failures as they are.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from xml.etree import ElementTree

import pytest

from scripts.house.layers import PURE

MOST: Final = 3
"""So many tests of a run may be flaky. Where more than four times as many fail, none is run again."""

TIMELESS: Final = {name.partition("/")[2] for name in PURE} | {"house"}
"""Directories whose tests wait for nothing, so that nothing excuses a failure."""

LIST: Final = Path("tests", "flaky.txt")
PROPERTY: Final = "failed_test"


def listed(text: str) -> list[str]:
    """The tests of a list: one a line, with the reason behind ``  # ``. Lines that begin with ``#`` are prose."""
    lines = [line.partition("  # ")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def package_of(test: str) -> str:
    """The directory below a folder ``tests``, or what a file there tests."""
    below = test.partition("tests/")[2] or test.partition("/")[2]
    return below.partition("/")[0].removeprefix("test_").partition(".py")[0]


def objections(flaky: Collection[str], known: Collection[str]) -> Iterator[str]:
    """Why a run fails although all of its failed tests passed when they were run again."""
    if len(flaky) > MOST:
        yield f"{len(flaky)} tests are flaky, and {MOST} may be."
    for test in flaky:
        if package_of(test) in TIMELESS:
            yield f"{test} waits for nothing: find out why it failed."
        if test in known:
            yield f"{test} is listed in {LIST} already: fix or delete it."


def passes_alone(test: str, root: Path) -> bool:
    """Whether a test passes in a process of its own. One that is skipped does not."""
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider"]
        command += [f"--rootdir={root}", f"--junitxml={report}", test]
        done = subprocess.run(
            command,
            cwd=root,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )
        if done.returncode or not report.exists():
            return False
        suite = ElementTree.parse(report).getroot().find("testsuite")
        return suite is not None and outcome_of(suite) == [1, 0, 0, 0]


def outcome_of(suite: ElementTree.Element) -> list[int]:
    """How many tests ran, failed, had errors and were skipped."""
    counted = ("tests", "failures", "errors", "skipped")
    return [int(suite.get(name, "0")) for name in counted]


def excuse(report: Path, numbers: Collection[str]) -> None:
    """Make failures of JUnit's file flaky ones: those of tests with these numbers in ``PROPERTY``."""
    tree = ElementTree.parse(report)
    for suite in tree.iter("testsuite"):
        for case in suite.iter("testcase"):
            given = case.find(f"properties/property[@name='{PROPERTY}']")
            if given is None or given.get("value") not in numbers:
                continue
            for tag, counter in (("failure", "failures"), ("error", "errors")):
                for failure in case.findall(tag):
                    failure.tag = f"flaky{tag.capitalize()}"
                    suite.set(counter, str(int(suite.get(counter, "0")) - 1))
    tree.write(report, encoding="utf-8", xml_declaration=True)


class Again:
    """The plug-in of the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: dict[str, list[pytest.TestReport]] = {}
        self._is_broken = False
        self._flaky: list[str] = []
        self._lines: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed, and number it for JUnit's file."""
        if report.failed:
            self._failed.setdefault(report.nodeid, []).append(report)
            if report.when not in ("setup", "call", "teardown"):
                self._is_broken = True  # the process crashed that ran it
        if report.when == "teardown" and report.nodeid in self._failed:
            report.user_properties.append((PROPERTY, self._number_of(report.nodeid)))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that can't be collected is no test that could be run again."""
        if report.failed:
            self._is_broken = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Run the failed tests again, and decide how the run ends."""
        is_ended = session.exitstatus != pytest.ExitCode.TESTS_FAILED
        is_cut = bool(
            session.shouldfail or session.shouldstop or self._config.option.usepdb
        )
        if is_ended or is_cut or self._is_broken or not self._failed:
            return
        reports = sum(len(each) for each in self._failed.values())
        if reports != session.testsfailed or len(self._failed) > 4 * MOST:
            return
        root = self._config.rootpath
        twice = [test for test in self._failed if not passes_alone(test, root)]
        self._flaky = [test for test in self._failed if test not in twice]
        self._lines = [f"FLAKY: {test}" for test in self._flaky]
        self._lines += [f"FAILED TWICE: {test}" for test in twice]
        objected = list(objections(self._flaky, self._known(root)))
        self._lines += [f"NOT EXCUSED: {why}" for why in objected]
        if not twice and not objected:
            self._lines.append(f"List what is flaky in {LIST}, with the reason.")
            session.exitstatus = pytest.ExitCode.OK
            self._excuse()

    def _known(self, root: Path) -> list[str]:
        found = root / LIST
        return listed(found.read_text("utf-8")) if found.exists() else []

    def _number_of(self, test: str) -> str:
        return str(list(self._failed).index(test))

    def _excuse(self) -> None:
        """Take the flaky tests from the failures that are counted."""
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        stats = reporter.stats
        for kind in ("failed", "error"):
            left = [
                each for each in stats.pop(kind, []) if each.nodeid not in self._flaky
            ]
            if left:
                stats[kind] = left
        stats["flaky"] = self._reports()

    def _reports(self) -> list[pytest.TestReport]:
        return [report for test in self._flaky for report in self._failed[test]]

    def pytest_terminal_summary(
        self, terminalreporter: Any, exitstatus: int, config: pytest.Config
    ) -> None:
        """Show why the flaky tests failed, and say what follows."""
        is_excused = "flaky" in terminalreporter.stats
        if is_excused:
            terminalreporter.section("FLAKY")
            for report in self._reports():
                terminalreporter.write_line(report.nodeid)
                report.toterminal(terminalreporter._tw)
            if config.option.xmlpath:
                numbers = {self._number_of(test) for test in self._flaky}
                excuse(Path(config.option.xmlpath), numbers)
        for line in self._lines:
            terminalreporter.write_line(line, red=not is_excused, yellow=is_excused)


def register(config: pytest.Config) -> None:
    """Apply the rule to a run of the whole suite."""
    is_worker = hasattr(config, "workerinput")
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if is_whole and not is_worker:
        config.pluginmanager.register(Again(config), "again")
