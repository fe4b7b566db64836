"""The budget of code fails where there is more code, and where somebody raises it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scripts.budget import (
    PLACE,
    Budget,
    faults,
    lowered,
    overdrawn,
    package_of,
    raised,
    read,
    tokens_by_package,
    write,
)
from scripts.plainness import package_sources

BUDGET = Budget({"ullage": 100, "ullage_line": 10}, {})


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=cooper", "-c", "user.email=cooper@example.com")
    command = ["git", *identity, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def commit(folder: Path, budget: Budget) -> None:
    place = folder / PLACE
    place.parent.mkdir(exist_ok=True)
    place.write_text(write(budget), "utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "budget")


def test_more_code_than_the_budget_is_a_fault() -> None:
    assert list(overdrawn({"ullage": 100, "ullage_line": 10}, BUDGET)) == []
    (fault,) = overdrawn({"ullage": 101, "ullage_line": 10}, BUDGET)
    assert "ullage has 101 tokens of code, 1 above its budget of 100" in fault


def test_a_package_without_a_budget_and_a_budget_without_a_package_are_faults() -> None:
    assert len(list(overdrawn({"ullage": 1, "ullage_line": 1, "new": 1}, BUDGET))) == 1
    assert len(list(overdrawn({"ullage": 1}, BUDGET))) == 1


def test_one_more_statement_in_a_source_is_counted() -> None:
    name = "packages/ullage/src/ullage/messages.py"
    sources = {name: package_sources()[name]}
    before = tokens_by_package(sources)
    sources[name] += "\nx = 1\n"
    after = tokens_by_package(sources)
    assert after["ullage"] == before["ullage"] + 3


def test_a_package_is_the_folder_below_src() -> None:
    assert package_of("packages/ullage/src/ullage/meter/fold.py") == "ullage"
    path = "packages/ullage-simulators/src/ullage_simulators/drawn.py"
    assert package_of(path) == "ullage_simulators"


def test_budgets_may_move_but_not_rise_together() -> None:
    split = Budget({"ullage": 60, "ullage_agent": 40, "ullage_line": 10}, {})
    assert list(raised(split, BUDGET)) == []
    assert list(raised(Budget({"ullage": 90, "ullage_line": 10}, {}), BUDGET)) == []
    higher = Budget({"ullage": 130, "ullage_line": 10}, {})
    assert "grown by 30 tokens" in next(raised(higher, BUDGET))
    assert list(raised(higher._replace(capabilities={"speech": 30}), BUDGET)) == []
    assert len(list(raised(higher._replace(capabilities={"speech": 29}), BUDGET))) == 1


def test_a_budget_that_is_raised_is_found_before_and_after_its_commit(
    tmp_path: Path,
) -> None:
    git(tmp_path, "init", "--quiet")
    found = {"ullage": 100, "ullage_line": 10}
    commit(tmp_path, BUDGET)
    assert faults(found, tmp_path) == []
    higher = Budget({"ullage": 101, "ullage_line": 10}, {})
    (tmp_path / PLACE).write_text(write(higher), "utf-8")
    assert len(faults(found, tmp_path)) == 1
    commit(tmp_path, higher)
    assert len(faults(found, tmp_path)) == 1


def test_lowering_never_raises() -> None:
    budget = lowered({"ullage": 90, "ullage_line": 11}, BUDGET)
    assert budget.packages == {"ullage": 90, "ullage_line": 10}
    assert lowered({"new": 5}, BUDGET).packages == {"new": 0}
    assert read(write(budget)) == budget
