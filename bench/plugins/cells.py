"""A cell: one contender, one scenario, one window, one seed; run, and kept as a line of JSON as it ends."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from bench.environments import OUT, measured_by
from bench.plugins.frameworks import Contender, Framework, Kind
from bench.plugins.outcome import PluginOutcome, outcome
from bench.plugins.scenarios import (
    MIXED,
    SCENARIOS,
    SEEDS,
    WINDOWS,
    PluginScenario,
    script,
)
from ullage_simulators import running

LONG = SCENARIOS[0]
KINDS: tuple[Kind, ...] = ("plain", "plug-in", "own")


def planned(frameworks: dict[str, Framework], *, quick: bool = False) -> list[Planned]:
    """The cells, what matters most first; a plain SDK's once for all frameworks of its wire.

    ``quick``: the newest versions, one window, one seed.
    """
    found: dict[object, Planned] = {}
    for name, framework in frameworks.items():
        for contender in framework.contenders:
            if quick and not contender.is_quick:
                continue
            is_brief = contender.kind == "own" or framework.is_brief
            for scenario in (MIXED,) if quick else SCENARIOS[: 1 if is_brief else None]:
                for window, seed in _sizes(framework, scenario, quick=quick):
                    place = (contender, scenario, window, seed)
                    cell = Planned(name, framework, *place)
                    found.setdefault(cell.place, cell)
    return sorted(found.values(), key=_rank)


def _sizes(
    framework: Framework, scenario: PluginScenario, *, quick: bool
) -> Iterator[tuple[int, int]]:
    """Windows and seeds. A framework's own compaction plays the long session alone: nobody promises the others."""
    one = quick or framework.is_brief
    return product(
        WINDOWS[:1] if one else WINDOWS, SEEDS if scenario is LONG else SEEDS[:1]
    )


def missing(plans: Iterable[Planned], cells: Cells) -> list[Planned]:
    """Those that no earlier run has kept an outcome of."""
    found: list[Planned] = []
    for each in plans:
        cell = cells.get(each.place)
        if cell is None or cell.not_run:
            found.append(each)
    return found


def _rank(cell: Planned) -> tuple[int, ...]:
    is_long = cell.scenario is LONG
    return (
        not is_long,
        cell.contender.is_lowest and is_long,
        SCENARIOS.index(cell.scenario) if cell.scenario in SCENARIOS else 0,
        cell.seed,
        KINDS.index(cell.contender.kind),
        cell.window,
    )


RESULTS = OUT / "plugins.jsonl"
TIMEOUT_S = 900
"""For one part of a session."""
PLAIN = "plain"
"""The framework of a plain SDK's cells: those of one wire serve all frameworks."""


class Place(NamedTuple):
    """What tells a cell from others."""

    framework: str
    contender: str
    scenario: str
    window: int
    seed: int


class Planned(NamedTuple):
    """A cell before it is run. ``name`` is the framework's, as in --only."""

    name: str
    framework: Framework
    contender: Contender
    scenario: PluginScenario
    window: int
    seed: int

    @property
    def place(self) -> Place:
        """Where its cell is kept."""
        return Place(
            PLAIN if self.contender.kind == "plain" else self.name,
            self.contender.title,
            self.scenario.name,
            self.window,
            self.seed,
        )


@dataclass(slots=True, kw_only=True)
class Cell:
    """What a session came to. ``not_run`` says why there is no outcome."""

    place: Place
    outcome: PluginOutcome = field(default_factory=PluginOutcome)
    versions: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    not_run: str = ""


Cells: TypeAlias = dict[Place, Cell]


def run_cell(planned: Planned) -> Cell:
    """One session. Raises ``ClientFailed``, ``NotInstalled``, ``subprocess.TimeoutExpired``."""
    framework, contender = planned.framework, planned.contender
    played = planned.scenario.played(framework, planned.window, planned.seed)
    found = Cell(place=planned.place)
    counted = 0
    answers = script(played, framework)
    with (
        running(answers, seed=planned.seed, wires=[framework.wire]) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        for part in range(len(played.parts)):
            plan = Path(folder) / f"plan-{part}.json"
            plan.write_text(json.dumps(played.plan(part, folder)))
            arguments = (server.url(framework.wire), str(plan), *contender.arguments)
            said = measured_by(
                contender.peer, contender.script, *arguments, timeout_s=TIMEOUT_S
            )
            before = 0 if said["counts_all"] else counted
            counted = before + sum(said["counted"])
            found.problems += said["problems"]
            found.versions |= said["versions"]
        exchanges = [each for each in server.exchanges if each.number]
    found.outcome = outcome(exchanges, played, framework)
    found.outcome.failed_turns = len(found.problems)
    found.outcome.counted = counted
    return found


def kept(path: Path = RESULTS) -> Cells:
    """The cells of earlier runs, the latest of each place; none if there are no such."""
    if not path.exists():
        return {}
    found: Cells = {}
    for row in path.read_bytes().splitlines():
        cell = msgspec.json.decode(row, type=Cell)
        found[cell.place] = cell
    return found


def keep(cell: Cell, path: Path = RESULTS) -> None:
    """Add a cell to those that are kept. Several processes may do so at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(cell)) + "\n")
