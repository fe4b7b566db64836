"""The demonstration as a stranger sees it: in a pipe, on a terminal, and when it is stopped in the middle."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.screenshot_demo import Grid
from tests.cli.readings import reading
from tests.cli.test_run import Terminal
from ullage.display.text import cells, plain
from ullage.meter.reading import Accuracy
from ullage.meter.track import Step
from ullage_agent.cli.demo import ENDS, is_mostly_inside, opening, shortened_table


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All that a run without pauses writes into a pipe."""
    place = tmp_path_factory.mktemp("home")
    ended = subprocess.run(
        [sys.executable, "-m", "ullage", "demo", "--fast"],
        cwd=place,
        env={**bare(), "HOME": str(place), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert list(place.iterdir()) == []  # nothing of it stays
    return ended.stdout


def bare() -> dict[str, str]:
    """An environment without any key."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_API_KEY", "COLUMNS", "NO_COLOR"))
    }


def in_order(text: str, wanted: Sequence[str]) -> None:
    at = 0
    for each in wanted:
        found = text.find(each, at)
        assert found >= 0, f"{each!r} does not come after what comes before it"
        at = found


def test_everything_that_it_is_about_happens_in_view(shown: str) -> None:
    in_order(
        shown,
        [
            "no key needed",
            "> Which casks lose more",
            "● read_log(day=1)",
            "queued (steer): Also note every day",
            "> Also note every day on which the pump failed.  (delivered)",
            "┌ ",
            "├ ",
            "└ ",
            "pruned: ",
            "> Tell me the long story",
            "cancelled: the partial answer is kept",
            "compacting: the compaction threshold is reached",
            "became a summary, ",
            "What was estimated before a call",
            " pruned",
            " compacted",
            "requests over HTTP, none refused",
            "Context  cellar-small",
            "Growth",
        ],
    )


def test_it_is_steered_once_and_reasons(shown: str) -> None:
    assert shown.count("queued (steer)") == 1
    assert "  Nothing odd so far. On to day 2." in shown
    reasoning = re.search(r"reasoning (?:at least )?([\d,]+)", shown)
    assert reasoning is not None and int(reasoning[1].replace(",", "")) > 500


def test_it_makes_about_forty_calls_and_says_how_the_estimates_fared(shown: str) -> None:
    found = re.search(
        r"(\d+) requests over HTTP, none refused · (\d+) of (\d+) estimates inside their interval",
        shown,
    )
    assert found is not None
    requests, inside, compared = (int(each) for each in found.groups())
    assert 38 <= requests <= 50 and 36 <= compared <= 45
    assert inside >= 0.75 * compared


def test_the_first_lines_say_what_is_seen_in_eighty_columns() -> None:
    first, second, blank = opening(80)
    assert blank == ()
    assert cells(plain(first)) <= 80 and cells(plain(second)) <= 80


@pytest.mark.sweep
def test_on_a_small_terminal_no_line_is_wider_than_it_and_the_gauge_is_left_once() -> (
    None
):
    environment = {
        **bare(),
        "TERM": "xterm",
        "COLUMNS": "80",
        "LINES": "24",
        "PYTHONIOENCODING": "utf-8",
    }
    terminal = Terminal(
        [sys.executable, "-m", "ullage", "demo", "--fast"], environment, Path.cwd()
    )
    assert terminal.end() == 0
    grid = Grid()
    grid.write(terminal.seen)
    assert max(cells(line) for line in grid.texts) <= 80
    end = next(
        place
        for place, line in enumerate(grid.texts)
        if line.startswith("What was estimated")
    )
    assert sum(" of 9,000 (" in line for line in grid.texts[:end]) == 1


def test_ctrl_c_in_the_middle_ends_it_without_a_trace() -> None:
    environment = {
        **bare(),
        "TERM": "xterm",
        "COLUMNS": "80",
        "PYTHONIOENCODING": "utf-8",
    }
    terminal = Terminal([sys.executable, "-m", "ullage", "demo"], environment, Path.cwd())
    terminal.until("read_log(day=2)")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.seen and terminal.seen.endswith("\n")


def test_the_table_shows_both_ends_changes_and_misses_and_counts_the_rest() -> None:
    steps = [
        Step(number=n, call=str(n), estimated=100, low=90, high=110, actual=100)
        for n in range(1, 31)
    ]
    steps[14] = Step(number=15, call="15", estimated=100, low=90, high=110, actual=200)
    steps[20] = Step(
        number=21,
        call="21",
        estimated=100,
        low=90,
        high=110,
        actual=100,
        marks=("compaction",),
    )
    lines = [plain(line) for line in shortened_table(steps, 80)]
    numbers = [int(line.split()[0]) for line in lines[1:] if line.split()[0].isdigit()]
    assert numbers == [*range(1, ENDS + 1), 15, 20, 21, *range(31 - ENDS, 31)]
    left_out = sum(int(line.split()[1]) for line in lines if "…" in line)
    assert left_out + len(numbers) == 30


def test_mostly_inside_means_three_of_four() -> None:
    def with_inside(inside: int, calls: int) -> bool:
        return is_mostly_inside(reading(accuracy=Accuracy(calls=calls, inside=inside)))

    assert with_inside(30, 40) and not with_inside(29, 40) and not with_inside(0, 0)
