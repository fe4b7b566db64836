"""What a command costs as a whole process: wall and CPU seconds and peak memory, as the operating system accounts them.

A process inherits its parent's memory peak at the moment it is started, so every command is started by a small
launcher (about 10 MB), which is the floor of what can be measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

_LAUNCHER = """
import os, sys, time
report, *command = sys.argv[1:]
start = time.perf_counter()
child = os.fork()
if not child:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.execvp(command[0], command)
_, status, used = os.wait4(child, 0)
wall = time.perf_counter() - start
scale = 1 if sys.platform == "darwin" else 1024
peak = used.ru_maxrss * scale
with open(report, "w") as out:
    out.write(f"[{wall}, {used.ru_utime + used.ru_stime}, {peak}, {os.waitstatus_to_exitcode(status)}]")
"""


class CommandFailed(Exception):
    """The command that was to be measured ended with an error."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One run, or the medians of several."""

    wall_s: float
    cpu_s: float
    peak_bytes: int

    @property
    def peak_mb(self) -> float:
        return self.peak_bytes / 1e6


@contextmanager
def local_server(*arguments: str) -> Iterator[str]:
    """The URL of a Python program that serves on this machine and prints its port, for the time of the block."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one command after one that was not counted."""

    runs: tuple[Cost, ...]

    @property
    def median(self) -> Cost:
        return Cost(
            wall_s=median(run.wall_s for run in self.runs),
            cpu_s=median(run.cpu_s for run in self.runs),
            peak_bytes=round(median(run.peak_bytes for run in self.runs)),
        )

    @property
    def cpu_spread(self) -> str:
        """The smallest and the largest CPU time, which tell how noisy the machine was."""
        times = sorted(run.cpu_s for run in self.runs)
        return f"{times[0]:.2f}-{times[-1]:.2f} s"


def run_once(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None
) -> Cost:
    """Run a command to its end; its output is read by nobody. Raises ``CommandFailed`` with its last words.

    A Python that is run may always write its bytecode, so that from the second run on it is cached, as it is for users.
    """
    report = Path(__file__).parent / "out" / f"run-{os.getpid()}.json"
    report.parent.mkdir(exist_ok=True)
    given = {**(os.environ if environment is None else environment)}
    given.pop("PYTHONDONTWRITEBYTECODE", None)
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(report), *command]
    done = subprocess.run(launcher, env=given, stderr=subprocess.PIPE, check=False)
    if not report.exists():
        raise CommandFailed(done.stderr.decode(errors="replace")[-500:])
    wall, cpu, peak, code = json.loads(report.read_text())
    report.unlink()
    if code != 0:
        raise CommandFailed(
            f"{' '.join(command)[:200]} ended with {code}: {done.stderr.decode(errors='replace')[-500:]}"
        )
    return Cost(wall_s=wall, cpu_s=cpu, peak_bytes=peak)


def run_in_turn(
    commands: Mapping[str, Sequence[str]],
    *,
    count: int,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Runs]:
    """Every command ``count`` times, in turn (A B C A B C …), so that a drift of the machine meets all alike."""
    runs: dict[str, list[Cost]] = {name: [] for name in commands}
    for lap in range(count + 1):
        for name, command in commands.items():
            cost = run_once(command, environment=environment)
            if lap:
                runs[name].append(cost)
    return {name: Runs(tuple(costs)) for name, costs in runs.items()}
