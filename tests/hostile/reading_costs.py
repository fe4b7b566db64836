"""What reading a log costs: it is read as the server reads an uploaded one, in a process of its own.

python -m tests.hostile.reading_costs LOG...
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.hostile.measuring import peak_mb
from ullage.errors import InputError
from ullage_server.api_types import LogView
from ullage_server.window import read_log

ROOT = Path(__file__).parents[2]


class ReadingCost(NamedTuple):
    """``told`` is what came of it: a format, or the words of the error."""

    peak_mb: float
    cpu_s: float
    told: str


def reading_costs(logs: Sequence[Path]) -> list[ReadingCost]:
    """Reads each log in a process of its own, forked from one that has imported what they need."""
    command = [sys.executable, "-m", "tests.hostile.reading_costs", *map(str, logs)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    costs = [ReadingCost(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(costs) == len(logs), "a process died"
    return costs


def main(logs: Sequence[str], read: Callable[[Path], LogView]) -> None:
    for log in logs:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        # Its peak begins with that of its parent (https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html).
        Path("/proc/self/clear_refs").write_text("5")
        begun = time.process_time()
        try:
            view = read(Path(log))
            msgspec.json.encode(view)
            told = view.log.format
        except InputError as problem:
            told = str(problem)
        cost = ReadingCost(peak_mb(), time.process_time() - begun, told)
        sys.stdout.write(f"{json.dumps(cost)}\n")
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:], read_log)
