"""What two versions of Ullage take for the same streamed call: the price of the limits on what comes in.

    git worktree add /path/to/before 52c8242
    uv run python -m bench.wire_caps --before /path/to/before/src

One process a version, both kept; they take turns, so that both meet the same machine. A round is ten calls whose answer
comes in 200 pieces. What is compared is the CPU of the client's process (user time), a ratio for each round.

With ``--instructions`` valgrind counts the instructions of the client instead, which other work on the machine does not
change: those of six rounds without those of two, so that the start is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from bench.wire import server

CALLS = 10
ROUNDS = 60
PATHS = {
    "chat": "/v1",
    "messages": "/v1",
    "responses": "/v1",
    "generateContent": "/v1beta",
}


class Child:
    """One version in a process of its own, which makes calls when it is told to."""

    def __init__(self, source: Path, wire: str, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--child", wire, url],
            env={
                **os.environ,
                "PYTHONPATH": f"{source}{os.pathsep}{Path(__file__).parents[1]}",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def round(self) -> float:
        """User seconds of one round."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


async def child(wire: str, url: str) -> None:
    """Makes a round of calls for each line of its input."""
    from ullage.messages import Message, Request, TextPart
    from ullage.wire.call import ask
    from ullage.wire.client import Client
    from ullage.wire.endpoints import Endpoint, Key

    question = Message(id="u", role="user", parts=(TextPart(id="t", text="hello"),))
    request = Request(wire=wire, model="m", messages=(question,), stream=True)
    endpoint = Endpoint(provider="bench", wire=wire, base_url=url, key=Key("none"))
    async with Client() as client:
        for _ in sys.stdin:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            for _ in range(CALLS):
                answer = await ask(request, endpoint, client=client)
                assert answer.outcome == "finished", answer
            sys.stdout.write(
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_utime - before}\n"
            )
            sys.stdout.flush()


def compared(
    wire: str, url: str, before: Path, now: Path, rounds: int
) -> list[tuple[float, float]]:
    """User seconds of both versions, round for round. Which of them begins changes with each round."""
    children = (Child(before, wire, url), Child(now, wire, url))
    for one in children * 3:
        one.round()  # warm
    found = []
    for at in range(rounds):
        first, second = children if at % 2 else children[::-1]
        seconds = {id(first): first.round(), id(second): second.round()}
        found.append((seconds[id(children[0])], seconds[id(children[1])]))
    for one in children:
        one.close()
    return found


def instructions(wire: str, url: str, source: Path) -> float:
    """Instructions of one call. Needs valgrind."""

    def collected(rounds: int) -> int:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        done = subprocess.run(
            [*command, sys.executable, __file__, "--child", wire, url],
            env={
                **os.environ,
                "PYTHONPATH": f"{source}{os.pathsep}{Path(__file__).parents[1]}",
                "PYTHONHASHSEED": "0",
            },
            input="go\n" * rounds,
            capture_output=True,
            text=True,
            check=True,
        )
        found = re.search(r"Collected : (\d+)", done.stderr)
        assert found is not None, done.stderr
        return int(found[1])

    return (collected(6) - collected(2)) / (4 * CALLS)


def count(before: Path, now: Path) -> None:
    with server() as url:
        for wire, path in PATHS.items():
            was, is_now = (
                instructions(wire, url + path, source) / 1e6 for source in (before, now)
            )
            print(
                f"{wire}: {was:.1f} million instructions before, {is_now:.1f} now, ratio {is_now / was:.3f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--now", type=Path, default=Path(__file__).parents[1] / "src")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="count instructions with valgrind instead",
    )
    parser.add_argument("--child", nargs=2, metavar=("WIRE", "URL"))
    given = parser.parse_args()
    if given.child:
        asyncio.run(child(*given.child))
        return
    if given.instructions:
        count(given.before, given.now)
        return
    every: list[float] = []
    with server() as url:
        for wire, path in PATHS.items():
            pairs = compared(wire, url + path, given.before, given.now, given.rounds)
            ratios = sorted(now / before for before, now in pairs if before)
            every += ratios
            before, now = (
                statistics.median(one) / CALLS * 1000 for one in zip(*pairs, strict=True)
            )
            print(
                f"{wire}: {before:.2f} ms before, {now:.2f} ms now, ratio {statistics.median(ratios):.3f}"
            )
    print(
        f"all wires: ratio {statistics.median(every):.3f} (median of {len(every)} rounds)"
    )


if __name__ == "__main__":
    main()
