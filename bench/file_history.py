"""What it costs to look at a tree of files before and after a step, beside one walk of the tree and beside git.

    uv run python -m bench.file_history               # 5,000 files
    uv run python -m bench.file_history --files 50000

All in one run, in turns: CPU is the median of the rounds, and the ratio is that to the walk (``os.walk`` and ``lstat``
of each entry). The first look stores all contents. Git's look is ``add --all`` and ``write-tree`` with an index and
objects of its own, in processes; its CPU counts.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.results import Table, ms, show
from ullage.store.leases import new_owner
from ullage_agent.file_history.history import FileHistory
from ullage_agent.file_history.tree import look

ROUNDS = 15


def made(root: Path, files: int) -> None:
    """A tree of source files of 300 to 6,000 characters, in 350 directories."""
    rng = random.Random(3)
    for number in range(files):
        directory = root / f"package{number % 50}" / f"module{number % 7}"
        directory.mkdir(parents=True, exist_ok=True)
        text = "".join(rng.choices("abcdef \n", k=rng.choice((300, 2_000, 6_000))))
        (directory / f"file{number}.py").write_text(text)


def walk(root: Path) -> None:
    """The plain walk that all is compared with."""
    for directory, names, files in os.walk(root):
        for name in (*names, *files):
            found = os.lstat(os.path.join(directory, name))
            _ = (
                found.st_mtime_ns,
                found.st_ctime_ns,
                found.st_size,
                found.st_ino,
                found.st_mode,
            )


def cpu_of(work: Callable[[], object]) -> float:
    """Seconds of CPU, with those of its processes."""
    before = _cpu()
    work()
    return _cpu() - before


def _cpu() -> float:
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total


def git_look(root: Path, place: Path) -> Callable[[], object]:
    """A look by git, with an index and objects outside of the tree."""
    environment = {**os.environ, "GIT_DIR": str(place), "GIT_WORK_TREE": str(root)}

    def git(*words: str) -> None:
        subprocess.run(
            ["git", *words], cwd=root, env=environment, check=True, capture_output=True
        )

    git("init", "--quiet")
    git("add", "--all")

    def looked() -> None:
        git("add", "--all")
        git("write-tree")

    return looked


def measured(files: int, place: Path) -> Table:
    """The table of one run."""
    root = place / "tree"
    made(root, files)
    history = FileHistory(root, place / "data", "bench", new_owner())
    first = cpu_of(history.look_ahead)
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        history.begin(str(count), "bench", ["call"])
        assert history.end(str(count)) == ()

    def change() -> None:
        nonlocal count
        count += 1
        history.begin(str(count), "bench", ["call"])
        (root / "package1" / "module1" / "file1.py").write_text(str(count))
        assert len(history.end(str(count))) == 1

    works: dict[str, Callable[[], object]] = {
        "a walk: `os.walk`, `lstat`": lambda: walk(root),
        "a whole look": lambda: look(str(root)),
        "a step that changes nothing, two looks": step,
        "a step that changes one file": change,
    }
    if shutil.which("git"):
        works["a step with git, two looks"] = _twice(git_look(root, place / "git"))
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        step()  # so that the last change is a while ago
        for name, work in works.items():
            seconds[name].append(cpu_of(work))
    base = median(seconds["a walk: `os.walk`, `lstat`"])
    rows = [("the first look, which stores all", ms(first), f"{first / base:.1f}")]
    for name, taken in seconds.items():
        rows.append((name, ms(median(taken)), f"{median(taken) / base:.2f}"))
    history.close()
    return Table(f"A tree of {files:,} files", ("", "CPU", "× walk"), tuple(rows))


def _twice(work: Callable[[], object]) -> Callable[[], object]:
    def both() -> None:
        work()
        work()

    return both


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5_000)
    given = parser.parse_args()
    with TemporaryDirectory() as place:
        show(measured(given.files, Path(place)))


if __name__ == "__main__":
    main()
