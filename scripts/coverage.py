"""How much of the functional core its own tests run, by package; files below the goal are listed with their lines.

uv run --with coverage python -m scripts.coverage            all packages of the core, each by its own tests
uv run --with coverage python -m scripts.coverage agent      these packages alone

Lines and branches count together. Only the tests in the directory of the package's name count, so
that code which only a test of the whole runs is listed. Exit code 1 if the core is below the goal.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]

PACKAGES = {
    "types": ["tests/types"],
    "tokens": ["tests/tokens"],
    "reasoning": ["tests/test_reasoning.py"],
    "codec": ["tests/codec"],
    "meter": ["tests/meter"],
    "context": ["tests/context"],
    "agent": ["tests/agent"],
}
TYPES = ("errors", "extensible", "messages", "usage", "events", "encoding")

GOAL = 95.0
"""Percent of the lines and branches of the core."""

_SETTINGS = """\
[run]
branch = True
source = src/ullage
[report]
exclude_also =
    if TYPE_CHECKING:
    assert_never
    ^ *[.][.][.]$
"""


class Covered(NamedTuple):
    """Lines and branches of a file, how many of them were run, and the lines that were not."""

    name: str
    all: int
    run: int
    missing: Sequence[int]

    @property
    def percent(self) -> float:
        return 100 * self.run / self.all if self.all else 100.0


def sources(package: str) -> list[str]:
    """Patterns of the files of a package."""
    if package == "types":
        return [f"src/ullage/{name}.py" for name in TYPES]
    return (
        [f"src/ullage/{package}.py"]
        if package == "reasoning"
        else [f"src/ullage/{package}/*"]
    )


def measure(package: str, home: Path) -> list[Covered]:
    """Run the tests of the package. Raises ``CalledProcessError`` where one fails."""
    settings, data, report = home / "settings", home / package, home / f"{package}.json"
    settings.write_text(_SETTINGS, "utf-8")
    environment = {**os.environ, "COVERAGE_FILE": str(data)}
    base = [sys.executable, "-m", "coverage"]
    run = [*base, "run", f"--rcfile={settings}", "-m", "pytest", "-q", *PACKAGES[package]]
    subprocess.run(run, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    told = [
        *base,
        "json",
        f"--rcfile={settings}",
        "--include",
        ",".join(sources(package)),
        "-q",
        "-o",
        str(report),
    ]
    subprocess.run(told, cwd=ROOT, env=environment, check=True)
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))["files"]
    return [
        _covered(name, each["summary"], each["missing_lines"])
        for name, each in sorted(found.items())
    ]


def _covered(name: str, summary: dict[str, int], missing: Sequence[int]) -> Covered:
    total = summary["num_statements"] + summary["num_branches"]
    return Covered(
        name, total, summary["covered_lines"] + summary["covered_branches"], missing
    )


def together(name: str, files: Iterable[Covered]) -> Covered:
    """Several as one."""
    held = list(files)
    return Covered(
        name, sum(file.all for file in held), sum(file.run for file in held), ()
    )


def main(packages: Sequence[str]) -> int:
    """Measure these packages, print them, and give the exit code."""
    held: list[Covered] = []
    with tempfile.TemporaryDirectory() as home:
        for package in packages or PACKAGES:
            files = measure(package, Path(home))
            print(f"{together(package, files).percent:6.1f} %  {package}", flush=True)
            for file in files:
                if file.percent < GOAL:
                    lines = ", ".join(map(str, file.missing[:20]))
                    print(f"{file.percent:11.1f} %  {file.name}: {lines}", flush=True)
            held += files
    whole = together("the wing", held)
    print(f"{whole.percent:6.1f} %  {whole.name}")
    return int(whole.percent < GOAL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
