"""The steps that every script of ``bench.plugins`` and ``bench.compaction`` is driven through; the outcome is JSON.

Imports nothing but the standard library. A script is started as: python SCRIPT URL PLAN.json [MODE [ARGUMENT...]]
It gives ``drive`` a ``Program``. A plan may be one of several parts, each a process of its own: what ``history`` holds
then is pickled into ``FOLDER``, where a plug-in also keeps its store.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

PLAN: dict[str, Any] = json.loads(Path(sys.argv[2]).read_text())
"""``steps``; ``results``: what the tool gives, by number; ``window`` and ``trigger``, a share of it."""
URL, MODE = sys.argv[1], "".join(sys.argv[3:4])
SYSTEM: str = PLAN["system"]
WINDOW: int = PLAN["window"]
TRIGGER: float = PLAN["trigger"]
FOLDER = Path(PLAN["folder"])
"""Outlives the process: for a plug-in's store."""
MOST_STEPS = 1_000
"""Model calls of a turn: no client is to stop because a turn is long."""
LOST_ARGUMENTS = {"number": 0, "call": "use for hours"}
"""Of the call of ``use`` that never got its result."""
OURS: dict[str, Any] = {
    "window": WINDOW,
    "trigger": TRIGGER,
    "store": FOLDER / "ullage.db",
}
"""What Ullage is told, by whatever plug-in."""
SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "call": {"type": "string"}},
    "required": ["number", "call"],
}
ABOUT = {"name": "use", "description": "Do what ``call`` says."}


def use(number: int, call: str) -> str:
    """Do what ``call`` says."""
    results: list[str] = PLAN["results"]
    return results[number]


@dataclass(frozen=True, slots=True)
class Step:
    """``said`` to ``model``. With ``streams`` the answer is read as a stream, and left after ``stop_after`` pieces.

    ``lost_call`` is the id of a call whose result never came: see ``Program.lose``.
    """

    said: str
    model: str
    streams: bool = False
    stop_after: int = 0
    lost_call: str = ""


class Program:
    """What a script offers; ``packages`` are those whose versions are reported.

    ``history`` is the conversation as the framework's user keeps it; it is set after a restart.
    """

    packages: tuple[str, ...] = ()
    counts_all = False
    """Whether ``counted`` has the calls of earlier processes too: with a store."""

    def __init__(self) -> None:
        self.history: Any = []
        self.counts = [0, 0]

    async def turn(self, step: Step) -> None:
        """Have the framework answer; raises what the framework raises. With ``stop_after`` leaves the stream."""
        raise NotImplementedError

    def lose(self, step: Step) -> None:
        """Put ``step.said`` and a call of ``use`` with ``LOST_ARGUMENTS`` into the history, as the framework has it."""
        raise NotImplementedError

    def add(self, sent: int | None, received: int | None) -> None:
        """Count a finished call."""
        self.counts[0] += sent or 0
        self.counts[1] += received or 0

    def note(self, event: Any) -> None:
        """Count a call by an event of Ullage."""
        if type(event).__name__ == "CallEnded" and event.usage is not None:
            self.add(event.usage.input, event.usage.output)

    def counted(self) -> tuple[int, int]:
        """Input and output of all finished calls, as the program or its plug-in counts them."""
        return self.counts[0], self.counts[1]

    async def close(self) -> None:
        """Let go of everything."""


def spent(reading: Any) -> tuple[int, int]:
    """Input and output of all calls of a reading of Ullage."""
    found = reading.spend.all
    return found.input or 0, found.output or 0


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
    print(json.dumps({**found, "counts_all": program.counts_all}))
