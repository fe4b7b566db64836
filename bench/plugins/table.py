"""The cells as lines of a terminal, and as the table of RESULTS.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.plugins.cells import LONG, PLAIN, Cells, Planned, planned
from bench.plugins.frameworks import Contender, Framework
from bench.plugins.outcome import PluginOutcome
from bench.plugins.scenarios import SCENARIOS, WINDOWS
from bench.results import Table, named

SUMMARY = named(
    " | sessions | refused | failed turns | billed and not counted | uncached against plain, long session | "
    "turns lost unseen | targets | own: refused | own: failed turns | own: uncached against plain | "
    "own: turns lost unseen"
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
    plans = planned({name: framework})
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


def summary(frameworks: dict[str, Framework], cells: Cells) -> Table:
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
