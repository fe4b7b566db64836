"""A cell: one contender, one scenario, one window, one seed; run, and kept as a line of JSON as it ends."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from bench.environments import OUT, measured_by
from bench.plugins.framework import Contender, Framework
from bench.plugins.outcome import PluginOutcome, outcome
from bench.plugins.scenarios import PluginScenario, script
from ullage_simulators import running

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
