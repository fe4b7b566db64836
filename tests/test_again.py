"""The rule for flaky tests, and that it can fail: with planted tests, in processes like those of the suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from tests.again import LIST, MOST, listed, objections, outcome_of, package_of

ROOT = Path(__file__).parents[1]

SUITE = """
[tool.pytest.ini_options]
testpaths = ["planted"]
addopts = ["-q", "--import-mode=importlib", "--disable-plugin-autoload", "-p xdist.plugin"]
"""
CONFTEST = "from tests.again import register as pytest_configure"

ONCE = """
import pytest
from pathlib import Path
def test_once(tmp_path):
    place = Path(__file__).with_suffix(".ran")
    if not place.exists():
        place.touch()
        {fails}
"""
FAILS = "raise AssertionError('planted')"
ALWAYS = "def test_always():\n    assert False"
PASSES = "def test_passes(): ..."
IN_SETUP = """
import pytest
from pathlib import Path
@pytest.fixture
def cask():
    place = Path(__file__).with_suffix(".ran")
    if not place.exists():
        place.touch()
        raise OSError("planted")
def test_once(cask): ...
"""


class Ended(NamedTuple):
    """How a run of planted tests ended: its exit code, what it printed, and the counts of JUnit's file."""

    code: int
    printed: str
    counts: list[int]
    tags: set[str]


def run(folder: Path, files: dict[str, str], *options: str) -> Ended:
    """Run planted test files as the suite is run, in two processes."""
    files = {"pyproject.toml": SUITE, "planted/conftest.py": CONFTEST, **files}
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    command = [sys.executable, "-m", "pytest", "-n2", "--junitxml=report.xml", *options]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    tree = ElementTree.parse(folder / "report.xml")
    suite = tree.getroot().find("testsuite")
    assert suite is not None
    tags = {element.tag for element in suite.iter()}
    return Ended(done.returncode, done.stdout + done.stderr, outcome_of(suite), tags)


def once(fails: str = FAILS) -> str:
    return ONCE.format(fails=fails)


def test_a_test_that_passes_alone_is_flaky_and_the_run_goes_on(tmp_path: Path) -> None:
    planted = {
        "planted/server/test_a.py": once(),
        "planted/server/test_b.py": PASSES,
        "planted/server/test_c.py": IN_SETUP,
    }
    ended = run(tmp_path, planted)
    assert ended.code == 0, ended.printed
    assert "FLAKY: planted/server/test_a.py::test_once" in ended.printed
    assert "FLAKY: planted/server/test_c.py::test_once" in ended.printed
    assert "AssertionError: planted" in ended.printed
    assert "1 passed" in ended.printed
    assert "2 flaky" in ended.printed
    assert ended.counts == [3, 0, 0, 0]
    assert {"flakyFailure", "flakyError"} < ended.tags
    assert not {"failure", "error"} & ended.tags


@pytest.mark.parametrize(
    ("planted", "says"),
    [
        (
            {"planted/server/test_a.py": once(), "planted/server/test_b.py": ALWAYS},
            "FAILED TWICE: planted/server/test_b.py::test_always",
        ),
        ({"planted/meter/test_a.py": once()}, "waits for nothing"),
        (
            {f"planted/server/test_{name}.py": once() for name in "abcd"},
            "4 tests are flaky, and 3 may be",
        ),
        (
            {
                "planted/server/test_a.py": once(),
                "tests/flaky.txt": "planted/server/test_a.py::test_once  # seen once",
            },
            "is listed in tests/flaky.txt already",
        ),
        ({"planted/server/test_a.py": once("import os; os._exit(3)")}, "crashed"),
        (
            {
                "planted/server/test_a.py": once(FAILS)
                + "\n    else:\n        pytest.skip()"
            },
            "FAILED TWICE",
        ),
    ],
    ids=["always", "core", "four", "listed", "crash", "skipped"],
)
@pytest.mark.sweep  # a run of tests each, and one more for each failure
def test_the_run_fails(tmp_path: Path, planted: dict[str, str], says: str) -> None:
    ended = run(tmp_path, planted)
    assert ended.code == 1, ended.printed
    assert says in ended.printed
    assert {"failure", "error"} & ended.tags


@pytest.mark.sweep
def test_what_is_no_failure_of_a_test_ends_as_it_did(tmp_path: Path) -> None:
    broken = {
        "planted/server/test_a.py": "import gone",
        "planted/server/test_b.py": PASSES,
    }
    assert run(tmp_path / "broken", broken).code == 1
    assert run(tmp_path / "none", {"planted/server/test_a.py": ""}).code == 5
    cut = run(tmp_path / "cut", {"planted/server/test_a.py": once()}, "-x")
    assert cut.code != 0, cut.printed
    assert "FLAKY" not in cut.printed


def test_a_run_with_few_flaky_tests_of_the_shell_has_no_objection() -> None:
    flaky = [f"tests/server/test_{name}.py::test_a" for name in range(MOST)]
    assert list(objections(flaky, [])) == []
    assert len(list(objections([*flaky, "tests/cli/test_a.py::test_a"], []))) == 1
    assert len(list(objections(flaky, flaky[:1]))) == 1


def test_no_test_of_the_core_may_be_flaky() -> None:
    for package in ("meter", "codec", "context", "tokens", "types", "house", "loop"):
        test = f"packages/ullage/tests/{package}/test_a.py::test_b[c/d]"
        assert package_of(test) == package
        assert len(list(objections([test], []))) == 1, package
    assert len(list(objections(["tests/test_reasoning.py::test_a"], []))) == 1


def test_each_test_of_the_list_is_there_and_stands_once() -> None:
    known = listed((ROOT / LIST).read_text("utf-8"))
    assert len(known) == len(set(known))
    for test in known:
        path, _, name = test.partition("::")
        assert name.partition("[")[0] in (ROOT / path).read_text("utf-8"), test


def test_the_list_is_read_without_reasons_and_prose() -> None:
    text = "# prose\n\ntests/a.py::test_b[c # d]  # 2026-01-02: unknown\n"
    assert listed(text) == ["tests/a.py::test_b[c # d]"]
