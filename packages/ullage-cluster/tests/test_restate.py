"""The tests' own Restate server."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.postgres import WAIT_S
from tests.restate import CACHE
from ullage_cluster.restate.client import answers

pytestmark = pytest.mark.slow

STARTS = """
import sys
from tests.restate import new_restate
print(new_restate().admin, flush=True)
sys.stdin.read()
"""


def test_a_server_ends_with_the_process_that_started_it_also_after_a_kill() -> None:
    starting = subprocess.Popen(
        [sys.executable, "-c", STARTS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "XDG_CACHE_HOME": str(CACHE.parent)},
    )
    assert starting.stdout is not None
    admin = starting.stdout.readline().strip()
    assert answers(admin, "/health")
    starting.kill()
    starting.communicate()
    end = time.monotonic() + WAIT_S
    while answers(admin, "/health"):
        assert time.monotonic() < end, "the server runs on"
        time.sleep(0.05)
