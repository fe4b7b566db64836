"""How every peer is timed: CPU time, the median of a few runs of the same call; the answer goes out as JSON.

Loaded by the scripts beside it, each in the environment of its peer; imports nothing but the standard library.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from statistics import median

RUNS = 5


def measured(work: Callable[[], int]) -> dict[str, float]:
    """Tokens and median CPU milliseconds of ``work``, after one run that is not counted."""
    tokens = work()
    times: list[float] = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return {
        "tokens": tokens,
        "milliseconds": 1e3 * median(times),
        "least": 1e3 * min(times),
        "most": 1e3 * max(times),
    }


def report(packages: list[str], ways: Mapping[str, Callable[[], int]]) -> None:
    """Print what each way of counting takes."""
    print(
        json.dumps(
            {
                "versions": {name: version(name) for name in packages},
                "ways": {name: measured(work) for name, work in ways.items()},
            }
        )
    )
