"""The hostile provider at full size: each behaviour on each wire, in a process of its own.

    make attack                              # all of it, and all other attacks, which are tests
    make attack ARGS='-k "NAME and WIRE"'    # these alone; --last-failed: what was lost the last time

The ceilings are 250 ms for the lag of the event loop and 300 MB for the memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from tests.hostile.behaviours import BY_NAME
from tests.hostile.experiment import Verdict
from tests.hostile.speech import WIRES_BY_NAME

LONGEST_S = 150.0
LAG_MS = 250.0
MEMORY_MB = 300.0
TRIES = 3
"""How often an attack is measured whose lag is too long: another program may have taken the machine."""


def environment() -> dict[str, str]:
    """The environment of a run. Keys, proxies and the user's own settings are no part of it."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ}


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a hostile provider in a process of its own."""
    command = [sys.executable, "-m", "tests.hostile.provider"]
    with subprocess.Popen(
        command,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as provider:
        assert provider.stdout is not None
        yield provider.stdout.readline().split()[0]
        provider.kill()


def run(name: str, wire: str, url: str) -> Verdict:
    """One attack."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.one_attack", name, wire, url],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Verdict)


@pytest.mark.program
@pytest.mark.parametrize("wire", WIRES_BY_NAME)
@pytest.mark.parametrize("name", BY_NAME)
def test_a_hostile_provider_at_full_size_is_survived(
    name: str, wire: str, url: str
) -> None:
    for _ in range(TRIES):
        verdict = run(name, wire, url)
        assert not verdict.problems
        assert verdict.memory_mb <= MEMORY_MB
        if min(verdict.lag_ms, verdict.busy_ms) <= LAG_MS:
            return
    raise AssertionError(f"the event loop stood still: {verdict}")
