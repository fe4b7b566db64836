"""Cells of the plug-in bench are kept as they end."""

from pathlib import Path

from bench.plugins.cells import Cell, Place, keep, kept
from bench.plugins.outcome import PluginOutcome


def cell(scenario: str, calls: int) -> Cell:
    place = Place("cask", "one", scenario, 9_000, 4)
    return Cell(place=place, outcome=PluginOutcome(calls=calls))


def test_a_later_cell_replaces_that_of_its_own_place_alone(tmp_path: Path) -> None:
    path = tmp_path / "out" / "plugins.jsonl"
    assert kept(path) == {}
    for each in (cell("restart", 1), cell("streaming", 1), cell("restart", 2)):
        keep(each, path)
    found = kept(path)
    assert list(found.values()) == [cell("restart", 2), cell("streaming", 1)]
    assert all(place == each.place for place, each in found.items())
