"""The page that compares agents names a test for each thing that it says of Ullage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.house.pages import ROOT

PAGE = ROOT / "docs" / "agent-beside.md"
TESTS = Path(__file__).with_name("agent_beside.md")


class Cell(NamedTuple):
    """What a page says of Ullage, and the tests that it names for it."""

    says: str
    tests: tuple[str, ...]


def cells(page: str) -> dict[str, Cell]:
    """Of each row of the comparison."""
    comparison, _, tested = page.partition("# The test of each")
    said = {row[0]: row[1] for row in rows(comparison) if len(row) == 7}
    named = {
        row[0]: tuple(re.findall(r"`([^`\s]+::[^`\s]+)`", row[1])) for row in rows(tested)
    }
    return {name: Cell(says, named.get(name, ())) for name, says in said.items()}


def rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| |"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def faults(page: str, root: Path) -> Iterator[str]:
    for name, (says, tests) in cells(page).items():
        if says.startswith("**") and not tests:
            yield f"{name}: no test is named"
        for test in tests:
            file, _, function = test.partition("::")
            place = root / file
            text = place.read_text("utf-8") if place.is_file() else ""
            if f"def {function}(" not in text:
                yield f"{name}: there is no test {test}"


def test_each_thing_said_of_ullage_has_a_test_that_exists() -> None:
    page = PAGE.read_text("utf-8") + TESTS.read_text("utf-8")
    assert len(cells(page)) > 25
    assert list(faults(page, ROOT)) == []


PLANTED = """
| | Ullage | a | b | c | d | e |
|---|---|---|---|---|---|---|
| one | **yes** | no | no | no | no | no |
| two | **yes** | no | no | no | no | no |
| three | no | no | no | no | no | no |

## The test of each

| | test |
|---|---|
| two | `tests/house/test_agent_beside.py::test_that_was_renamed` |
"""


def test_a_missing_name_and_a_missing_test_are_found() -> None:
    assert list(faults(PLANTED, ROOT)) == [
        "one: no test is named",
        "two: there is no test tests/house/test_agent_beside.py::test_that_was_renamed",
    ]
