"""How every client is timed on the wire: CPU time of its process, medians over calls; the answer goes out as JSON.

Loaded by the scripts beside it, each in the environment of its peer; imports nothing but the standard library. A script
is started as: python SCRIPT URL ROUNDS.json
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

WARM_UP = 3
CALLS = 25
LONG_CALLS = 9
PIECES = 200


class Way(NamedTuple):
    """One wire of one client. Each makes one call and gives the text: at ``base``, with that history behind it."""

    call: Callable[[str, Any], Awaitable[str]]
    history: Callable[[list[dict[str, str]]], Any]


def rounds() -> list[dict[str, str]]:
    """The tool rounds that stand behind a long request."""
    found: list[dict[str, str]] = json.loads(Path(sys.argv[2]).read_text())
    return found


def base() -> str:
    return sys.argv[1]


async def _timed(
    call: Callable[[], Awaitable[str]], count: int, pieces: int
) -> list[float]:
    times: list[float] = []
    for lap in range(WARM_UP + count):
        start = time.process_time()
        text = await call()
        spent = time.process_time() - start
        if len(text.split()) != pieces:
            raise SystemExit(
                f"got {len(text.split())} words instead of {pieces}: {text[:100]!r}"
            )
        if lap >= WARM_UP:
            times.append(1e3 * spent)
    return times


async def _measure(way: Way) -> dict[str, float]:
    bare, long = way.history([]), way.history(rounds())
    streams = await _timed(lambda: way.call(base(), bare), CALLS, PIECES)
    short = await _timed(lambda: way.call(f"{base()}/short", bare), LONG_CALLS, 1)
    behind = await _timed(lambda: way.call(f"{base()}/short", long), LONG_CALLS, 1)
    return {
        "stream": median(streams),
        "stream_least": min(streams),
        "stream_most": max(streams),
        "build": median(behind) - median(short),
        "build_least": min(behind) - min(short),
        "call": median(short),
    }


def report(packages: list[str], ways: Mapping[str, Way]) -> None:
    """Print what each wire takes, in milliseconds of CPU."""

    async def all_ways() -> dict[str, dict[str, float]]:
        return {name: await _measure(way) for name, way in ways.items()}

    measured = asyncio.run(all_ways())
    print(
        json.dumps(
            {"versions": {name: version(name) for name in packages}, "ways": measured}
        )
    )
