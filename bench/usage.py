"""``ullage usage`` beside ccusage: sums and costs of logs whose truth is known, and the time both take.

    uv run python -m bench.usage                             # Ullage against the truth
    uv run python -m bench.usage --ccusage PATH              # and ccusage's program beside it
    uv run python -m bench.usage --ccusage PATH --kept DIR   # and logs of real clients, with the simulators' bills
    uv run python -m bench.usage --ccusage PATH --megabytes 200 --write   # and the time; into bench/RESULTS.md

PATH is ``node_modules/.bin/ccusage`` of ``npm install ccusage@20.0.24 @ccusage/ccusage-linux-x64@20.0.24``. DIR is what
``python -m bench.clients --keep DIR`` left. ccusage is run with ``--offline``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.process import Cost, run_once
from bench.results import Table, show, write_tables
from bench.usage_logs import CLAUDE, KnownLogs, Sums, answer, known_logs, text_of
from bench.usage_logs import write as write_logs

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "bench" / "RESULTS.md"
ZONE = "Europe/Paris"
KINDS = ("input", "cache_write", "cache_read", "output")
THEIR_KINDS = ("inputTokens", "cacheCreationTokens", "cacheReadTokens", "outputTokens")
RESULT = "ok 12 of 12 kettles are warm\n" * 190
"""A tool's result, which stands twice in a log: about the mean of a real session."""


class Answered(NamedTuple):
    """What a program says of a home directory; ``days`` are all tokens by day."""

    sums: Sums
    days: dict[str, int]


class Case(NamedTuple):
    """A row of the table."""

    name: str
    truth: Sums
    ours: Answered
    theirs: Answered | None
    days: dict[str, int] | None = None

    @property
    def is_right(self) -> bool:
        """Whether our tokens and money are the truth."""
        return _agrees(self, self.ours)


def _agrees(case: Case, found: Answered) -> bool:
    if found.sums[:4] != case.truth[:4]:
        return False
    if case.days is not None and found.days != case.days:
        return False
    if case.truth.usd is None:
        return True
    return abs((found.sums.usd or 0.0) - case.truth.usd) < 1e-6


def _environment(home: Path) -> dict[str, str]:
    """Only what the programs need."""
    path = os.environ.get("PATH", "")
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "NO_COLOR": "1"}


def _said(command: Sequence[str], home: Path) -> dict[str, Any]:
    done = subprocess.run(
        command, env=_environment(home), capture_output=True, check=True
    )
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def _our_command(zone: str = ZONE) -> list[str]:
    return [
        sys.executable,
        "-m",
        "ullage",
        "usage",
        "--json",
        "--since",
        "2023-01-01",
        "--timezone",
        zone,
    ]


def ours(home: Path) -> Answered:
    """What ``ullage usage`` says."""
    found = _said(_our_command(), home)
    total = found["total"]
    fresh, write, read, output = [total[kind] for kind in KINDS]
    days = {row["key"]: row["total"] for row in found["rows"] if row["calls"]}
    return Answered(Sums(fresh, write, read, output, total["usd"]), days)


def theirs(program: Path, home: Path) -> Answered:
    """What ccusage says."""
    command = [str(program), "daily", "--json", "--offline", "--timezone", ZONE]
    found = _said(command, home)
    totals = found["totals"]
    fresh, write, read, output = [totals[kind] for kind in THEIR_KINDS]
    days = {row["period"]: row["totalTokens"] for row in found["daily"]}
    return Answered(Sums(fresh, write, read, output, totals["totalCost"]), days)


def invented(program: Path | None) -> Iterator[Case]:
    """The logs of ``usage_logs``."""
    for logs in known_logs():
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            write_logs(logs, home)
            yield _case(logs, home, program)


def _case(logs: KnownLogs, home: Path, program: Path | None) -> Case:
    beside = theirs(program, home) if program else None
    return Case(logs.name, logs.truth, ours(home), beside, logs.days)


def real(kept: Path, program: Path | None) -> Iterator[Case]:
    """Logs of real clients, and what the simulators billed."""
    for exchanges in sorted(kept.glob("*/*/exchanges.jsonl")):
        home = exchanges.parent
        scenario = home.name.rpartition("-")[0].replace("-", " ")
        name = f"{home.parent.name}: {scenario}"
        beside = theirs(program, home) if program else None
        yield Case(name, billed(exchanges), ours(home), beside)


def billed(exchanges: Path) -> Sums:
    """The sum of the simulators' bills. They have no prices."""
    sums = [0, 0, 0, 0]
    for line in exchanges.read_text("utf-8").splitlines():
        bill = json.loads(line).get("bill")
        if bill:
            cached = bill["cache_read"] + bill["cache_write"]
            counts = (
                bill["input"] - cached,
                bill["cache_write"],
                bill["cache_read"],
                bill["output"],
            )
            for place, count in enumerate(counts):
                sums[place] += count
    return Sums(*sums)


# -- time --


class Timed(NamedTuple):
    """What one run cost."""

    name: str
    cost: Cost


def large_home(home: Path, megabytes: int) -> int:
    """Sessions of some 10 MB each in the form of Claude Code; gives their bytes."""
    size = number = 0
    while size < megabytes * 1_000_000:
        path = home / CLAUDE / f"s-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            for call in range(800):
                file.write(_call_lines(number, call))
        size += path.stat().st_size
        number += 1
    return size


def _call_lines(session: int, call: int) -> str:
    at = f"2026-11-{1 + session % 20:02}T{call // 60:02}:{call % 60:02}:00.000Z"
    name = f"s-{session}"
    tokens = (3, 500, 10_000 + 500 * call, 120)
    said = answer(f"msg_{session}_{call}", at=at, session=name, tokens=tokens)
    result = {"type": "tool_result", "tool_use_id": f"t{call}", "content": RESULT}
    back = {
        "parentUuid": said["uuid"],
        "isSidechain": False,
        "sessionId": name,
        "type": "user",
        "uuid": f"r-{session}-{call}",
        "timestamp": at,
        "message": {"role": "user", "content": [result]},
        "toolUseResult": {"stdout": RESULT},
    }
    said["parentUuid"] = f"r-{session}-{call - 1}" if call else None
    return text_of(said, back)


def speed(program: Path | None, megabytes: int) -> tuple[int, list[Timed]]:
    """The same logs by each: the first look, and one more."""
    commands = {"ullage usage, first time": _our_command()}
    commands["ullage usage, again"] = _our_command()
    if program:
        command = [str(program), "daily", "--json", "--offline"]
        commands |= {"ccusage daily": command, "ccusage daily, again": command}
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        size = large_home(home, megabytes)
        runs = []
        for title, each in commands.items():
            cost = run_once(each, environment=_environment(home))
            runs.append(Timed(title, cost))
    return size, runs


# -- table --


COLUMNS = ("log", "truth", "Ullage", "ccusage")


def table(cases: Sequence[Case]) -> Table:
    rows = []
    for case in cases:
        beside = "not run" if case.theirs is None else _cell(case, case.theirs)
        rows.append((case.name, _sums(case.truth), _cell(case, case.ours), beside))
    return Table("What was spent", COLUMNS, tuple(rows))


def differing(cases: Sequence[Case]) -> list[Case]:
    """The cases in which one of the two differs from the truth: those of the page."""
    found = []
    for case in cases:
        if not (_is_equal(case, case.ours) and _is_equal(case, case.theirs)):
            found.append(case)
    return found


def _is_equal(case: Case, found: Answered | None) -> bool:
    return found is not None and _cell(case, found).startswith("equal")


def _sums(sums: Sums) -> str:
    if sums.usd is None:
        return f"{sums.total:,}"
    return f"{sums.total:,}, ${sums.usd:.6f}"


def _cell(case: Case, found: Answered) -> str:
    if _agrees(case, found) and case.truth.usd is not None:
        return "equal"
    same_tokens = found.sums[:4] == case.truth[:4]
    if same_tokens and case.truth.usd is None:
        cost = "price unknown" if found.sums.usd is None else f"${found.sums.usd:.6f}"
        return f"equal, {cost}"
    return _sums(found.sums)


def speed_table(size: int, runs: Sequence[Timed]) -> Table:
    rows = []
    for run in runs:
        rate = f"{size / 1e6 / run.cost.wall_s:,.0f}"
        times = f"{run.cost.wall_s:.2f}", rate, f"{run.cost.peak_mb:.0f} MB"
        rows.append((run.name, *times))
    columns = ("logs of Claude Code", "seconds", "MB/s", "peak memory")
    return Table("How long it takes", columns, tuple(rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0, or 1 if a sum of ours is not the truth."""
    parser = argparse.ArgumentParser(prog="bench.usage", description=__doc__)
    parser.add_argument("--ccusage", type=Path, metavar="PATH")
    parser.add_argument("--kept", type=Path, metavar="DIR")
    parser.add_argument("--megabytes", type=int, default=0, metavar="N")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    cases = list(invented(options.ccusage))
    clients = list(real(options.kept, options.ccusage)) if options.kept else []
    both = [*cases, *clients]
    times = []
    if options.megabytes:
        times.append(speed_table(*speed(options.ccusage, options.megabytes)))
    notes = []
    if options.ccusage:
        equal = len(both) - len(differing(both))
        notes.append(f"Both are equal to the truth in {equal}.")
    show(table(both), *times, notes=notes)
    if options.write:
        write_tables(PAGE, [table(differing(both)), *times])
    return 0 if all(case.is_right for case in cases) else 1


if __name__ == "__main__":
    sys.exit(main())
