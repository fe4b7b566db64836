"""The first tier needs nothing but Python, and its tests are short; the second does not begin without its needs."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from tests import everywhere, guard, programs, reach
from tests.guard import CPU, LIMIT_S, Budget, Meter, ProgramStarted, Watch
from tests.postgres import new_server


def hidden() -> None:
    """Starts a program in a way that no code shows."""
    exec("import subprocess; subprocess.run(['true'], check=True)")


def test_a_test_of_the_first_tier_that_starts_a_program_fails() -> None:
    with pytest.raises(ProgramStarted, match=r"pytest\.mark\.program"):
        hidden()
    with pytest.raises(ProgramStarted, match="This test"):
        guard.complain()
    guard.complain()


@pytest.mark.program
def test_a_test_that_is_marked_may_start_one() -> None:
    hidden()


def test_each_way_to_start_a_program_is_heard() -> None:
    for event in guard.EVENTS:
        watch = Watch()
        watch.hear(event, ("true",))
        assert watch.started == []
        watch.test = "tests/test_a.py::test_b"
        with pytest.raises(ProgramStarted):
            watch.hear(event, ("true",))
        watch.hear("open", ("a file",))
        assert len(watch.started) == 1


def by_a_function() -> None:
    subprocess.run(["true"], check=True)


class ByAMethod:
    """Starts a program two calls away."""

    def go(self) -> None:
        self._go()

    def _go(self) -> None:
        by_a_function()


def calls_one() -> None:
    ByAMethod().go()


def calls_none() -> None:
    calls_none()


@pytest.mark.parametrize(
    ("code", "does"),
    [
        (by_a_function, True),
        (calls_one, True),
        (ByAMethod, True),
        (new_server, True),
        (calls_none, False),
        (programs.said, False),
    ],
)
def test_code_that_starts_a_program_is_found(code: object, does: bool) -> None:
    assert reach.reaches(code) is does


def report(taken: float, test: str = "tests/test_a.py::test_b[1]") -> Any:
    return SimpleNamespace(nodeid=test, when="teardown", user_properties=[(CPU, taken)])


def budget(taken: float) -> Budget:
    made = Budget(SimpleNamespace(option=SimpleNamespace(measure=False)))  # type: ignore[arg-type]
    made.pytest_runtest_logreport(report(0.01))
    made.pytest_runtest_logreport(report(taken))
    return made


@pytest.mark.parametrize(("more", "named"), [(0.1, 1), (-0.1, 0)])
def test_a_test_that_takes_too_long_is_named(more: float, named: int) -> None:
    """It fails no run: on a busy machine another test is over the limit each time."""
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    budget(LIMIT_S + more).pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.OK
    lines: list[str] = []
    shown: Any = SimpleNamespace(write_line=lambda line, red: lines.append(line))
    budget(LIMIT_S + more).pytest_terminal_summary(shown)
    assert len(lines) == named
    assert all("tests/test_a.py::test_b" in line for line in lines)


def test_the_time_of_a_test_is_reported_unless_it_loads_modules() -> None:
    meter, shown = Meter(), report(0.0)
    shown.user_properties = []
    meter.begin()
    meter.end(shown)
    assert [name for name, _ in shown.user_properties] == [CPU]


def session(asked: str) -> Any:
    reporter = SimpleNamespace(write_line=lambda line: None)
    plugins = SimpleNamespace(get_plugin=lambda name: reporter)
    config = SimpleNamespace(
        args_source=pytest.Config.ArgsSource.TESTPATHS,
        option=SimpleNamespace(markexpr=asked),
        pluginmanager=plugins,
    )
    return SimpleNamespace(config=config)


def test_a_tier_does_not_begin_without_its_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CHROMIUM", raising=False)
    absent = [need.package for need in programs.missing()]
    assert {"tmux", "npm"} <= set(absent)
    everywhere.pytest_sessionstart(session(""))
    for asked in ("second", "program"):
        with pytest.raises(pytest.UsageError, match="MISSING: tmux"):
            everywhere.pytest_sessionstart(session(asked))
    with pytest.raises(pytest.fail.Exception, match="apt-get install tmux"):
        programs.needed("tmux")
