"""``ullage cluster --local`` in a process of its own: a session at its two servers, and nothing is left at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.restate import CACHE
from tests.server.served import WAIT_S, Api


def test_a_trial_serves_at_both_servers_and_leaves_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(CACHE.parent)}
    trial = subprocess.Popen(
        [sys.executable, "-m", "ullage", "cluster", "--local"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    said = ""
    try:
        assert trial.stdout is not None
        while "Ctrl-C ends everything" not in said:
            line = trial.stdout.readline()
            assert line, said
            said += line
        first, second = re.findall(r"^Server \d +pid \d+ +(\S+)$", said, re.MULTILINE)
        with Api(base_url=first, timeout=WAIT_S) as api:
            api.session("one")
            api.say("one", "Tell me.")
        with Api(base_url=second, timeout=WAIT_S) as api:
            assert api.until("one")["ended"] == "finished"
    finally:
        trial.send_signal(signal.SIGINT)
        said += trial.communicate(timeout=WAIT_S)[0]
    assert trial.returncode == 0
    assert "Nothing of it is left." in said
    logs = re.search(r"The logs are in (\S+)\. ", said)
    assert logs is not None
    assert not Path(logs[1]).exists()
    for pid in re.findall(r" pid (\d+)", said):
        assert not Path(f"/proc/{pid}").exists()
