"""The cells as lines of a terminal, and as the tables of the page and of RESULTS.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.plugins.cells import PLAIN, Cells, Planned
from bench.plugins.framework import Contender, Framework
from bench.plugins.matrix import EVERYTHING, LONG, missing, planned
from bench.plugins.outcome import PluginOutcome
from bench.plugins.scenarios import SCENARIOS, SEEDS, WINDOWS
from bench.results import Table

COLUMNS = (
    "",
    "window",
    "seeds",
    "refused",
    "failed turns",
    "billed",
    "counted",
    "uncached",
    "against plain",
    "summaries",
    "turns lost unseen",
    "targets",
)
SUMMARY = (
    "",
    "sessions",
    "refused",
    "failed turns",
    "billed and not counted",
    "uncached against plain, long session",
    "turns lost unseen",
    "targets",
    "own: refused",
    "own: failed turns",
    "own: uncached against plain",
    "own: turns lost unseen",
)


@dataclass(slots=True)
class Row:
    """What the sessions of a contender come to, over their seeds. ``plain``: the plain SDK's on the same sessions."""

    contender: Contender
    scenario: str
    window: int
    seeds: list[int] = field(default_factory=list)
    outcome: PluginOutcome = field(default_factory=PluginOutcome)
    plain: PluginOutcome | None = field(default_factory=PluginOutcome)
    problems: list[str] = field(default_factory=list)
    not_run: str = ""

    def missed(self) -> list[str]:
        """The targets that are missed; a framework's own compaction is held to none."""
        if self.contender.kind == "own" or not self.seeds:
            return []
        return self.outcome.failures(self.plain)

    def against(self) -> str:
        """Uncached tokens beside the plain SDK's."""
        if self.plain is None or not self.seeds or self.contender.kind == "plain":
            return ""
        return f"{self.outcome.above_plain(self.plain):+.1%}"

    def said(self) -> str:
        """Whether the targets are met."""
        if self.not_run:
            return f"not run: {self.not_run}"
        if self.contender.kind == "own":
            return "none"
        return ", ".join(self.missed()) or "pass"


def row(plans: Sequence[Planned], cells: Cells) -> Row:
    """The row of cells that differ in their seeds, as far as they are kept."""
    first = plans[0]
    found = Row(first.contender, first.scenario.name, first.window)
    plain_title = first.framework.contenders[0].title
    for each in plans:
        cell = cells.get(each.place)
        if cell is None or cell.not_run:
            found.not_run = cell.not_run if cell else found.not_run
            continue
        found.seeds.append(each.seed)
        found.outcome.add(cell.outcome)
        found.problems += cell.problems
        plain = cells.get(each.place._replace(framework=PLAIN, contender=plain_title))
        if plain is None or plain.not_run:
            found.plain = None
        elif found.plain is not None:
            found.plain.add(plain.outcome)
    return found


def line(found: Row) -> str:
    """A row for a terminal: pass, FAIL with the reasons, or why there is nothing."""
    place = f"{found.contender.title}, {found.scenario}, window {found.window:,}"
    if found.not_run:
        return f"NOT RUN: {place}: {found.not_run}"
    counts = found.outcome
    seeds = ", ".join(map(str, found.seeds))
    said = f"{place}, seed {seeds}: {counts.calls} calls, {counts.summaries} summaries, uncached {counts.uncached:,}"
    if found.contender.kind == "own":
        said += f", {counts.refused} refused, {counts.failed_turns} failed turns"
        return f"beside: {said}"
    failures = ", ".join(found.missed())
    return f"FAIL: {said}: {failures}" if failures else f"pass: {said}"


def _rows(name: str, framework: Framework, cells: Cells) -> Iterator[Row]:
    """All rows of a framework that have a cell, in the order of the page."""
    plans = planned({name: framework}, EVERYTHING)
    for scenario in SCENARIOS:
        for window in WINDOWS:
            for contender in framework.contenders:
                place = (scenario, window, contender)
                same = [
                    each
                    for each in plans
                    if (each.scenario, each.window, each.contender) == place
                ]
                if same:
                    found = row(same, cells)
                    if found.seeds or found.not_run:
                        yield found


def long_table(framework: Framework, rows: Sequence[Row]) -> Table:
    """The long session, a row for each contender and window."""
    made: list[tuple[str, ...]] = []
    for each in rows:
        if each.scenario == LONG.name:
            made.append(_figures(each))
    return Table(f"{framework.title}, {LONG.name}", COLUMNS, tuple(made))


def _figures(found: Row) -> tuple[str, ...]:
    counts = found.outcome
    figures = (
        counts.refused,
        counts.failed_turns,
        counts.billed,
        counts.counted,
        counts.uncached,
    )
    seeds = f"{len(found.seeds)} of {len(SEEDS)}"
    return (
        found.contender.title,
        f"{found.window:,}",
        seeds,
        *(f"{figure:,}" for figure in figures),
        found.against(),
        f"{counts.summaries:,}",
        f"{counts.unseen:,}",
        found.said(),
    )


def other_table(framework: Framework, rows: Sequence[Row]) -> Table | None:
    """The other scenarios, a column for each version of the plug-in; ``None`` if none was run."""
    titles: list[str] = []
    for contender in framework.contenders:
        if contender.kind == "plug-in":
            titles.append(contender.title)
    places: dict[tuple[str, int], dict[str, str]] = {}
    for each in rows:
        if each.scenario == LONG.name or each.contender.kind != "plug-in":
            continue
        said = each.said()
        if each.against():
            said = f"{said}, {each.against()}"
        places.setdefault((each.scenario, each.window), {})[each.contender.title] = said
    made: list[tuple[str, ...]] = []
    for (scenario, window), said_by in places.items():
        said_of = (said_by.get(title, "not run") for title in titles)
        made.append((f"{scenario}, {window:,}", *said_of))
    title = f"{framework.title}, other scenarios, seed {SEEDS[0]}"
    return Table(title, ("", *titles), tuple(made)) if made else None


def section(name: str, framework: Framework, cells: Cells) -> str:
    """A framework's section of the page."""
    rows = list(_rows(name, framework, cells))
    parts = [
        f"## {framework.title}",
        f"    uv run python -m bench.plugins --only {name}",
        " ".join(framework.about.split()),
        _missing(name, framework, cells),
        long_table(framework, rows).markdown(),
    ]
    others = other_table(framework, rows)
    if others:
        parts.append(others.markdown())
    problems: dict[str, int] = {}
    for each in rows:
        for problem in each.problems:
            said = f"{each.contender.title}, {each.scenario}: {_plain(problem)}"
            problems[said] = problems.get(said, 0) + 1
    parts.append("\n".join(f"* {said} ({n} ×)" for said, n in problems.items()))
    return "\n\n".join(part for part in parts if part)


def _missing(name: str, framework: Framework, cells: Cells) -> str:
    """Which cells are missing, in words."""
    plans = planned({name: framework}, EVERYTHING)
    lacking: dict[str, list[str]] = {}
    for each in missing(plans, cells):
        place = f"{each.contender.title}, {each.scenario.name}, {each.window:,}"
        lacking.setdefault(place, []).append(str(each.seed))
    if not lacking:
        return f"All {len(plans)} sessions of this section were run."
    said: list[str] = []
    for place, seeds in lacking.items():
        said.append(f"{place} (seed {', '.join(seeds)})")
    return f"Not run: {'; '.join(said)}."


def _plain(problem: str) -> str:
    """Without what differs from turn to turn, so that like failures are counted together."""
    flat = re.sub(r"\s+", " ", problem).replace("|", "/")
    return re.sub(r"\d{4,}", "…", flat)[:180]


def summary(frameworks: dict[str, Framework], cells: Cells) -> Table:
    """A line for each framework."""
    made: list[tuple[str, ...]] = []
    for name, framework in frameworks.items():
        rows = list(_rows(name, framework, cells))
        if any(each.contender.kind == "plug-in" for each in rows):
            made.append(_summary_row(framework, rows))
    return Table("Plug-ins, and each framework's own compaction", SUMMARY, tuple(made))


def _summary_row(framework: Framework, rows: Sequence[Row]) -> tuple[str, ...]:
    total = PluginOutcome()
    sessions = misses = uncounted = 0
    versions: dict[str, None] = {}
    against: list[float] = []
    own: dict[str, Row] = {}
    for each in rows:
        if each.contender.kind == "own":
            _add(own.setdefault(each.contender.title, _empty(each)), each)
        if each.contender.kind != "plug-in":
            continue
        versions[each.contender.version] = None
        total.add(each.outcome)
        uncounted += abs(each.outcome.billed - each.outcome.counted)
        sessions += len(each.seeds)
        misses += bool(each.missed())
        if each.scenario == LONG.name and each.plain is not None and each.seeds:
            against.append(each.outcome.above_plain(each.plain))
    ranged = ""
    if against:
        ranged = f"{min(against):+.1%} to {max(against):+.1%}"
    figures = (total.refused, total.failed_turns, uncounted)
    return (
        f"{framework.title} {', '.join(versions)}",
        str(sessions),
        *(f"{figure:,}" for figure in figures),
        ranged,
        str(total.unseen),
        _missed(misses),
        " / ".join(str(each.outcome.refused) for each in own.values()),
        " / ".join(str(each.outcome.failed_turns) for each in own.values()),
        " / ".join(each.against() for each in own.values()),
        " / ".join(str(each.outcome.unseen) for each in own.values()),
    )


def _missed(rows: int) -> str:
    if not rows:
        return "pass"
    return "1 row misses one" if rows == 1 else f"{rows} rows miss one"


def _empty(found: Row) -> Row:
    return Row(found.contender, found.scenario, found.window)


def _add(total: Row, found: Row) -> None:
    total.seeds += found.seeds
    total.outcome.add(found.outcome)
    if total.plain is None or found.plain is None:
        total.plain = None
    else:
        total.plain.add(found.plain)


def results(frameworks: dict[str, Framework], cells: Cells) -> str:
    """Every framework's section."""
    parts = ["# Plug-ins in frameworks: each session"]
    for name, framework in frameworks.items():
        parts.append(section(name, framework, cells))
    return "\n\n".join(parts) + "\n"
