"""Users' programs under pyright: what is right passes, and each line that is wrong is found.

A program is another file of this folder. mypy reads it with the rest of the repository (``scripts.check``), and fails
for what is wrong in a line without ``# type: ignore``, and for a line with one that is right.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted(set(Path(__file__).parent.glob("*.py")) - {Path(__file__)})
ROOT = Path(__file__).parents[4]
WRONG = ("# type: ignore[", "# wrong for pyright alone")

Found = set[tuple[str, int]]
"""Lines by the name of their program."""


def wrong_lines() -> Found:
    found: Found = set()
    for program in PROGRAMS:
        lines = program.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if any(mark in line for mark in WRONG):
                found.add((program.stem, number))
    return found


def test_type_checkers_are_told_that_each_package_has_types() -> None:
    packages = list(ROOT.glob("packages/*/src/*/__init__.py"))
    assert len(packages) > 5
    assert all(each.with_name("py.typed").exists() for each in packages)


@pytest.mark.sweep
def test_pyright_finds_the_wrong_lines_of_the_programs_and_no_others(
    tmp_path: Path,
) -> None:
    """Outside of the repository, whose own rules for type checkers do not reach them."""
    for program in PROGRAMS:
        (tmp_path / program.name).write_bytes(program.read_bytes())
    rules = {"typeCheckingMode": "standard", "enableTypeIgnoreComments": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(rules), "utf-8")
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson"]  # fmt: skip
    done = subprocess.run(
        [*command, "--project", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    found: Found = set()
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            name, line = Path(each["file"]).stem, each["range"]["start"]["line"]
            found.add((name, line + 1))
    assert found == wrong_lines(), done.stdout + done.stderr
