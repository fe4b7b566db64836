"""Which cells there are to run, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.plugins.cells import Cells, Planned
from bench.plugins.framework import Contender, Framework, Kind
from bench.plugins.scenarios import MIXED, SCENARIOS, SEEDS, WINDOWS, PluginScenario

LONG = SCENARIOS[0]
KINDS: tuple[Kind, ...] = ("plain", "plug-in", "own")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is run: without a part of it, all of it. ``quick``: the newest versions, one window, one seed."""

    scenarios: Sequence[str] = ()
    windows: Sequence[int] = ()
    seeds: Sequence[int] = ()
    kind: Kind | None = None
    quick: bool = False

    def takes(self, contender: Contender) -> bool:
        """Whether a row is run at all."""
        if self.quick and not contender.is_quick:
            return False
        return self.kind in (None, contender.kind)


EVERYTHING = Choice()


def planned(frameworks: dict[str, Framework], choice: Choice) -> list[Planned]:
    """The cells that are chosen, what matters most first; a plain SDK's once for all frameworks of its wire."""
    found: dict[object, Planned] = {}
    for name, framework in frameworks.items():
        for contender in framework.contenders:
            if not choice.takes(contender):
                continue
            for scenario in _scenarios(framework, contender, choice):
                for cell in _cells(name, framework, contender, scenario, choice):
                    found.setdefault(cell.place, cell)
    return sorted(found.values(), key=_rank)


def missing(plans: Iterable[Planned], cells: Cells) -> list[Planned]:
    """Those that no earlier run has kept an outcome of."""
    found: list[Planned] = []
    for each in plans:
        cell = cells.get(each.place)
        if cell is None or cell.not_run:
            found.append(each)
    return found


def _scenarios(
    framework: Framework, contender: Contender, choice: Choice
) -> list[PluginScenario]:
    """A framework's own compaction plays the long session alone: nobody promises that it survives the others."""
    offered: tuple[PluginScenario, ...] = (*SCENARIOS, MIXED)
    chosen = choice.scenarios or [each.name for each in SCENARIOS]
    if choice.quick and not choice.scenarios:
        chosen = [MIXED.name]
    if contender.kind == "own" or framework.is_brief:
        offered = (LONG,)
    return [each for each in offered if each.name in chosen]


def _cells(
    name: str,
    framework: Framework,
    contender: Contender,
    scenario: PluginScenario,
    choice: Choice,
) -> list[Planned]:
    one = choice.quick or framework.is_brief
    windows = choice.windows or (WINDOWS[:1] if one else WINDOWS)
    many = scenario is LONG and not choice.quick
    seeds = choice.seeds or (SEEDS if many else SEEDS[:1])
    found: list[Planned] = []
    for window in windows:
        for seed in seeds:
            found.append(Planned(name, framework, contender, scenario, window, seed))
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
