"""A client that is a few lines of shell stands in for a real one."""

import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from bench.clients import session, terminal
from bench.clients.client import Client, Place, ToolCall, Turn
from bench.clients.clients import CLIENTS
from bench.clients.scenarios import ClientScenario
from bench.clients.session import KeptRun, Programs, judged, kept_runs, run
from ullage_simulators.server import Exchange

HELLO = ClientScenario("text", (Turn("Hello.", first=True),))


class FakeClient(Client):
    """Runs the program it is given with the simulator's address."""

    name = "codex"
    title = "Fake"
    package = "none"
    version = "1"
    program = "fake"
    model = "gpt-5"
    other_model = "gpt-5"
    summary_prompt = "a summary"
    lacks: ClassVar[Mapping[str, str]] = {"compact": "it forgets nothing"}

    def prepare(self, place: Place) -> dict[str, str]:
        return {"ADDRESS": place.address}

    def arguments(self, turn: Turn) -> list[str]:
        return [turn.text]

    def shell(self, command: str) -> ToolCall:
        return ToolCall("shell", {"command": command})

    def read(self, path: Path) -> ToolCall:
        return ToolCall("read", {"path": str(path)})


def programs(directory: Path, *lines: str) -> Programs:
    path = directory / "fake"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Programs(path)


def test_a_client_that_fails_is_shown_with_the_end_of_its_output(tmp_path: Path) -> None:
    found = run(FakeClient(), HELLO, programs(tmp_path, "echo no such $1", "exit 3"))
    assert found.problem == "turn 1: it ended with exit code 3\nno such Hello."
    assert found.failures == [found.problem]


@pytest.mark.parametrize(
    ("problem", "is_right"),
    [("turn 2: it ended with exit code 1", True), ("turn 2: it did not end", False)],
)
def test_a_run_that_took_too_long_failed_whatever_was_refused(
    tmp_path: Path, problem: str, is_right: bool
) -> None:
    gemini = CLIENTS["gemini-cli"]
    refused = Exchange(1, "gemini", "POST", "/", 400, {}, "result_count", said="No.")
    kept = KeptRun(
        version="1",
        scenario="text",
        lane="main",
        in_order=True,
        by_proxy=False,
        exchanges=(refused,),
        interrupted=frozenset(),
        unserved=frozenset(),
        problem=problem,
    )
    found = judged(gemini, kept, tmp_path)
    assert (problem in found.failures) != is_right


def test_a_client_gets_an_empty_home_and_none_of_the_users_variables(
    tmp_path: Path,
) -> None:
    keep = tmp_path / "kept"
    shown = programs(tmp_path, 'env > "$HOME/environment"')
    run(FakeClient(), HELLO, shown, keep)
    (home,) = keep.iterdir()
    names = {
        line.partition("=")[0] for line in (home / "environment").read_text().splitlines()
    }
    assert names <= {
        "HOME",
        "PATH",
        "LANG",
        "TERM",
        "ADDRESS",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    }


def test_a_scenario_that_brings_about_no_request_of_its_kind_fails(
    tmp_path: Path,
) -> None:
    found = run(FakeClient(), HELLO._replace(lane="child"), programs(tmp_path, "exit 0"))
    assert found.failures == ["the client made no request of the kind 'child'"]


def test_each_request_is_kept_with_its_bill(tmp_path: Path) -> None:
    call = (
        "import json, os, sys, urllib.request\n"
        'body = json.dumps({"model": "gpt-5", "input": sys.argv[1]}).encode()\n'
        'headers = {"authorization": "Bearer any", "content-type": "application/json"}\n'
        'url = os.environ["ADDRESS"] + "/openai/v1/responses"\n'
        "urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()\n"
    )
    (tmp_path / "call.py").write_text(call, encoding="utf-8")
    calling = programs(tmp_path, f'exec python3 "{tmp_path}/call.py" "$1"')
    keep = tmp_path / "kept"
    found = run(FakeClient(), HELLO, calling, keep)
    assert (found.requests, found.refusals) == (1, ())
    assert "the client's log was not found or not read" in found.failures
    (home,) = keep.iterdir()
    assert '"bill":{' in (home / "exchanges.jsonl").read_text("utf-8")
    home.parent.rename(tmp_path / FakeClient.name)
    assert list(kept_runs(FakeClient(), tmp_path)) == [found]


def test_a_scenario_that_the_client_lacks_is_not_run(tmp_path: Path) -> None:
    scenario = ClientScenario("compact", HELLO.turns)
    found = run(FakeClient(), scenario, Programs(tmp_path / "missing"))
    assert found.skipped == "it forgets nothing"
    assert found.failures == []


AT_A_TERMINAL = """
import json, os, subprocess, sys, urllib.request
left = subprocess.Popen(["sleep", "600"], start_new_session=True)
open(os.environ["HOME"] + "/left", "w").write(str(left.pid))
print("-" * 200, os.isatty(0), os.ttyname(0), flush=True)
open("/dev/tty").close()
for line in sys.stdin:
    if line.strip() == "/quit":
        break
    body = {"model": "gpt-5", "input": line, "tools": [
        {"type": "function", "name": "look", "parameters": {}, "strict": False}]}
    request = urllib.request.Request(
        os.environ["ADDRESS"] + "/openai/v1/responses", json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer any-key"})
    print(urllib.request.urlopen(request).status, flush=True)
"""


def test_all_turns_are_typed_into_one_run_at_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (session, terminal):
        monkeypatch.setattr(module, "QUIET_S", 0.3)
    monkeypatch.setattr(session, "ASKS_IN_S", 300)  # another Enter is another request
    script = tmp_path / "typed.py"
    script.write_text(AT_A_TERMINAL, encoding="utf-8")
    turns = (Turn("Hello.", first=True), Turn("And now?"))
    scenario = ClientScenario("at a terminal", turns, at_terminal=True)
    shown = programs(tmp_path, f'exec "{sys.executable}" "{script}"')
    found = run(FakeClient(), scenario, shown, tmp_path / "kept")
    assert found.requests == 2
    assert found.problem == ""
    (left,) = (tmp_path / "kept").glob("*/left")
    command = Path("/proc", left.read_text("utf-8"), "cmdline")
    assert not (command.exists() and command.read_bytes())
