"""How much of the code one request passes: the functions and files of ``ullage`` that run for it.

    uv run python -m bench.walk              # the figures
    uv run python -m bench.walk --functions  # and each function with its file and line, in the order of first use

The session is warm: one answer came before, so what runs once per process or per session is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

from ullage_simulators.scenario import read
from ullage_simulators.server import running

import ullage

PACKAGE = Path(ullage.__file__).parent


class Walk:
    """Collects the functions of the package that run while ``is_counting``, in every thread started after it."""

    def __init__(self) -> None:
        self.calls: dict[CodeType, int] = {}
        self.is_counting = False
        threading.setprofile(self._see)
        sys.setprofile(self._see)

    def _see(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if self.is_counting and event == "call" and _is_ours(code):
            self.calls[code] = self.calls.get(code, 0) + 1

    def __str__(self) -> str:
        files = {code.co_filename for code in self.calls}
        return f"{sum(self.calls.values())} calls of {len(self.calls)} functions in {len(files)} files"


def _is_ours(code: CodeType) -> bool:
    is_named = not code.co_name.startswith("<")
    return (
        is_named
        and code.co_filename.startswith(f"{PACKAGE}/")
        and "simulators" not in code.co_filename
    )


async def _ask(walk: Walk, url: str, place: Path) -> None:
    agent = ullage.Agent(
        "anthropic:claude-opus-4-6",
        store=place / "sessions.db",
        environment={"ANTHROPIC_API_KEY": "none"},
        base_url=url,
        config=False,
    )
    async with agent.session("walk") as session:
        await session.send("Is the valve open?")
        (await session.wait()).or_raise()
        walk.is_counting = True
        await session.send("And now?")
        (await session.wait()).or_raise()
        walk.is_counting = False


def main() -> None:
    """Print what one warm request passes."""
    options = argparse.ArgumentParser(
        prog="bench.walk", description="The functions that one request passes."
    )
    options.add_argument("--functions", action="store_true", help="list them")
    chosen = options.parse_args()
    scenario = read({"answers": [{"text": "It is shut."}, {"text": "It is open."}]})
    with running(scenario) as server, TemporaryDirectory() as place:
        walk = Walk()
        asyncio.run(_ask(walk, server.url("anthropic"), Path(place)))
    if chosen.functions:
        for code, calls in walk.calls.items():
            file = Path(code.co_filename).relative_to(PACKAGE)
            print(f"{calls:5} {code.co_qualname:50} {file}:{code.co_firstlineno}")
    print(walk)


if __name__ == "__main__":
    main()
