"""The steps that every script of ``bench.plugins`` is driven through; the outcome goes out as JSON.

Imports nothing but the standard library. A script is started as: python SCRIPT URL PLAN.json [ARGUMENT...]
It gives ``drive`` a ``Program``. A plan may be one of several parts, each a process of its own: what ``history`` holds
then is pickled into ``FOLDER``, where a plug-in also keeps its store.
"""

from __future__ import annotations

import asyncio
import json
import pickle
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from compaction_session import MOST_STEPS, PLAN, SYSTEM, TRIGGER, URL, WINDOW, use

__all__ = [
    "FOLDER",
    "LOST_ARGUMENTS",
    "MOST_STEPS",
    "SYSTEM",
    "TRIGGER",
    "URL",
    "WINDOW",
    "Program",
    "Step",
    "drive",
    "use",
]

FOLDER = Path(PLAN["folder"])
"""Outlives the process: for a plug-in's store."""
LOST_ARGUMENTS = {"number": 0, "call": "use for hours"}
"""Of the call of ``use`` that never got its result."""


@dataclass(frozen=True, slots=True)
class Step:
    """``said`` to ``model``. With ``streams`` the answer is read as a stream, and left after ``stop_after`` pieces.

    ``lost_call`` is the id of a call whose result never came: see ``Program.lose``.
    """

    said: str
    model: str
    streams: bool
    stop_after: int
    lost_call: str


class Program(Protocol):
    """What a script offers."""

    packages: tuple[str, ...]
    """Whose versions are reported."""
    history: Any
    """The conversation as the framework's user keeps it; can be pickled, and is set after a restart."""

    async def turn(self, step: Step) -> None:
        """Have the framework answer; raises what the framework raises. With ``stop_after`` leaves the stream."""

    def lose(self, step: Step) -> None:
        """Put ``step.said`` and a call of ``use`` with ``LOST_ARGUMENTS`` into the history, as the framework has it."""

    def counted(self) -> tuple[int, int]:
        """Input and output of all finished calls, as the program or its plug-in counts them.

        Of this process; of the processes before it too, if the program has ``counts_all = True``: with a store.
        """

    async def close(self) -> None:
        """Let go of everything."""


def drive(program: Program) -> None:
    """Go through the steps. One that fails is over; the person goes on with the next."""
    asyncio.run(_drive(program))


async def _drive(program: Program) -> None:
    kept = FOLDER / "history.pickle"
    if kept.exists():
        program.history = pickle.loads(kept.read_bytes())
    problems: list[str] = []
    for given in PLAN["steps"]:
        step = Step(**given)
        try:
            if step.lost_call:
                program.lose(step)
            else:
                await program.turn(step)
        except Exception as problem:  # noqa: BLE001 - whatever a framework raises, its turn has failed
            problems.append(f"{type(problem).__name__}: {problem}"[:300])
    counted = program.counted()
    kept.write_bytes(pickle.dumps(program.history))
    await program.close()
    versions = {name: version(name) for name in program.packages}
    found = {"versions": versions, "problems": problems, "counted": counted}
    print(json.dumps({**found, "counts_all": getattr(program, "counts_all", False)}))
