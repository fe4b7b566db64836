"""What ``from ullage import Meter`` costs, beside the packages that a program would import to count tokens otherwise.

    uv run python -m bench.startup
    uv run python -m bench.startup --importtime    # which modules the time goes into

Each import is a fresh process with its bytecode cached; the bare interpreter, measured in the same turn, is taken off.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from bench.environments import PEERS, QUIET, NotInstalled, python_of
from bench.process import run_in_turn
from bench.results import Section, Table, ratio

TARGET_S = 0.1
RUNS = 9
SLOWEST = 25


def section() -> Section:
    """Measure all imports in turn."""
    imports = {"ullage": [sys.executable, "-c", "from ullage import Meter"]}
    absent: list[str] = []
    for peer in PEERS:
        try:
            imports[f"{peer.module} ({peer.requirement})"] = [
                str(python_of(peer)),
                "-c",
                f"import {peer.module}",
            ]
        except NotInstalled as why:
            absent.append(f"{peer.requirement} could not be installed here: {why}")
    bare = [sys.executable, "-c", "pass"]
    runs = run_in_turn({"": bare, **imports}, count=RUNS, environment=os.environ | QUIET)
    floor = runs.pop("").median
    ours = runs["ullage"].median
    own_cpu, own_memory = ours.cpu_s - floor.cpu_s, ours.peak_bytes - floor.peak_bytes
    figures: list[tuple[str, ...]] = []
    ratios: list[tuple[str, ...]] = []
    for name, run in runs.items():
        cost = run.median
        cpu, memory = cost.cpu_s - floor.cpu_s, cost.peak_bytes - floor.peak_bytes
        figures.append(
            (
                name,
                f"{1e3 * cpu:.0f} ms",
                f"{memory / 1e6:.0f} MB",
                f"{1e3 * cost.cpu_s:.0f} ms",
                f"{cost.peak_mb:.0f} MB",
                run.cpu_spread,
            )
        )
        if name != "ullage":
            ratios.append((name, ratio(cpu, own_cpu), ratio(memory, own_memory)))
    return Section(
        name="startup",
        title="Importing the package",
        command="uv run python -m bench.startup",
        about=(
            f"Median of {RUNS} fresh processes each, in turn, after one that is not counted. *Import* is the process "
            f"without the bare interpreter's {1e3 * floor.cpu_s:.0f} ms and {floor.peak_mb:.0f} MB. Target: at most "
            f"{1e3 * TARGET_S:.0f} ms of CPU for `from ullage import Meter`, the interpreter included."
        ),
        ratios=Table(
            "Against `from ullage import Meter`",
            ("import", "CPU", "memory"),
            tuple(ratios),
        ),
        figures=(
            Table(
                "On this machine",
                (
                    "import",
                    "import, CPU",
                    "import, memory",
                    "process, CPU",
                    "process, peak",
                    "CPU of all runs",
                ),
                tuple(figures),
            ),
        ),
        notes=tuple(absent),
    )


def slowest_modules() -> str:
    """The modules that ``from ullage import Meter`` spends most time in, by their own share, in microseconds."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from ullage import Meter"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [
        line.removeprefix("import time:").split("|")
        for line in done.stderr.splitlines()
        if "|" in line
    ][1:]
    rows.sort(key=lambda row: -int(row[0]))
    return "\n".join(
        f"{own.strip():>9} {total.strip():>9}  {name.strip()}"
        for own, total, name in rows[:SLOWEST]
    )


def main() -> None:
    """Print the tables, or with --importtime where the time goes."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--importtime",
        action="store_true",
        help="microseconds by module, own and with what it imports",
    )
    if options.parse_args().importtime:
        print(f"{'own µs':>9} {'all µs':>9}  module\n{slowest_modules()}")
    else:
        print(section().text())


if __name__ == "__main__":
    main()
