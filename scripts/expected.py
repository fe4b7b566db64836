"""Whether a run of ``.ci/run`` did what ``.ci/expected`` says: a step that ran nothing is no success.

    uv run python -m scripts.expected LOGS

``LOGS`` is the folder with what each step printed, a file per step. A step's table says: at least so many tests
``passed``, at most so many were ``skipped`` or gave ``warnings``; how many lines at least match each pattern of
``lines``; and which lines that begin with NOT it ``may`` print. Whatever it does not allow fails the run.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scripts.repository import ROOT

PLACE: Final = Path(".ci", "expected")
COUNTED: Final = re.compile(
    r"^(?=.* in [\d.:]+ ?s)(?:=+ )?(\d+ \w+(?:, \d+ \w+)*) in ", re.MULTILINE
)
"""The last line of pytest, ``12 passed, 1 skipped in 3.21s``."""

NOT: Final = re.compile(r"^\W*NOT [A-Z]+\b.*", re.MULTILINE)
"""A line that says what was not done."""

KEYS: Final = frozenset({"passed", "skipped", "warnings", "lines", "may"})


def counts(printed: str) -> dict[str, int]:
    """How many tests passed, were skipped and so on, by pytest's words."""
    found = COUNTED.findall(printed)
    pairs = (each.split() for each in (found[-1].split(", ") if found else ()))
    return {
        word.rstrip("s") if word != "passed" else word: int(count)
        for count, word in pairs
    }


def tests_missing(counted: Mapping[str, int], step: Mapping[str, Any]) -> Iterator[str]:
    """What the counts of a run of tests lack, or have too much of."""
    if counted.get("passed", 0) < step["passed"]:
        yield f"{counted.get('passed', 0):,} tests passed, and at least {step['passed']:,} must"
    for key, word in (("skipped", "skipped"), ("warnings", "warning")):
        if counted.get(word, 0) > step.get(key, 0):
            yield f"{counted[word]} {key}, and {step.get(key, 0)} are allowed"


def lines_missing(printed: str, step: Mapping[str, Any]) -> Iterator[str]:
    """Which lines a step did not print often enough, and which it may not print."""
    for pattern, least in step.get("lines", {}).items():
        found = len(re.findall(pattern, printed, re.MULTILINE))
        if found < least:
            yield f"{found} lines are like {pattern!r}, and at least {least} must be"
    for said in NOT.findall(printed):
        if not any(re.search(each, said) for each in step.get("may", ())):
            yield f"it says: {said.strip()}"


def faults(expected: Mapping[str, Any], logs: Mapping[str, str]) -> Iterator[str]:
    """What the steps of a run did not do, each with its step."""
    for name in sorted(set(expected) | set(logs)):
        step, printed = expected.get(name), logs.get(name)
        if step is None:
            yield f"{name}: {PLACE} does not have this step"
        elif printed is None:
            yield f"{name}: it did not run"
        elif unknown := set(step) - KEYS:
            yield f"{name}: {PLACE} has {', '.join(sorted(unknown))}, which means nothing"
        else:
            if "passed" in step:
                yield from (
                    f"{name}: {each}" for each in tests_missing(counts(printed), step)
                )
            yield from (f"{name}: {each}" for each in lines_missing(printed, step))


def main(folder: Path) -> int:
    """Print what was not done, and give the exit code."""
    expected = tomllib.loads((ROOT / PLACE).read_text("utf-8"))
    logs = {
        path.stem: path.read_text("utf-8", "replace") for path in folder.glob("*.log")
    }
    found = list(faults(expected, logs))
    print("\n".join(found) or f"All {len(expected)} steps did what {PLACE} expects.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
