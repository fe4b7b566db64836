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
    rows = [
        Expected(f"provider: {row.group}", row.name, f"A provider that {row.does}")
        for row in BEHAVIOURS
    ]
    rows += [
        Expected("session file", each.name, f"A session file that {each.holds}")
        for each in SESSION_FILES
    ]
    rows += [
        Expected("project", each.name, f"A project that {each.holds}")
        for each in PROJECTS
    ]
    rows += [Expected("log", each.name, f"A log that {each.holds}") for each in LOGS]
    rows += [
        Expected("HTTP client", each.name, f"A client that {each.sends}")
        for each in RAW_REQUESTS
    ]
    return rows


def rows_of(
    verdicts: Iterable[Verdict], exceeded: Mapping[tuple[str, str], Sequence[str]]
) -> list[Row]:
    """The rows of the hostile provider: an attack survives a wire where it broke no ceiling and nothing was lost."""
    does = {
        each.name: each for each in expected_rows() if each.group.startswith("provider")
    }
    rows: dict[str, Row] = {}
    for verdict in verdicts:
        known = does[verdict.behaviour]
        row = rows.setdefault(
            known.name,
            Row(group=known.group, name=known.name, does=known.does, problems=[]),
        )
        problems = [
            *verdict.problems,
            *exceeded.get((verdict.behaviour, verdict.wire), ()),
        ]
        row.tried += 1
        row.survived += not problems
        row.problems += [f"{verdict.wire}: {problem}" for problem in problems]
    return list(rows.values())


# -- the tables --


def summary(rows: Sequence[Row]) -> list[str]:
    """Attacks by group."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    lines = ["| attacks | kinds | tried | survived | lost |", "|---|---:|---:|---:|---:|"]
    for group, held in groups.items():
        tried, survived = (
            sum(row.tried for row in held),
            sum(row.survived for row in held),
        )
        lines.append(
            f"| {group} | {len(held):,} | {tried:,} | {survived:,} | {tried - survived:,} |"
        )
    tried, survived = sum(row.tried for row in rows), sum(row.survived for row in rows)
    lines.append(
        f"| **all** | **{len(rows):,}** | **{tried:,}** | **{survived:,}** | **{tried - survived:,}** |"
    )
    return lines


def costs(before: Iterable[Verdict], after: Iterable[Verdict]) -> list[str]:
    """The worst of each group before and now: stall of the event loop, peak memory, turns without an end."""
    groups = {row.name: row.group for row in BEHAVIOURS}
    then, now = list(before), list(after)
    measured = {(verdict.behaviour, verdict.wire) for verdict in then}
    lines = [
        "| provider | runs | stall before | now | memory before | now | no end before | now |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for group in dict.fromkeys(groups.values()):
        new = [
            each
            for each in now
            if groups[each.behaviour] == group and (each.behaviour, each.wire) in measured
        ]
        compared = {(each.behaviour, each.wire) for each in new}
        old = [each for each in then if (each.behaviour, each.wire) in compared]
        cells = [
            f"{worst(held):,.0f} {unit}"
            for worst, unit in ((_stall, "ms"), (_memory, "MB"))
            for held in (old, new)
        ]
        endless = [str(sum(is_endless(each) for each in held)) for held in (old, new)]
        lines.append(f"| {group} | {len(new)} | {' | '.join([*cells, *endless])} |")
    return lines


def _stall(verdicts: Sequence[Verdict]) -> float:
    return max((stall_ms(verdict) for verdict in verdicts), default=0.0)


def _memory(verdicts: Sequence[Verdict]) -> float:
    return max((verdict.memory_mb for verdict in verdicts), default=0.0)


def stall_ms(verdict: Verdict) -> float:
    """How long the process itself kept its event loop from running.

    The wall clock alone counts other programs, the processor's time alone counts other threads: the smaller one holds.
    """
    return min(verdict.lag_ms, verdict.busy_ms)


def is_endless(verdict: Verdict) -> bool:
    return verdict.outcome in ("no end", "hangs")


def details(before: Iterable[Verdict], after: Iterable[Verdict]) -> list[str]:
    """Each attack on each wire: stall and peak memory, before and now, and how it ends now."""
    then = {(verdict.behaviour, verdict.wire): verdict for verdict in before}
    now = {(verdict.behaviour, verdict.wire): verdict for verdict in after}
    wires = [wire.name for wire in WIRES]
    lines = [
        "| attack | stall before, ms | now | memory before, MB | now | ends now |",
        "|---|---|---|---|---|---|",
    ]
    for row in BEHAVIOURS:
        old = [then.get((row.name, wire)) for wire in wires]
        new = [now.get((row.name, wire)) for wire in wires]
        cells = [each(held) for each in (_stalls, _memories) for held in (old, new)]
        ends = dict.fromkeys(verdict.outcome for verdict in new if verdict is not None)
        lines.append(f"| `{row.name}` | {' | '.join(cells)} | {', '.join(ends)} |")
    return lines


def _stalls(verdicts: Sequence[Verdict | None]) -> str:
    return " · ".join(
        shown(verdict, stall_ms(verdict)) if verdict else "–" for verdict in verdicts
    )


def _memories(verdicts: Sequence[Verdict | None]) -> str:
    return " · ".join(
        shown(verdict, verdict.memory_mb) if verdict else "–" for verdict in verdicts
    )


def shown(verdict: Verdict, value: float) -> str:
    """The figure, or the outcome where the process did not live to tell it."""
    return verdict.outcome if verdict.outcome in ("hangs", "died") else f"{value:.0f}"


def listing(rows: Sequence[Row]) -> list[str]:
    """Every attack in a row of its own."""
    lines = ["| attack | tried | survived | lost |", "|---|---:|---:|---:|"]
    return lines + [
        f"| {label(row)} | {row.tried:d} | {row.survived:d} | {row.lost:d} |"
        for row in rows
    ]


def label(row: Row | Expected) -> str:
    """What stands in the first column of the list."""
    return f"{safe(row.does)} (`{row.name}`)"


def safe(text: str) -> str:
    return text.replace("|", "\\|")


def between(page: str, name: str, lines: Sequence[str]) -> str:
    """The page with these lines between the marks of this name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: "\n".join([begin, "", *lines, "", end]), page)


def inside(page: str, name: str) -> str:
    """What stands between the marks."""
    return page.partition(f"<!-- {name}: begin -->")[2].partition(
        f"<!-- {name}: end -->"
    )[0]
