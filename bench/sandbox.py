"""What the sandbox costs a command: one run, the ways taken in turn, the median of several rounds.

uv run python -m bench.sandbox
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from ullage.tools.processes import ProcessSpec, run_command
from ullage.tools.sandbox import Sandbox
from ullage.tools.shell import clean_environment

ROUNDS = 25
WAYS = {
    "off": Sandbox(mode="off"),
    "landlock": Sandbox(backends=("landlock",)),
    "bubblewrap": Sandbox(backends=("bubblewrap",)),
}


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        env = clean_environment(os.environ)
        taken: dict[str, list[float]] = {"no launcher": [], **{name: [] for name in WAYS}}
        for _ in range(ROUNDS):
            start = time.perf_counter()
            subprocess.run(["/bin/bash", "-c", "true"], cwd=root, env=env, check=True)
            taken["no launcher"].append(time.perf_counter() - start)
            for name, sandbox in WAYS.items():
                start = time.perf_counter()
                command = sandbox.confined(
                    ProcessSpec(("/bin/bash", "-c", "true"), root, env)
                )
                await run_command(command, len, timeout_s=30)
                taken[name].append(time.perf_counter() - start)
    off = statistics.median(taken["off"])
    for name, seconds in taken.items():
        middle = statistics.median(seconds)
        print(f"{name:12} {middle * 1000:6.1f} ms   {middle / off:4.2f} of off")


if __name__ == "__main__":
    asyncio.run(main())
