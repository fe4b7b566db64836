"""The logs of a folder: what is left behind their programs' own compactions, and behind ours.

A log is a file that Ullage imports. Nothing of it is written anywhere: only counts are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from bench.environments import CHECKOUT, found_first
from bench.quality.files_trail import FilesOutcome
from bench.quality.logs import LoggedSession, logged, paired
from bench.quality.replay import Behind, at_own_places, curve, size_of
from bench.quality.used_next import UsedOutcome
from bench.results import Table, named
from ullage.errors import UnreadableInput

WINDOW: Final = 32_000
"""Of a replay: so small that sessions of 200,000 tokens are compacted eight times."""
COMPACTIONS: Final = 8
"""A session that is replayed has so many, and all rows are of the same sessions."""
LEAST: Final = 3 * WINDOW
"""Tokens of a session for which it is tried."""
OWN, OURS, CURVE = "own", "ours", "curve"


@dataclass(frozen=True, slots=True)
class LogRow:
    """What is left behind one compaction. ``kind``: the program's own, ours at the same place, or of a replay."""

    kind: str
    program: str
    has_summary: bool
    behind: Behind


def rows_of(session: LoggedSession) -> Iterable[LogRow]:
    """All that a session gives."""
    for summary, (own, ours) in zip(
        session.compactions, at_own_places(session), strict=True
    ):
        has_summary = bool(summary.summary)
        yield LogRow(OWN, session.program, has_summary, own)
        yield LogRow(OURS, session.program, has_summary, ours)
    if size_of(paired(session.items)) >= LEAST:
        replayed = list(islice(curve(session, WINDOW), COMPACTIONS))
        for behind in replayed if len(replayed) == COMPACTIONS else ():
            yield LogRow(CURVE, session.program, False, behind)


def measured_logs(folder: Path, path: Sequence[Path] = ()) -> list[Any]:
    """The rows of all logs as JSON, by a process with the packages of ``path``. Raises ``CalledProcessError``."""
    command = [sys.executable, "-m", "bench.quality.logs_part", str(folder)]
    environment = os.environ | found_first([*path, CHECKOUT])
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def read_rows(rows: Iterable[Any]) -> list[LogRow]:
    """What ``measured_logs`` gave."""
    found = []
    for row in rows:
        behind = row["behind"]
        facts, files = UsedOutcome(**behind["facts"]), FilesOutcome(**behind["files"])
        found.append(LogRow(**{**row, "behind": Behind(behind["number"], facts, files)}))
    return found


COLUMNS: Final = named(
    "|compactions|used next|in view|needed|in view|within one recall|within two|changed files named|and said so"
    "|read files named|tokens in view"
)


def tables_of(now: Sequence[LogRow], before: Sequence[LogRow]) -> list[Table]:
    """A table at the programs' own compactions, and one by the number of the compaction in a replay."""
    rows = []
    for program in sorted({row.program for row in now}):
        for has_summary in (True, False):
            of = [
                row
                for row in now
                if row.program == program and row.has_summary == has_summary
            ]
            name = program + ("" if has_summary else ", summary unreadable")
            rows += _row(f"{name}: its own", [row for row in of if row.kind == OWN])
            old = [
                row
                for row in before
                if row.program == program and row.has_summary == has_summary
            ]
            rows += _row(
                f"{name}: ours, before", [row for row in old if row.kind == OURS]
            )
            rows += _row(f"{name}: ours", [row for row in of if row.kind == OURS])
    places = Table(
        "Facts used next, at the programs' own compactions", COLUMNS, tuple(rows)
    )
    by_number = []
    for name, found in (("before", before), ("ours", now)):
        numbered: defaultdict[int, list[LogRow]] = defaultdict(list)
        for row in found:
            if row.kind == CURVE:
                numbered[row.behind.number].append(row)
        for number in sorted(numbered):
            by_number += _row(f"{name}, {number}", numbered[number])
    return [
        places,
        Table(
            "Facts used next, by the number of the compaction", COLUMNS, tuple(by_number)
        ),
    ]


def _row(name: str, rows: Sequence[LogRow]) -> list[tuple[str, ...]]:
    if not rows:
        return []
    facts, files = UsedOutcome(), FilesOutcome()
    for row in rows:
        facts.add(row.behind.facts)
        files.add(row.behind.files)
    shares = (
        share(facts.in_view, facts.used),
        str(facts.needed),
        share(facts.needed_in_view, facts.needed),
        share(facts.once, facts.needed if facts.recalls else 0),
        share(facts.twice, facts.needed if facts.recalls else 0),
        share(files.changed_named, files.changed),
        share(files.changed_said, files.changed),
        share(files.read_named, files.read),
    )
    size = f"{facts.view_tokens / facts.compactions:,.0f}"
    return [(name, str(facts.compactions), str(facts.used), *shares, size)]


def share(part: int, whole: int) -> str:
    """In percent, where there is any."""
    return f"{part / whole:.1%}" if whole else "–"


def main(folder: Path) -> None:
    """Print a row a line."""
    for path in sorted(folder.iterdir()):
        try:
            session = logged(path)
        except UnreadableInput as why:
            print(f"{path.name} is left out: {why}", file=sys.stderr)
            continue
        for row in rows_of(session):
            print(json.dumps(asdict(row)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
