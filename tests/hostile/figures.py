"""What attacks gave, as a file of lines, and the tables that the documentation shows of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.hostile.behaviours import BEHAVIOURS
from tests.hostile.experiment import Verdict
from tests.hostile.http_clients import RAW_REQUESTS
from tests.hostile.logs import LOGS
from tests.hostile.projects import PROJECTS
from tests.hostile.session_files import SESSION_FILES
from tests.hostile.speech import WIRES

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BEFORE = HERE / "before.jsonl"
"""What the attacks gave at commit 52c8242, before there were limits."""

SUMMARY_PAGE = ROOT / "docs" / "security.md"
LIST_PAGE = ROOT / "docs" / "attacks.md"
COMMAND = "make attack"


class Row(msgspec.Struct, kw_only=True):
    """One row of the table of attacks."""

    group: str
    name: str
    does: str
    tried: int = 0
    survived: int = 0
    problems: list[str] = []

    @property
    def lost(self) -> int:
        return self.tried - self.survived


class Expected(NamedTuple):
    """A row that the tables must have, whatever its figures are."""

    group: str
    name: str
    does: str


def expected_rows() -> list[Expected]:
    """Every attack there is a table of."""
    rows = [Expected(f"provider: {row.group}", row.name, f"A provider that {row.does}") for row in BEHAVIOURS]
    rows += [Expected("session file", each.name, f"A session file that {each.holds}") for each in SESSION_FILES]
    rows += [Expected("project", each.name, f"A project that {each.holds}") for each in PROJECTS]
    rows += [Expected("log", each.name, f"A log that {each.holds}") for each in LOGS]
    rows += [Expected("HTTP client", each.name, f"A client that {each.sends}") for each in RAW_REQUESTS]
    return rows


def rows_of(verdicts: Iterable[Verdict], exceeded: Mapping[tuple[str, str], Sequence[str]]) -> list[Row]:
    """The rows of the hostile provider: an attack survives a wire where it broke no ceiling and nothing was lost."""
    does = {each.name: each for each in expected_rows() if each.group.startswith("provider")}
    rows: dict[str, Row] = {}
    for verdict in verdicts:
        known = does[verdict.behaviour]
        row = rows.setdefault(known.name, Row(group=known.group, name=known.name, does=known.does, problems=[]))
        problems = [*verdict.problems, *exceeded.get((verdict.behaviour, verdict.wire), ())]
        row.tried += 1
        row.survived += not problems
        row.problems += [f"{verdict.wire}: {problem}" for problem in problems]
    return list(rows.values())


def read_verdicts(path: Path) -> list[Verdict]:
    """The last verdict of each behaviour and wire in the file."""
    last: dict[tuple[str, str], Verdict] = {}
    for line in path.read_bytes().splitlines():
        verdict = msgspec.json.decode(line, type=Verdict)
        last[verdict.behaviour, verdict.wire] = verdict
    return list(last.values())


# -- the tables --


def summary(rows: Sequence[Row]) -> list[str]:
    """Attacks by group."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    lines = ["| attacks | kinds | tried | survived | lost |", "|---|---:|---:|---:|---:|"]
    for group, held in groups.items():
        tried, survived = sum(row.tried for row in held), sum(row.survived for row in held)
        lines.append(f"| {group} | {len(held):,} | {tried:,} | {survived:,} | {tried - survived:,} |")
    tried, survived = sum(row.tried for row in rows), sum(row.survived for row in rows)
    lines.append(f"| **all** | **{len(rows):,}** | **{tried:,}** | **{survived:,}** | **{tried - survived:,}** |")
    return lines


def costs(before: Iterable[Verdict], after: Iterable[Verdict]) -> list[str]:
    """What the attacks cost before and now: lag of the event loop, peak memory, seconds."""
    now = {(verdict.behaviour, verdict.wire): verdict for verdict in after}
    then = {(verdict.behaviour, verdict.wire): verdict for verdict in before}
    names = [row.name for row in BEHAVIOURS if any(name == row.name for name, _ in then)]
    lines = [
        "| attack | wire | lag before | now | memory before | now | ends before | now |",
        "|---|---|---:|---:|---:|---:|---|---|",
    ]
    for name in names:
        for wire in (each.name for each in WIRES):
            old, new = then.get((name, wire)), now.get((name, wire))
            if old is not None and new is not None:
                lag = f"{shown(old.lag_ms, old)} ms | {shown(new.lag_ms, new)} ms"
                memory = f"{shown(old.memory_mb, old)} MB | {shown(new.memory_mb, new)} MB"
                lines.append(f"| {name} | {wire} | {lag} | {memory} | {ending(old)} | {ending(new)} |")
    return lines


def shown(value: float, verdict: Verdict) -> str:
    return "?" if verdict.outcome in ("hangs", "died") else f"{value:,.0f}"


def ending(verdict: Verdict) -> str:
    """How the turn ended, and when."""
    return f"{verdict.outcome}, {verdict.seconds:.1f} s"


def listing(rows: Sequence[Row]) -> list[str]:
    """Every attack in a row of its own."""
    lines = ["| attack | tried | survived | lost |", "|---|---:|---:|---:|"]
    return lines + [f"| {safe(row.does)} (`{row.name}`) | {row.tried} | {row.survived} | {row.lost} |" for row in rows]


def safe(text: str) -> str:
    return text.replace("|", "\\|")


def between(page: str, name: str, lines: Sequence[str]) -> str:
    """The page with these lines between the marks of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: "\n".join([begin, "", *lines, "", end]), page)


def inside(page: str, name: str) -> str:
    """What stands between the marks."""
    return page.partition(f"<!-- {name}: begin -->")[2].partition(f"<!-- {name}: end -->")[0]
