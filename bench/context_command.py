"""What ``ullage context`` costs on a 10 MB session log, as a real process.

    uv run python -m bench.context_command
    uv run python -m bench.context_command --profile    # which functions the time goes into

Beside it, in the same turn: a Python process that does nothing but ``json.loads`` every line of the same file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from bench.claude_log import OUT, write_log
from bench.process import Runs, run_in_turn
from bench.results import Section, Table, ratio
from ullage.tokens import bpe

SIZE_BYTES = 10_000_000
RUNS = 5
TARGETS = {"pretoken": (1.0, 150), "bpe": (2.0, 250)}
PLAIN = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"


def environment() -> dict[str, str]:
    """An empty home, so that nothing that was learnt on this machine has a part in it."""
    home = OUT / "home"
    home.mkdir(parents=True, exist_ok=True)
    places = {
        name: str(home)
        for name in (
            "HOME",
            "USERPROFILE",
            "XDG_DATA_HOME",
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
        )
    }
    return os.environ | places


def section() -> Section:
    """Write the log, run the commands in turn."""
    path = str(write_log(SIZE_BYTES))
    estimators = ["pretoken", *(["bpe"] if bpe.is_available() else [])]
    commands = {
        name: [sys.executable, "-m", "ullage", "context", path, "--estimator", name]
        for name in estimators
    }
    runs = run_in_turn(
        {"": [sys.executable, "-c", PLAIN, path], **commands},
        count=RUNS,
        environment=environment(),
    )
    plain = runs.pop("")
    rows = [
        _figures(f"`ullage context --estimator {name}`", run, TARGETS[name])
        for name, run in runs.items()
    ]
    return Section(
        name="context",
        title=f"`ullage context` on a log of {SIZE_BYTES / 1e6:.0f} MB",
        command="uv run python -m bench.context_command",
        about=(
            f"A session in the shape of Claude Code's logs, {SIZE_BYTES / 1e6:.0f} MB, invented. Medians of {RUNS} "
            "processes each, in turn, after one that is not counted; whole processes, the interpreter's start included."
        ),
        ratios=Table(
            "Against `json.loads` of every line, and nothing else",
            ("what", "CPU", "peak memory"),
            tuple(
                (
                    f"`ullage context --estimator {name}`",
                    ratio(run.median.cpu_s, plain.median.cpu_s),
                    ratio(run.median.peak_bytes, plain.median.peak_bytes),
                )
                for name, run in runs.items()
            ),
        ),
        figures=(
            Table(
                "On this machine",
                ("what", "wall", "CPU", "peak memory", "target", "CPU of all runs"),
                (*rows, _figures("`json.loads` of every line", plain, None)),
            ),
        ),
    )


def _figures(name: str, run: Runs, target: tuple[float, int] | None) -> tuple[str, ...]:
    cost = run.median
    aim = "" if target is None else f"{target[0]:.0f} s, {target[1]} MB"
    return (
        name,
        f"{cost.wall_s:.2f} s",
        f"{cost.cpu_s:.2f} s",
        f"{cost.peak_mb:.0f} MB",
        aim,
        run.cpu_spread,
    )


def main() -> None:
    """Print the tables, or with --profile where the time goes."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--profile",
        action="store_true",
        help="run once under cProfile and print the slowest functions",
    )
    options.add_argument(
        "--estimator",
        choices=tuple(TARGETS),
        default="pretoken",
        help="what --profile counts with",
    )
    chosen = options.parse_args()
    if not chosen.profile:
        print(section().text())
        return
    command = [
        "-m",
        "cProfile",
        "-s",
        "tottime",
        "-m",
        "ullage",
        "context",
        str(write_log(SIZE_BYTES)),
    ]
    subprocess.run(
        [sys.executable, *command, "--estimator", chosen.estimator],
        env=environment(),
        check=False,
    )


if __name__ == "__main__":
    main()
