"""The tables of the documentation hold every attack there is, once, and their sums agree. Figures are not judged."""

import re
from collections import Counter

from tests.hostile.__main__ import OTHERS
from tests.hostile.behaviours import BY_NAME
from tests.hostile.figures import (
    PAGE,
    Row,
    expected_rows,
    inside,
    label,
    listing,
    summary,
)
from tests.hostile.speech import WIRES

COUNT = re.compile(r"\*{0,2}[\d,]+\*{0,2}")
GROUPS = [(kind, what) for kind, (what, _) in OTHERS.items()]
FIGURE = re.compile(r"\d+|hangs|died|–")


def table(page_text: str, name: str) -> list[list[str]]:
    """The rows between the marks of this name, without the head, as cells."""
    lines = [
        line for line in inside(page_text, name).splitlines() if line.startswith("|")
    ]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines[2:]
    ]


def number(cell: str) -> int:
    assert COUNT.fullmatch(cell), f"{cell!r} is no count"
    return int(cell.strip("*").replace(",", ""))


def listed() -> list[list[str]]:
    return table(PAGE.read_text("utf-8"), "list")


def summed() -> list[list[str]]:
    return table(PAGE.read_text("utf-8"), "attacks")


def test_each_attack_is_listed_once_and_nothing_else_is() -> None:
    found = Counter(row[0] for row in listed())
    expected = Counter(label(row) for row in expected_rows()) + Counter(
        f"{what} (`{kind}`)" for kind, what in GROUPS
    )
    kills = Counter(name for name in found if name.startswith("`kill -9`"))
    assert len(kills) == 2
    assert found - kills == expected, (
        f"run `make attack`: {(expected - found) + (found - kills - expected)}"
    )


def test_each_row_of_the_list_counts_what_was_tried_survived_and_lost() -> None:
    for name, *counts in listed():
        tried, survived, lost = map(number, counts)
        assert tried == survived + lost and tried > 0, name


def test_a_behaviour_of_the_provider_was_tried_on_every_wire() -> None:
    tried = {row[0]: number(row[1]) for row in listed()}
    labels = [label(row) for row in expected_rows() if row.group.startswith("provider")]
    assert {name: tried[name] for name in labels} == dict.fromkeys(labels, len(WIRES))


def test_the_sums_agree_with_the_list() -> None:
    *groups, total = [[number(cell) for cell in row[1:]] for row in summed()]
    assert [sum(column) for column in zip(*groups, strict=True)] == total
    assert total[0] == len(listed())
    assert total[1:] == [sum(number(row[at]) for row in listed()) for at in (1, 2, 3)]


def test_each_behaviour_has_a_figure_for_each_wire() -> None:
    rows = table(PAGE.read_text("utf-8"), "wires")
    assert [row[0].strip("`") for row in rows] == list(BY_NAME), "run `make attack`"
    for name, *cells, ends in rows:
        for cell in cells:
            figures = cell.split(" · ")
            assert len(figures) == len(WIRES) and all(
                FIGURE.fullmatch(each) for each in figures
            ), f"{name}: {cell}"
        assert "–" not in "".join(cells) and ends, name


def test_each_group_of_behaviours_has_its_costs() -> None:
    rows = table(PAGE.read_text("utf-8"), "costs")
    assert [row[0] for row in rows] == list(
        dict.fromkeys(row.group for row in BY_NAME.values())
    )
    assert all(
        re.fullmatch(r"[\d,]+( ms| MB)?", cell) for row in rows for cell in row[1:]
    )


def test_counts_are_written_as_numbers_whatever_they_were_made_of() -> None:
    row = Row(group="g", name="n", does="d", tried=True, survived=True)
    assert listing([row])[-1] == "| d (`n`) | 1 | 1 | 0 |"
    assert "True" not in "".join(summary([row]))
