"""All attacks at full size, with progress; then the tables of tests/hostile/ATTACKS.md.

    make attack                         # all of it, some 90 minutes
    make attack ARGS='--only files'     # providers, kills or files alone; nothing is written
    make attack ARGS='--keep DIR'       # goes on with what an earlier run left in DIR

Each behaviour of the hostile provider runs in a process of its own, where the lag of the event loop and the peak of the
memory are measured; the ceilings are 250 ms and 300 MB. Exits with 1 where an attack was lost.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Xml
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tests.hostile.experiment import Verdict
from tests.hostile.figures import (
    PAGE,
    ROOT,
    Row,
    between,
    costs,
    details,
    expected_rows,
    listing,
    rows_of,
    stall_ms,
    summary,
)
from tests.hostile.kills import Tally
from tests.hostile.provider_runs import exceeded, run_all, say

KILLS = 200
TABLES = {
    "session file": "tests/hostile/test_session_files.py",
    "project": "tests/hostile/test_projects.py",
    "log": "tests/hostile/test_logs.py",
    "HTTP client": "tests/hostile/test_http_clients.py",
}
"""Tests that are one attack each and have a row in a table."""

OTHERS = {
    "MCP server": ("A server that hangs, floods, changes or does not start", ("tests/hostile/mcp",)),
    "sandbox": (
        "A command that leaves the sandbox",
        (
            "tests/tools/test_escapes.py",
            "tests/tools/test_sandbox.py",
            "tests/tools/test_processes.py",
        ),
    ),
    "HTTP guard": (
        "A foreign page, a wrong token, a slow client, too many connections",
        (
            "tests/server/test_guard.py",
            "tests/server/test_connections.py",
            "tests/server/test_scopes.py",
        ),
    ),
    "this machine": (
        "Another user, and a command with network, at everything that listens",
        ("tests/hostile/test_other_users.py", "tests/hostile/test_network_sandbox.py"),
    ),
    "approval": (
        "A call that hides what it runs",
        (
            "tests/runtime/test_approvals.py",
            "tests/runtime/test_tool_names.py",
            "tests/server/test_steering.py",
        ),
    ),
    "clone": (
        "A clone that names addresses, programs and links for the clients in it",
        ("tests/hostile/test_clones.py", "tests/cli/test_install.py"),
    ),
    "log size": (
        "A log of any program that takes more than five times its size, or a database that fills the disk",
        ("tests/hostile/test_log_sizes.py", "tests/importers/test_database.py"),
    ),
    "relay": (
        "A client of the proxy that floods, stalls, hides a request or leaves its path",
        (
            "tests/relay/test_hostile_clients.py",
            "tests/relay/test_connections.py",
            "tests/relay/test_heads.py",
            "tests/relay/test_access.py",
            "tests/relay/test_tokens.py",
        ),
    ),
    "killed anywhere": ("A process killed at any point of a turn", ("tests/sweeps",)),
}  # fmt: skip
"""Tests of one kind of attack that stand beside the code; counted, not listed."""


def kill_rows(kept: Path) -> list[Row]:
    """Kills at random moments."""
    if not kept.exists():
        command = [
            sys.executable,
            "-m",
            "tests.hostile.kills",
            "--http",
            str(KILLS),
            "--library",
            str(KILLS),
        ]
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
        kept.write_text(done.stdout)
    rows = []
    for line in kept.read_text().splitlines():
        tally = msgspec.json.decode(line, type=Tally)
        does = (
            f"`kill -9` at random moments over {tally.how}: {tally.acknowledged:,} messages acknowledged, "
            f"{tally.calls:,} tool calls, {tally.hostile:,} hostile requests in between"
        )
        survived = max(0, tally.kills - len(tally.problems))
        rows.append(
            Row(
                group="kill",
                name=tally.how,
                does=does,
                tried=tally.kills,
                survived=survived,
                problems=tally.problems,
            )
        )
    return rows


def file_rows(kept: Path) -> list[Row]:
    """The attacks that are tests: one run of pytest for each group that the file does not hold yet."""
    rows = (
        [msgspec.json.decode(line, type=Row) for line in kept.read_bytes().splitlines()]
        if kept.exists()
        else []
    )
    done = {row.group for row in rows}
    with kept.open("ab") as out:
        for group in (*TABLES, *OTHERS):
            made = (
                []
                if group in done
                else table_rows(group)
                if group in TABLES
                else [other_row(group)]
            )
            out.writelines(msgspec.json.encode(row) + b"\n" for row in made)
            out.flush()
            rows += made
    order = [*TABLES, *OTHERS]
    return sorted(rows, key=lambda row: order.index(row.group))


def table_rows(group: str) -> list[Row]:
    """A row for each test of a group whose tests are one attack each."""
    does = {each.name: each.does for each in expected_rows() if each.group == group}
    return [
        Row(
            group=group,
            name=name,
            does=does[name],
            tried=1,
            survived=int(passed),
            problems=[problem] if problem else [],
        )
        for name, passed, problem in outcomes([TABLES[group]])
        if name in does
    ]


def other_row(group: str) -> Row:
    """One row for all tests of a group that stand beside the code."""
    what, paths = OTHERS[group]
    found = outcomes([path for path in paths if (ROOT / path).exists()])
    problems = [f"{name}: {problem}" for name, _, problem in found if problem]
    survived = sum(passed for _, passed, _ in found)
    return Row(
        group=group,
        name=group,
        does=what,
        tried=len(found),
        survived=survived,
        problems=problems,
    )


def outcomes(paths: Sequence[str]) -> list[tuple[str, bool, str]]:
    """Each test's parameter or name, whether it passed, and what failed. Skipped tests are left out."""
    if not paths:
        return []
    say(f"tests: {', '.join(paths)}")
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=line",
            f"--junitxml={report}",
            *paths,
        ]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        cases = Xml.parse(report).iter("testcase")
    found = []
    for case in cases:
        if case.find("skipped") is not None:
            continue
        name = case.get("name", "")
        failed = (
            case.find("failure")
            if case.find("failure") is not None
            else case.find("error")
        )
        problem = "" if failed is None else (failed.get("message") or "failed")[:300]
        found.append(
            (name.partition("[")[2].removesuffix("]") or name, failed is None, problem)
        )
    return found


def write_page(
    rows: Sequence[Row], verdicts: Sequence[Verdict], *, at_once: bool
) -> None:
    """The tables into the page. ``at_once``: nothing was kept from an earlier run."""
    highest_stall = max(stall_ms(verdict) for verdict in verdicts)
    highest_memory = max(verdict.memory_mb for verdict in verdicts)
    longest = max(verdict.seconds for verdict in verdicts)
    version = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    runs = "" if at_once else "in several runs up to "
    made = (
        f"`make attack`, {runs}{datetime.now(UTC):%d %B %Y}, commit {version.stdout.strip()}, {os.cpu_count()} cores, "
        f"load average {os.getloadavg()[2]:.0f} with the attacks themselves. The longest stall of the event loop was "
        f"{highest_stall:,.0f} ms, the most memory {highest_memory:,.0f} MB, the longest turn {longest:.1f} s."
    )
    page = between(PAGE.read_text("utf-8"), "attacks", [made, "", *summary(rows)])
    page = between(page, "costs", costs(verdicts))
    page = between(page, "list", listing(rows))
    PAGE.write_text(between(page, "wires", details(verdicts)), "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", choices=("provider", "kills", "files"))
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ullage-attacks-") as directory:
        kept = given.keep or Path(directory)
        kept.mkdir(exist_ok=True)
        rows: list[Row] = []
        verdicts: list[Verdict] = []
        if given.only in (None, "provider"):
            verdicts = run_all(kept / "provider.jsonl")
            rows += rows_of(
                verdicts,
                {(each.behaviour, each.wire): exceeded(each) for each in verdicts},
            )
        if given.only in (None, "files"):
            rows += file_rows(kept / "files.jsonl")
        if given.only in (None, "kills"):
            rows += kill_rows(kept / "kills.jsonl")
    if given.only is None:
        write_page(rows, verdicts, at_once=given.keep is None)
    for line in summary(rows):
        say(line)
    for row in rows:
        for problem in row.problems:
            say(f"LOST {row.group}, {row.name}: {problem}")
    return 1 if any(row.lost for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
