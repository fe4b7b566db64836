"""A step that ran less than ``.ci/expected`` says fails the run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

import pytest

from scripts.expected import PLACE, counts, faults
from scripts.repository import ROOT

EXPECTED = {
    "first": {"passed": 12},
    "second": {"passed": 3, "skipped": 1, "warnings": 2},
    "clients": {"lines": {r"^(Claude Code|Codex) .*\d+ requests": 2}},
    "checks": {"lines": {"^ok ": 1}, "may": ["^NOT CHECKED +known weaknesses"]},
}
LOGS = {
    "first": "....\n12 passed, 4 deselected in 3.21s\n",
    "second": "== 3 passed, 1 skipped, 2 warnings, 9 deselected in 62.01s (0:01:02) ==\n",
    "clients": "Claude Code  resume  9 requests, 0 refused\nCodex  resume  7 requests\n",
    "checks": "ok          lint (0.1 s)\nNOT CHECKED known weaknesses (2 s)\n",
}


def test_a_run_that_did_everything_passes() -> None:
    assert list(faults(EXPECTED, LOGS)) == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"first": "11 passed in 3.21s\n"}, "11 tests passed, and at least 12 must"),
        ({"first": "12 passed, 1 skipped in 3.21s\n"}, "1 skipped, and 0 are allowed"),
        ({"first": "12 passed, 1 warning in 3.2s\n"}, "1 warnings, and 0 are allowed"),
        ({"first": "no tests ran in 0.02s\n"}, "0 tests passed"),
        ({"first": "12 passed in 3s\nNOT TESTED: tmux\n"}, "it says: NOT TESTED: tmux"),
        ({"clients": "Codex  resume  7 requests\n"}, "1 lines are like"),
        ({"clients": "NOT RUN: Codex: no npm\n"}, "it says: NOT RUN: Codex: no npm"),
        ({"checks": "ok lint\nNOT CHECKED: all\n"}, "it says: NOT CHECKED: all"),
        ({"site": "built\n"}, "site: .ci/expected does not have this step"),
    ],
)
def test_a_run_that_did_less_fails(changed: Mapping[str, str], says: str) -> None:
    assert any(says in each for each in faults(EXPECTED, LOGS | dict(changed)))


def test_a_step_that_did_not_run_fails() -> None:
    (fault,) = faults(EXPECTED, {key: LOGS[key] for key in LOGS if key != "clients"})
    assert fault == "clients: it did not run"


def test_a_misspelt_key_fails() -> None:
    (fault,) = faults({"first": {"past": 3}}, {"first": LOGS["first"]})
    assert "past, which means nothing" in fault


def test_the_counts_are_those_of_the_last_line() -> None:
    printed = "1 passed in 0.1s\nand 3 failed, 2 passed\n5 passed, 1 flaky in 3.21s\n"
    assert counts(printed) == {"passed": 5, "flaky": 1}


def test_each_step_of_the_run_is_expected_and_each_expected_one_is_a_step() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    steps = set(re.findall(r"^ *step (\w+) ", script, re.MULTILINE))
    expected = tomllib.loads((ROOT / PLACE).read_text("utf-8"))
    assert steps == set(expected)
    assert all(expected.values())
