"""What ``ullage context`` costs on a 10 MB session log, as a real process.

    uv run python -m bench.context_command

Beside it, in the same turn: a Python process that does nothing but ``json.loads`` every line of the same file. The log
is invented, in the shape of Claude Code's.
"""

from __future__ import annotations

import os
import sys

from bench.claude_log import OUT, write_log
from bench.process import run_in_turn
from bench.results import Table, ratio, show
from ullage.tokens import bpe

SIZE_BYTES = 10_000_000
RUNS = 5
PLAIN = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
PLACES = ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def environment() -> dict[str, str]:
    """An empty home, so that nothing that was learnt on this machine has a part in it."""
    home = OUT / "home"
    home.mkdir(parents=True, exist_ok=True)
    return os.environ | dict.fromkeys(PLACES, str(home))


def main() -> None:
    """Write the log, run the commands in turn, and print."""
    path = str(write_log(SIZE_BYTES))
    commands = {"`json.loads` of every line": [sys.executable, "-c", PLAIN, path]}
    for name in ("pretoken", "bpe"):
        if name == "pretoken" or bpe.is_available():
            command = ["-m", "ullage", "context", path, "--estimator", name]
            commands[f"`ullage context`, {name}"] = [sys.executable, *command]
    runs = run_in_turn(commands, count=RUNS, environment=environment())
    plain = next(iter(runs.values())).median
    rows: list[tuple[str, ...]] = []
    for name, run in runs.items():
        cost = run.median
        times = (f"{cost.wall_s:.2f} s", f"{cost.cpu_s:.2f} s", f"{cost.peak_mb:.0f} MB")
        against = ratio(cost.cpu_s, plain.cpu_s), ratio(cost.peak_bytes, plain.peak_bytes)
        rows.append((name, *times, run.cpu_spread, *against))
    columns = (
        *("what", "wall", "CPU", "peak memory", "CPU of all runs"),
        *("CPU ×", "memory ×"),
    )
    title = f"A log of {SIZE_BYTES / 1e6:.0f} MB, medians of {RUNS} processes"
    show(Table(title, columns, tuple(rows)))


if __name__ == "__main__":
    main()
