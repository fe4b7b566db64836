"""The hostile provider at full size: each behaviour on each wire, in a process of its own, with progress.

    make attack                                       # all of it, and all other attacks, which are tests
    make attack ARGS='--only NAME,… --wires NAME,…'   # these alone
    make attack ARGS='--keep FILE'                    # goes on with what an earlier run left in FILE

The ceilings are 250 ms for the lag of the event loop and 300 MB for the memory. Exits with 1 where an attack was lost.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.hostile.behaviours import BEHAVIOURS
from tests.hostile.experiment import Verdict
from tests.hostile.speech import WIRES

ROOT = Path(__file__).parents[2]
AT_ONCE = 4
"""Attacks at a time: most of them wait. One whose loop stood still too long is measured again."""
LONGEST_S = 150.0
LAG_MS = 250.0
MEMORY_MB = 300.0
TRIES = 3
"""How often an attack is measured whose lag is too long: another program may have taken the machine."""


@contextmanager
def provider_process() -> Iterator[str]:
    """The address of a hostile provider in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.provider"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.stdout.readline().split()[0]
    finally:
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def environment() -> dict[str, str]:
    """The environment of a run. Keys, proxies and the user's own settings are no part of it."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "LANG", "TMPDIR")
    }


def run(name: str, wire: str, url: str) -> Verdict:
    """One attack. A process that dies or hangs is a verdict too."""
    command = [sys.executable, "-m", "tests.hostile.one_attack", name, wire, url]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        problem = f"the process did not end within {LONGEST_S:g} s"
        return Verdict(
            behaviour=name,
            wire=wire,
            outcome="hangs",
            seconds=LONGEST_S,
            problems=[problem],
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Verdict(
            behaviour=name,
            wire=wire,
            outcome="died",
            problems=[f"the process died: {last}"[:300]],
        )
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Verdict)


def measured(name: str, wire: str, url: str) -> Verdict:
    """One attack, measured again where the loop stood still too long: the best of up to three counts."""
    best = run(name, wire, url)
    for _ in range(TRIES - 1):
        if min(best.lag_ms, best.busy_ms) <= LAG_MS or best.outcome == "no end":
            break
        again = run(name, wire, url)
        if again.lag_ms < best.lag_ms:
            best = again
    return best


def exceeded(verdict: Verdict) -> list[str]:
    """Which of the ceilings the attack broke."""
    found = []
    if min(verdict.lag_ms, verdict.busy_ms) > LAG_MS:
        found.append(
            f"the event loop stood still for {verdict.lag_ms:,.0f} ms, {verdict.busy_ms:,.0f} ms of it computing"
        )
    if verdict.memory_mb > MEMORY_MB:
        found.append(f"{verdict.memory_mb:,.0f} MB were resident")
    return found


def described(verdict: Verdict) -> str:
    """One line for a person."""
    measures = f"lag {verdict.lag_ms:.0f} ms, {verdict.memory_mb:.0f} MB"
    return f"{verdict.behaviour} on {verdict.wire}: {verdict.outcome}, {verdict.seconds:.1f} s, {measures}"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


ATTACKS = [(row.name, wire.name) for row in BEHAVIOURS for wire in WIRES]
"""Each behaviour on each wire."""


def read_verdicts(path: Path) -> list[Verdict]:
    """The last verdict of each behaviour and wire in the file, in the order of the table."""
    last: dict[tuple[str, str], Verdict] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        verdict = msgspec.json.decode(line, type=Verdict)
        last[verdict.behaviour, verdict.wire] = verdict
    return [last[each] for each in ATTACKS if each in last]


def run_all(
    kept: Path, chosen: Sequence[tuple[str, str]] = tuple(ATTACKS)
) -> list[Verdict]:
    """Run these attacks, with progress. Each verdict is appended to ``kept``; what it holds is not run again."""
    done = {(verdict.behaviour, verdict.wire) for verdict in read_verdicts(kept)}
    todo = [each for each in chosen if each not in done]
    with (
        provider_process() as url,
        kept.open("ab") as out,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        running = pool.map(lambda each: measured(each[0], each[1], url), todo)
        for at, verdict in enumerate(running, 1):
            out.write(msgspec.json.encode(verdict) + b"\n")
            out.flush()
            say(f"{at}/{len(todo)} {described(verdict)}")
            for problem in [*verdict.problems, *exceeded(verdict)]:
                say(f"    LOST {problem}")
    return [
        verdict
        for verdict in read_verdicts(kept)
        if (verdict.behaviour, verdict.wire) in chosen
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--wires", default="")
    given = parser.parse_args(arguments)
    names, wires = given.only.split(","), given.wires.split(",")
    chosen = [
        (name, wire)
        for name, wire in ATTACKS
        if (name in names or not given.only) and (wire in wires or not given.wires)
    ]
    if not chosen:
        parser.error("no such behaviour or wire")
    with tempfile.TemporaryDirectory(prefix="ullage-attacks-") as directory:
        verdicts = run_all(given.keep or Path(directory) / "provider.jsonl", chosen)
    lost = sum(bool(verdict.problems or exceeded(verdict)) for verdict in verdicts)
    say(f"{lost} lost of {len(verdicts)}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
