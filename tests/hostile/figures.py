"""What attacks gave, as a file of lines, and the tables that ATTACKS.md shows of them."""

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

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tests" / "hostile" / "ATTACKS.md"
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


def costs(verdicts: Sequence[Verdict]) -> list[str]:
    """The worst of each group: stall of the event loop, peak memory, turns without an end."""
    groups = {row.name: row.group for row in BEHAVIOURS}
    lines = ["| provider | runs | stall | memory | no end |", "|---|---:|---:|---:|---:|"]
    for group in dict.fromkeys(groups.values()):
        held = [each for each in verdicts if groups[each.behaviour] == group]
        stall, memory = (
            _worst(map(stall_ms, held)),
            _worst(each.memory_mb for each in held),
        )
        endless = sum(each.outcome in ("no end", "hangs") for each in held)
        lines.append(
            f"| {group} | {len(held)} | {stall:,.0f} ms | {memory:,.0f} MB | {endless} |"
        )
    return lines


def _worst(figures: Iterable[float]) -> float:
    return max(figures, default=0.0)


def stall_ms(verdict: Verdict) -> float:
    """How long the process itself kept its event loop from running.

    The wall clock alone counts other programs, the processor's time alone counts other threads: the smaller one holds.
    """
    return min(verdict.lag_ms, verdict.busy_ms)


def details(verdicts: Iterable[Verdict]) -> list[str]:
    """Each attack on each wire: stall and peak memory, and how it ends."""
    known = {(verdict.behaviour, verdict.wire): verdict for verdict in verdicts}
    lines = ["| attack | stall, ms | memory, MB | ends |", "|---|---|---|---|"]
    for row in BEHAVIOURS:
        held = [known.get((row.name, wire.name)) for wire in WIRES]
        stalls = " · ".join(shown(each, stall_ms(each)) if each else "–" for each in held)
        sizes = " · ".join(shown(each, each.memory_mb) if each else "–" for each in held)
        ends = dict.fromkeys(verdict.outcome for verdict in held if verdict is not None)
        lines.append(f"| `{row.name}` | {stalls} | {sizes} | {', '.join(ends)} |")
    return lines


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
