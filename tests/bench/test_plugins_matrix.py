"""Which cells the plug-in bench runs, and in which order."""

from dataclasses import replace

from bench.plugins.cells import Cell
from bench.plugins.framework import PLAIN_CHAT, Contender, Framework
from bench.plugins.matrix import LONG, missing, planned
from bench.plugins.scenarios import MIXED, SCENARIOS, SEEDS, WINDOWS

NEWEST = Contender("newest", "cask.py", requirements=("cask==2",), is_quick=True)
LOWEST = Contender("lowest", "cask.py", requirements=("cask==1",), is_lowest=True)
CASK = Framework("Cask", (PLAIN_CHAT, LOWEST, NEWEST))
LID = Framework("Lid", (PLAIN_CHAT, NEWEST))
EVERY = len(WINDOWS) * (len(SEEDS) + len(SCENARIOS) - 1)


def test_a_plain_sdk_is_run_once_for_all_frameworks_of_its_wire() -> None:
    plans = planned({"cask": CASK, "lid": LID})
    plain = [each for each in plans if each.contender is PLAIN_CHAT]
    assert len(plain) == EVERY
    assert len(plans) == 4 * EVERY
    assert len({each.place for each in plans}) == len(plans)


def test_the_newest_versions_and_what_they_are_compared_with_come_first() -> None:
    plans = planned({"cask": CASK})
    long = [each for each in plans if each.scenario is LONG]
    assert plans[: len(long)] == long
    titles = [each.contender.title for each in long if each.seed == SEEDS[0]]
    assert titles[::2] == [PLAIN_CHAT.title, "newest", "lowest"]


def test_a_quick_run_is_one_mixed_session_of_the_newest_version() -> None:
    plans = planned({"cask": CASK}, quick=True)
    assert [each.contender for each in plans] == [PLAIN_CHAT, NEWEST]
    for each in plans:
        assert (each.scenario, each.window, each.seed) == (MIXED, WINDOWS[0], SEEDS[0])


def test_a_brief_framework_plays_the_long_session_on_the_smallest_window() -> None:
    brief = replace(LID, is_brief=True)
    plans = planned({"lid": brief})
    for each in plans:
        assert (each.scenario, each.window) == (LONG, WINDOWS[0])
    assert len(plans) == 2 * len(SEEDS)


def test_a_later_run_goes_on_with_what_is_not_kept_or_could_not_be_run() -> None:
    plans = planned({"lid": LID})[:3]
    places = [each.place for each in plans]
    cells = {
        places[0]: Cell(place=places[0]),
        places[1]: Cell(place=places[1], not_run="no disk"),
    }
    assert [each.place for each in missing(plans, cells)] == places[1:]
