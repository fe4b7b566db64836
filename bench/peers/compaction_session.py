"""The session that every client of ``bench.compaction`` is driven through; the outcome goes out as JSON.

Loaded by the scripts beside it, each in the environment of its peer; imports nothing but the standard library. A script
is started as: python SCRIPT URL SESSION.json
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

PLAN: dict[str, Any] = json.loads(Path(sys.argv[2]).read_text())
"""``turns``: what the user says; ``results``: what the tool gives, by number; ``window`` and ``trigger``, a share."""
URL = sys.argv[1]
SYSTEM: str = PLAN["system"]
WINDOW: int = PLAN["window"]
TRIGGER: float = PLAN["trigger"]
MODEL = "gpt-4.1"
MOST_STEPS = 1_000
"""Model calls of a turn: no client is to stop because a turn is long."""


def use(number: int, call: str) -> str:
    """Do what ``call`` says."""
    results: list[str] = PLAN["results"]
    return results[number]


def report(
    packages: list[str],
    turn: Callable[[str], Awaitable[None]],
    counted: Callable[[], tuple[int, int]],
) -> None:
    """Go through the turns. One that fails is over; the user goes on with the next, as a person would.

    ``counted`` gives input and output tokens as the client has counted them itself.
    """

    async def session() -> list[str]:
        problems = []
        for said in PLAN["turns"]:
            try:
                await turn(said)
            except Exception as problem:  # noqa: BLE001 - whatever a client raises, its turn has failed
                problems.append(f"{type(problem).__name__}: {problem}"[:300])
        return problems

    problems = asyncio.run(session())
    versions = {name: version(name) for name in packages}
    print(json.dumps({"versions": versions, "problems": problems, "counted": counted()}))
