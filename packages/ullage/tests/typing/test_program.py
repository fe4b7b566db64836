"""Users' programs under mypy and pyright: what is right passes, and each line that is wrong is found.

A program is a file ``*.txt`` beside this one. Every wrong line in it ends with ``# wrong``.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted(Path(__file__).parent.glob("*.txt"))
ROOT = Path(__file__).parents[4]

Found = set[tuple[str, int]]
"""Lines by the name of their program."""


def wrong_lines() -> Found:
    found: Found = set()
    for program in PROGRAMS:
        lines = program.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if line.endswith("# wrong"):
                found.add((program.stem, number))
    return found


def copied(place: Path) -> list[str]:
    """The programs outside the repository, whose own rules for type checkers do not reach them."""
    paths = []
    for program in PROGRAMS:
        path = place / f"{program.stem}_program.py"
        path.write_text(program.read_text("utf-8"), "utf-8")
        paths.append(str(path))
    return paths


def line_of(path: str, number: int) -> tuple[str, int]:
    return Path(path).stem.removesuffix("_program"), number


@pytest.mark.sweep
def test_mypy_finds_the_wrong_lines_of_the_programs_and_no_others(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file="]
    command += ["--no-error-summary", "--hide-error-context"]
    command += ["--cache-dir", str(tmp_path / "cache"), *copied(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: Found = set()
    for line in done.stdout.splitlines():
        if ": error:" in line:
            path, number, *_ = line.split(":")
            found.add(line_of(path, int(number)))
    assert found == wrong_lines(), done.stdout + done.stderr


@pytest.mark.sweep
def test_pyright_finds_the_wrong_lines_of_the_programs_and_no_others(
    tmp_path: Path,
) -> None:
    copied(tmp_path)
    rules = '{"typeCheckingMode": "standard"}'
    (tmp_path / "pyrightconfig.json").write_text(rules, "utf-8")
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
            found.add(line_of(each["file"], each["range"]["start"]["line"] + 1))
    assert found == wrong_lines(), done.stdout + done.stderr
