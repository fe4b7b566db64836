"""Clients behind ``ullage proxy``, which passes their requests on to the simulators."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ullage_simulators.simulators import simulators

ENDS_IN_S = 40


@contextmanager
def proxying(behind: str, data: Path) -> Iterator[str]:
    """The address of a proxy before the simulators at ``behind``. What it stores is in ``data`` afterwards."""
    data.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ullage", "proxy", "--port", "0", "--quiet"]
    for name in simulators():
        command += ["--upstream", f"{name}={behind}/{name}"]
    environment = {**os.environ, "HOME": str(data), "ULLAGE_DATA": str(data)}
    with (data / "proxy.log").open("wb") as errors:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdout is not None
    try:
        with process.stdout as output:
            yield json.loads(output.readline())["listening"]
        process.send_signal(signal.SIGINT)
        process.wait(ENDS_IN_S)
    finally:
        process.kill()
        process.wait()
