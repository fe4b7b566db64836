"""``ullage admin cluster --local`` as a process: a session at its two servers, nothing for other users of the
machine, and nothing is left at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.other_user import OTHER, as_user, asked, family_of, ports_of
from tests.restate import CACHE
from tests.server.served import WAIT_S, Api, patiently


@contextmanager
def opened(link: str) -> Iterator[Api]:
    """A client with the token that the link is exchanged for."""
    url, _, word = link.partition("/#link=")
    with Api(base_url=url, timeout=WAIT_S) as api:
        assert api.get("/v1/sessions").status_code == 401
        redeemed = api.post("/v1/link", json={"word": word})
        api.headers["Authorization"] = f"Bearer {redeemed.json()['token']}"
        yield api


def started(directory: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(CACHE.parent)}
    return subprocess.Popen(
        [sys.executable, "-m", "ullage", "admin", "cluster", "--local"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=directory,
    )


def next_line(trial: subprocess.Popen[str]) -> str:
    assert trial.stdout is not None
    line = trial.stdout.readline()
    assert line, "it has ended"
    return line


def read_until_it_runs(trial: subprocess.Popen[str]) -> str:
    said = ""
    while "Ctrl-C ends everything" not in said:
        said += next_line(trial)
    return said


def test_a_trial_serves_at_both_servers_and_leaves_nothing(tmp_path: Path) -> None:
    trial = started(tmp_path)
    said = ""
    try:
        said += read_until_it_runs(trial)
        first, second = re.findall(r"^Server \d +pid \d+ +(\S+)$", said, re.MULTILINE)
        with opened(first) as api:
            api.session("one")
            api.say("one", "Tell me.")
        while "drives the session 'Tell me.'" not in said:
            said += next_line(trial)
        worker = re.findall(r"kill -9 (\d+)$", said, re.MULTILINE)[-1]
        os.kill(int(worker), signal.SIGKILL)
        with opened(second) as api:
            assert api.until("one")["ended"] == "finished"
            api.say("one", "Write a note.", id="note")
            while "needs your approval of `write`" not in said:
                said += next_line(trial)
            assert re.search(r"Worker \d has ended, and is started again", said)
            (question,) = api.get("/v1/sessions/one/approvals").json()["approvals"]
            answer = {"approved": True, "digest": question["digest"]}
            call = f"/v1/sessions/one/approvals/{question['call_id']}"
            assert api.post(call, json=answer).is_success
            assert api.until("one")["ended"] == "finished"
        ports = ports_of(family_of(trial.pid))
        own = [port for port, owner in ports.items() if owner != trial.pid]
        assert len(own) == 3, (
            "two servers and the port of the workers; the simulated model is the trial's own"
        )
        for port in own:
            for path in ("/v1/live", "/v1/sessions", "/metrics", "/discover"):
                assert asked(port, path) in ("401", "404")
                assert asked(port, f"/invoke/UllageSession/drive{path}", "POST") == "401"
        for folder in re.findall(r"/tmp/ullage-cluster-\w+", said):
            told = as_user(OTHER, os.listdir, folder) if os.geteuid() == 0 else ""
            assert told in ("PermissionError", "")
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


def test_a_trial_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    trial = started(tmp_path)
    try:
        said = read_until_it_runs(trial)
        logs = re.search(r"The logs are in (\S+)\. ", said)
        assert logs is not None
        programs = set(family_of(trial.pid)) - {trial.pid}
        postgres = (Path(logs[1]) / "postgres/data/postmaster.pid").read_text()
        programs.add(int(postgres.partition("\n")[0]))
        assert len(programs) >= 7, "Restate, PostgreSQL, two servers, two workers, keeper"
    finally:
        trial.kill()
        trial.communicate(timeout=WAIT_S)
    for _ in patiently():
        if not any(Path(f"/proc/{each}").exists() for each in programs):
            break
    assert not any(Path(f"/proc/{each}").exists() for each in programs)
    assert not Path(logs[1]).exists()
