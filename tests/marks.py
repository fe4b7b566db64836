"""Which tier a test is of, decided when it is collected (tests/README.md).

The first tier, ``uv run pytest``, has every test that is none of these:

- ``program``: it starts a program, or needs a server that is one: PostgreSQL, Restate, a browser. Found by what the
  test's own code uses (tests/reach.py); where that can't be seen, marked in its file. A test of the first tier that
  starts one fails (tests/guard.py).
- ``slow``: it takes more than 0.2 s of the processor: it is listed in tests/slow.txt, or marked in its file.
- ``sweep``: it tries every moment of something, or very many histories: ``SWEEPS``, ``first_of`` or its file say so. A
  run of ``.ci/run`` tries a third of them: ``SWEEPS=0``, ``1`` or ``2``.

The second tier, ``-m second``, has those, and the property tests once more with all their examples (``property``),
which take turns as sweeps do.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Final
from zlib import crc32

import pytest

from tests.programs import not_here
from tests.reach import starts_program
from tests.tiers import each_tenth, examples

SLOW: Final = Path(__file__).parent / "slow.txt"
IS_LINUX: Final = sys.platform.startswith("linux")
THIRDS: Final = 3

SWEEPS: Final = frozenset(
    {
        "compaction",
        "hostile",
        "importers/test_deep_logs.py",
        "integration/test_long_loops.py",
        "integration/test_readings.py",
        "promises/test_cancel_streams.py",
        "promises/test_long_loops.py",
        "promises/test_reading.py",
        "promises/test_tools.py",
        "runtime/test_damaged.py",
        "server/page/test_axe.py",
        "server/page/test_long.py",
        "server/page/test_reconnect.py",
        "store/sqlite/test_size.py",
        "sweeps",
    }
)
"""Directories and files in which every test is a sweep."""

SANDBOXED: Final = frozenset(
    {
        "hostile",
        "promises/test_cancel_elsewhere.py",
        "runtime/test_ceiling.py",
        "tools/test_escapes.py",
        "tools/test_processes.py",
        "tools/test_protected_paths.py",
        "tools/test_repositories.py",
        "tools/test_sandbox.py",
        "tools/test_shell.py",
    }
)
"""Directories and files whose tests run commands in the sandbox, or look into /proc: they start programs."""

ELSEWHERE: Final = frozenset({"runtime/test_ceiling.py"})
"""Those of them that other systems can run too."""

LATER: Final = ("program", "slow", "sweep")
"""Marks of the tests that the first tier is without."""


def stands_in(item: pytest.Item, places: frozenset[str]) -> bool:
    """Whether a test's file, or the directory of its package, is one of these."""
    path = below_tests(item.path)
    return not places.isdisjoint((path.parts[0], path.as_posix()))


def below_tests(path: Path) -> Path:
    """Where a file stands in the folder of tests of its distribution, or in that of all."""
    last = len(path.parts) - 1 - path.parts[::-1].index("tests")
    return Path(*path.parts[last + 1 :])


def place_of(item: pytest.Item) -> str:
    """A test without its case, as tests/slow.txt lists it."""
    return item.nodeid.partition("[")[0]


@cache
def slow_ones() -> frozenset[str]:
    """The tests that are listed as slow."""
    lines = SLOW.read_text("utf-8").splitlines()
    return frozenset(
        line.partition(" ")[0] for line in lines if line[:1] not in ("#", "")
    )


def third_of(case: str) -> int:
    """In which third of the runs a case of a sweep is tried: it stays the same, whatever cases come or go."""
    return crc32(case.encode()) % THIRDS


def rests(item: pytest.Item, turn: str) -> bool:
    """Whether a case of a sweep is not tried in this run; ``turn`` is the third that is, or ``all``.

    Nor are all examples of a property test: the first tier tries some of them each time.
    """
    return bool(
        turn.isdecimal()
        and any(map(item.get_closest_marker, ("sweep", "property")))
        and third_of(item.nodeid) != int(turn) % THIRDS
    )


def turn() -> str:
    """Which third of the sweeps this run tries."""
    return os.environ.get("SWEEPS", "all")


def has_examples(item: pytest.Item) -> bool:
    """Whether a test tries fewer examples in the first tier."""
    names = vars(getattr(item, "module", None) or object)
    takes = names.get("examples") is examples or names.get("each_tenth") is each_tenth
    return takes or item.get_closest_marker("hypothesis") is not None


def mark(item: pytest.Item) -> None:
    """Give a test the marks of its tier."""
    is_sandboxed = stands_in(item, SANDBOXED)
    if is_sandboxed and not IS_LINUX and not stands_in(item, ELSEWHERE):
        not_here["Linux"] = "the sandbox, and what is read from /proc"
        item.add_marker(pytest.mark.skip("needs Linux"))
    if is_sandboxed or starts_program(item):
        item.add_marker(pytest.mark.program)
    if place_of(item) in slow_ones():
        item.add_marker(pytest.mark.slow)
    if stands_in(item, SWEEPS):
        item.add_marker(pytest.mark.sweep)
    if has_examples(item):
        item.add_marker(pytest.mark.property)
    if any(item.get_closest_marker(name) for name in (*LATER, "property")):
        item.add_marker(pytest.mark.second)


def is_long(item: pytest.Item) -> bool:
    """Whether a test of the second tier is run early: no long one is left when the others have ended."""
    has_many = item.get_closest_marker("property") and item.get_closest_marker("second")
    return bool(has_many or item.get_closest_marker("sweep"))


def is_of_the_first_tier(item: pytest.Item) -> bool:
    """Whether a test runs in this process, and shortly."""
    return not any(item.get_closest_marker(name) for name in LATER)
