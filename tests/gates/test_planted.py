"""Faults that a check once let pass, each planted: the check finds it now."""

from __future__ import annotations

import ast
import json
import logging
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts import audit
from scripts.house import commands, recipes
from scripts.house.source import PACKAGES
from scripts.leftovers import homes
from scripts.repository import ROOT
from tests import marks, reach
from tests.guard import untaken
from tests.marks import SANDBOXED, SWEEPS, slow_ones

TESTS = ROOT / "tests"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PYTEST = SETTINGS["tool"]["pytest"]["ini_options"]


@pytest.mark.parametrize("place", [".ci/run", "Makefile"])
def test_the_site_is_built_so_that_its_warnings_count(place: str) -> None:
    """``--quiet`` hides the warnings that ``--strict`` counts."""
    script = (ROOT / place).read_text("utf-8")
    builds = [
        line for line in script.splitlines() if "mkdocs" in line and "--strict" in line
    ]
    assert builds
    assert not any("--quiet" in line for line in builds)


def skips_in(source: str) -> list[str]:
    """The names by which a test file leaves tests out for want of a module."""
    return re.findall(r"\b(?:importorskip|find_spec\(.*skip)\b", source)


def test_no_test_is_left_out_because_its_module_is_broken() -> None:
    """``importorskip`` takes a module that can't be loaded for one that is not installed."""
    left_out = [
        path.relative_to(ROOT).as_posix()
        for path in [*TESTS.rglob("*.py"), *ROOT.glob("packages/*/tests/**/*.py")]
        if path != Path(__file__) and skips_in(path.read_text("utf-8"))
    ]
    assert left_out == []
    assert skips_in('pytest.importorskip("numpy")')


def test_the_exact_tokenizers_tests_do_not_ask_it_whether_they_run() -> None:
    tree = ast.parse(
        (PACKAGES / "ullage" / "tests" / "tokens" / "test_bpe.py").read_text("utf-8")
    )
    marked = {
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    assert not any("skip" in name for name in marked)
    assert "bpe.is_available" in marked  # one test asks, and fails if it says no


def test_an_empty_list_of_cases_fails() -> None:
    assert PYTEST["empty_parameter_set_mark"] == "fail_at_collect"
    no_recipes = (
        "# Working on it\n\n## Receipts\n\n`packages/ullage/src/ullage/messages.py`\n"
    )
    assert recipes.PATH.search(no_recipes.partition("## Recipes")[2]) is None


LATE = """
async def late(): ...
def test_a_coroutine_is_forgotten():
    late()
    import gc; gc.collect()
"""
THREAD = """
import threading
def test_a_thread_ends_badly():
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
"""
NO_CASES = """
import pytest
@pytest.mark.parametrize("case", [])
def test_no_case(case): ...
"""
PASSES = "def test_passes(): ...\n"


@pytest.mark.program
@pytest.mark.parametrize(
    ("planted", "code"), [(PASSES, 0), (LATE, 1), (THREAD, 1), (NO_CASES, 2)]
)
def test_what_only_warns_or_has_no_case_fails(
    tmp_path: Path, planted: str, code: int
) -> None:
    """By the settings of this project."""
    kept = {name: PYTEST[name] for name in ("filterwarnings", "empty_parameter_set_mark")}
    lines = [f"{name} = {json.dumps(value)}" for name, value in kept.items()]
    settings = "\n".join(["[tool.pytest.ini_options]", *lines, ""])
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "test_planted.py").write_text(planted)
    command = [sys.executable, "-m", "pytest", "--disable-plugin-autoload"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == code, done.stdout.decode()


def test_an_exception_of_a_task_that_nobody_takes_is_heard() -> None:
    logging.getLogger("asyncio").error("Task exception was never retrieved")
    assert untaken.take() == ["Task exception was never retrieved"]


@pytest.mark.parametrize("home", ["home/somebody", "Users/Somebody"])
def test_a_developers_home_is_found_on_any_machine(home: str) -> None:
    assert len(list(homes(f"See /{home}/ullage."))) == 1
    assert list(homes(f"https://example.com/{home}/x")) == []
    assert list(homes("/home/ann/project")) == []


@pytest.mark.parametrize("place", sorted(SWEEPS | SANDBOXED | marks.ELSEWHERE))
def test_each_place_of_a_list_of_tests_is_there(place: str) -> None:
    assert [*ROOT.glob(f"packages/*/tests/{place}"), *TESTS.glob(place)]


def test_each_slow_test_is_there() -> None:
    gone = [test for test in slow_ones() if not is_there(test)]
    assert not gone, f"remove from tests/slow.txt: {', '.join(sorted(gone))}"
    assert not is_there("tests/cli/test_gone.py::test_gone")
    assert not is_there("tests/gates/test_planted.py::test_misspelt_" + "name")


def is_there(test: str) -> bool:
    """Whether a test of a list is in its file."""
    name, _, function = test.partition("::")
    path = ROOT / name
    return path.is_file() and f"def {function.rpartition('::')[2]}(" in path.read_text(
        "utf-8"
    )


@pytest.mark.parametrize("module", reach.OURS)
def test_each_module_that_starts_programs_is_there(module: str) -> None:
    """A module that is renamed would no longer give its tests their mark."""
    package, _, name = module.rpartition(".")
    folder = (
        package.partition(".")[0].replace("_", "-").replace("ullage-programs", "ullage")
    )
    place = PACKAGES / folder / "src" / package.replace(".", "/")
    file = place.with_suffix(".py")
    is_function = file.is_file() and f"def {name}(" in file.read_text("utf-8")
    assert is_function or list(place.glob(f"{name}*"))


@pytest.mark.parametrize(
    "block",
    [
        "```sh\nullage context --no-such-option\n```",
        "```console\n$ uvx ullage nonsense\n```",
        "```sh\ncurl -s https://example.com | ullage nosuch\n```",
        "```sh\nULLAGE_DATA=x uv run ullage context \\\n  --no-such-option\n```",
    ],
)
def test_a_command_that_the_program_refuses_is_found(block: str) -> None:
    (fault,) = commands.faults_of("docs/page.md", f"{block}\n")
    assert fault.startswith("docs/page.md:2: ullage ")


def test_commands_that_the_program_understands_are_no_faults() -> None:
    block = "```sh\nullage wrap claude -- --model opus\nullage context a.jsonl > b  # why\n```\n"
    assert list(commands.faults_of("docs/page.md", block)) == []


def test_an_audit_that_does_not_work_fails() -> None:
    gone = OSError("no report")
    with pytest.raises(audit.Broken, match="No module named"):
        audit.unreported("Traceback\nModuleNotFoundError: No module named 'x'", gone)
    assert "reached nothing" in audit.unreported("error: Could not connect to host", gone)


def test_no_test_is_left_out_for_want_of_a_program() -> None:
    assert "pytest.skip" not in (TESTS / "programs.py").read_text("utf-8")
