"""A run that leaves a process behind fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.repository import ROOT
from tests.left import VARIABLE, left_behind

LEAVES = """
import subprocess, sys
def test_leaves():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True,
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""
ENDS = "def test_ends(): ..."
CONFTEST = """
import tests.left
tests.left.GRACE_S = 0.5
def pytest_configure(config):
    tests.left.register(config)
"""


@pytest.mark.program
@pytest.mark.parametrize(("body", "code"), [(LEAVES, 1), (ENDS, 0)])
def test_a_run_that_leaves_a_process_behind_fails_and_ends_it(
    tmp_path: Path, body: str, code: int
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "test_planted.py").write_text(body)
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    variables.pop(VARIABLE, "")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    run = subprocess.Popen(
        command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True
    )
    printed, _ = run.communicate()
    assert run.returncode == code, printed
    assert ("LEFT BEHIND: " in printed) == bool(code)
    end = time.monotonic() + 60
    while list(left_behind(str(run.pid))):
        assert time.monotonic() < end, "it was not ended"
        time.sleep(0.05)
