"""Cells of the plug-in bench as lines, tables and sections of a page."""

from dataclasses import replace

from bench.plugins.cells import Cell, Cells, Planned
from bench.plugins.framework import PLAIN_CHAT, Contender, Framework
from bench.plugins.matrix import LONG
from bench.plugins.outcome import PluginOutcome
from bench.plugins.scenarios import SEEDS
from bench.plugins.table import line, row, summary
from bench.results import with_table
from scripts.house.pages import ROOT

PLUG_IN = Contender("Ullage in Cask", "cask.py", requirements=("cask==1",))
FRAMEWORK = Framework("Cask", (PLAIN_CHAT, PLUG_IN))
FRAMEWORKS = {"cask": FRAMEWORK}


def plan(contender: Contender, seed: int = 4) -> Planned:
    return Planned("cask", FRAMEWORK, contender, LONG, 9_000, seed)


def kept(*outcomes: tuple[Planned, PluginOutcome]) -> Cells:
    found: Cells = {}
    for each, outcome in outcomes:
        found[each.place] = Cell(place=each.place, outcome=outcome)
    return found


def counts(**given: int) -> PluginOutcome:
    return PluginOutcome(**{"calls": 1, "uncached": 100, **given})


def test_a_plug_in_is_compared_with_the_plain_sdk_on_the_same_sessions() -> None:
    cells = kept((plan(PLUG_IN), counts(uncached=200)), (plan(PLAIN_CHAT), counts()))
    found = row([plan(PLUG_IN)], cells)
    assert found.missed() == ["uncached +100.0% against the plain SDK"]


def test_it_is_not_compared_where_the_plain_sdk_lacks_a_session() -> None:
    cells = kept(
        (plan(PLUG_IN), counts(uncached=200)),
        (plan(PLUG_IN, 5), counts(uncached=200)),
        (plan(PLAIN_CHAT), counts()),
    )
    found = row([plan(PLUG_IN), plan(PLUG_IN, 5)], cells)
    assert (found.seeds, found.plain, found.missed()) == ([4, 5], None, [])


def test_a_row_is_the_sum_over_the_seeds_that_there_are() -> None:
    plans = [plan(PLUG_IN, seed) for seed in SEEDS]
    cells = kept((plans[0], counts(billed=3)), (plans[2], counts(billed=4)))
    found = row(plans, cells)
    assert (found.seeds, found.outcome.billed) == ([4, 6], 7)


def test_a_line_says_pass_or_fail_or_why_there_is_nothing() -> None:
    one = plan(PLUG_IN)
    assert line(row([one], kept((one, counts())))).startswith("pass: ")
    assert line(row([one], kept((one, counts(refused=1))))).endswith(": 1 refused")
    lacking = {one.place: Cell(place=one.place, not_run="no disk")}
    assert line(row([one], lacking)).endswith("no disk")


def test_the_summary_has_a_line_for_each_framework_that_was_run() -> None:
    assert summary(FRAMEWORKS, {}).rows == ()
    made = summary(FRAMEWORKS, kept((plan(PLUG_IN), counts(refused=2)))).markdown()
    assert "| Cask 1 | 1 | 2 | 0 | 0 |" in made


def test_the_page_has_a_place_for_the_summary() -> None:
    page = (ROOT / "bench" / "RESULTS.md").read_text("utf-8")
    assert "| Cask 1 |" in with_table(
        page, summary(FRAMEWORKS, kept((plan(PLUG_IN), counts())))
    )


def test_a_framework_without_the_plain_sdk_is_not_compared() -> None:
    alone = replace(FRAMEWORK, contenders=(PLUG_IN,))
    one = plan(PLUG_IN)._replace(framework=alone)
    assert row([one], kept((one, counts()))).plain is None
