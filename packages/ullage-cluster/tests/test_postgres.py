"""The tests' own PostgreSQL server."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.postgres import WAIT_S

pytestmark = pytest.mark.slow

STARTS = """
import sys
from tests.postgres import new_server
print(new_server().folder, flush=True)
sys.stdin.read()
"""


def test_a_server_ends_with_the_process_that_started_it_also_after_a_kill() -> None:
    starting = subprocess.Popen(
        [sys.executable, "-c", STARTS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert starting.stdout is not None
    folder = Path(starting.stdout.readline().strip())
    assert (folder / "data/postmaster.pid").exists()
    starting.kill()
    starting.communicate()
    end = time.monotonic() + WAIT_S
    while folder.exists():
        assert time.monotonic() < end, "the server runs on"
        time.sleep(0.05)
