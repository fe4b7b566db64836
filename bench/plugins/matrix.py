"""Which cells there are to run, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from bench.plugins.cells import Cells, Planned
from bench.plugins.framework import Framework, Kind
from bench.plugins.scenarios import MIXED, SCENARIOS, SEEDS, WINDOWS, PluginScenario

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
