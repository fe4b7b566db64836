"""How every program of ``bench.durable`` is measured: one conversation of tool steps, or one that is killed.

Loaded by the scripts beside it, each in the environment of its peer; imports nothing but the standard library. A script
is started as: python SCRIPT HOW PLACE STEPS MARKS, where ``HOW`` is ``measure``, ``begin`` (until it is killed) or
``resume``, ``PLACE`` the database, and ``MARKS`` a file that gets a line for each tool call and stage, with its time.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path

warnings.simplefilter("ignore")

HOW, PLACE, STEPS, MARKS = (
    sys.argv[1],
    sys.argv[2],
    int(sys.argv[3]),
    Path(sys.argv[4]),
)
MODEL = "claude-haiku-4-5"
ASKED = "How full are the casks?"
WARM_STEPS = 3

Converse = Callable[[str, bool], Awaitable[object]]
"""Has one conversation, named so, from its question or, if it is resumed, from where it stood."""


def mark(what: str) -> None:
    with MARKS.open("a") as file:
        file.write(f"{time.time()} {what}\n")


def level(cask: int) -> str:
    """How full a cask is.

    Args:
        cask: Its number.
    """
    mark("tool")
    return (f"Cask {cask} is {100 - cask % 100} % full. " * 30)[:600]


def written() -> int:
    """Bytes that this process has given to files so far; what goes to sockets by ``send`` is not among them."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def had(converse: Converse) -> None:
    """Do what the program was started for, and print what it took as JSON."""
    found: dict[str, object] = {}
    match HOW:
        case "measure":
            await converse("warm", False)
            mark("warm")
            bytes_before, cpu_before, began = written(), cpu(), time.perf_counter()
            await converse("main", False)
            found["cpu"] = (cpu() - cpu_before) / STEPS
            found["bytes"] = (written() - bytes_before) / STEPS
            found["wall"] = (time.perf_counter() - began) / STEPS
        case "begin":
            await converse("main", False)
        case _:
            mark("asked")
            await converse("main", True)
    print(json.dumps(found))


def run(package: str, converse: Converse) -> None:
    mark(f"{package} {version(package)}")
    asyncio.run(had(converse))
