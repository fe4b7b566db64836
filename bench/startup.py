"""What ``from ullage import Meter`` costs, beside the packages that a program would import to count tokens otherwise.

``ullage --help`` is what every command costs at the least.

    uv run python -m bench.startup

Each import is a fresh process with its bytecode cached; the bare interpreter, measured in the same turn, is taken off.
Which modules the time goes into: ``python -X importtime -c "import ullage"``.
"""

from __future__ import annotations

import os
import sys

from bench.environments import COUNTERS, QUIET, NotInstalled, python_of
from bench.process import run_in_turn
from bench.results import Table, ms, ratio, show

RUNS = 9


def main() -> None:
    imports = {
        "ullage": [sys.executable, "-c", "from ullage import Meter"],
        "`import ullage` alone": [sys.executable, "-c", "import ullage"],
        "`ullage --help`": [sys.executable, "-m", "ullage", "--help"],
    }
    notes: list[str] = []
    for peer, (_, module) in COUNTERS.items():
        try:
            command = [str(python_of(peer)), "-c", f"import {module}"]
            imports[f"{module} ({peer.requirement})"] = command
        except NotInstalled as why:
            notes.append(f"{peer.requirement} could not be installed here: {why}")
    commands = {"": [sys.executable, "-c", "pass"], **imports}
    runs = run_in_turn(commands, count=RUNS, environment=os.environ | QUIET)
    floor, ours = runs.pop("").median, runs["ullage"].median
    rows: list[tuple[str, ...]] = []
    for name, run in runs.items():
        cpu = run.median.cpu_s - floor.cpu_s
        memory = run.median.peak_bytes - floor.peak_bytes
        against = (
            ratio(cpu, ours.cpu_s - floor.cpu_s),
            ratio(memory, ours.peak_bytes - floor.peak_bytes),
        )
        figures = (ms(cpu), f"{memory / 1e6:.0f} MB", ms(run.median.cpu_s))
        rows.append((name, *figures, run.cpu_spread, *against))
    columns = (
        *("import", "CPU", "memory", "with the interpreter", "CPU of all runs"),
        *("CPU ×", "memory ×"),
    )
    title = f"Medians of {RUNS} processes, less the bare interpreter's {ms(floor.cpu_s)}"
    show(Table(title, columns, tuple(rows)), notes=notes)


if __name__ == "__main__":
    main()
