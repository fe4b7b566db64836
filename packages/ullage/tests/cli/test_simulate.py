import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ullage.cli import main
from ullage.installation import extra_command

KEY = {"authorization": "Bearer any", "content-type": "application/json"}


@contextmanager
def simulate(
    *arguments: str,
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str], str]]:
    """A started command, its URLs, and all it printed until it was ready."""
    with started(
        [sys.executable, "-m", "ullage", "simulate", "--port", "0", *arguments]
    ) as found:
        yield found


@contextmanager
def started(
    command: list[str],
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str], str]]:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            printed = ""
            while "The other names" not in printed:
                line = process.stdout.readline()
                assert line, process.stderr.read() if process.stderr else ""
                printed += line
            yield (
                process,
                dict(re.findall(r"^  (\w+) +(http://\S+)$", printed, re.MULTILINE)),
                printed,
            )
        finally:
            process.kill()


def answer(url: str, body: object) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), KEY)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def post(url: str, body: object) -> int:
    request = urllib.request.Request(url, json.dumps(body).encode(), KEY)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as problem:
        return problem.code


def test_it_prints_urls_a_line_for_each_request_and_ends_well_on_ctrl_c() -> None:
    with simulate("--wire", "openai", "--wire", "gemini") as (process, urls, printed):
        assert sorted(urls) == ["gemini", "openai"]
        assert f"OPENAI_BASE_URL={urls['openai']}" in printed
        assert (
            post(f"{urls['openai']}/responses", {"model": "gpt-5", "input": "hello"})
            == 200
        )
        assert (
            post(f"{urls['openai']}/responses", {"model": "nobody", "input": "hello"})
            == 400
        )
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    good, bad, *_, last = [line for line in rest.splitlines() if line]
    assert re.match(
        r"200  POST /openai/v1/responses  in \d+  out \d+ \(\d+ reasoning\)  gpt-5", good
    )
    assert "The requested model 'nobody' does not exist." in bad
    assert last == "Stopped after 2 answers."


def test_the_package_of_the_simulators_has_a_command_of_its_own() -> None:
    words = ["-m", "ullage_simulators", "--port", "0", "--wire", "anthropic"]
    command = [sys.executable, *words]
    with started(command) as (_, urls, printed):
        assert list(urls) == ["anthropic"]
        assert f"ANTHROPIC_BASE_URL={urls['anthropic']}" in printed


def test_a_scenario_is_played_and_its_key_is_asked_for(tmp_path: Path) -> None:
    script = tmp_path / "a.toml"
    script.write_text(
        '[server]\nkey = "secret"\n[[faults]]\nkind = "status"\nstatus = 529\n'
    )
    with simulate("--scenario", str(script)) as (_, urls, printed):
        assert "api_key='secret'" in printed
        assert post(f"{urls['anthropic']}/v1/messages", {}) == 529


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--wire", "cohere"], "no simulator called 'cohere'"),
        (["--scenario", "/nothing/there.toml"], "can't be read"),
    ],
)
def test_what_cannot_be_served_is_said(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *arguments]) == 2
    assert says in capsys.readouterr().err


WITHOUT_SIMULATORS = """
import sys
sys.modules["ullage_simulators"] = None
from ullage.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "command", [["simulate"], ["demo"], ["chat", "--simulate"], ["serve", "--simulate"]]
)
def test_missing_simulators_are_named(command: list[str], tmp_path: Path) -> None:
    run = [sys.executable, "-c", WITHOUT_SIMULATORS, *command]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert extra_command("simulators") in done.stderr


def test_a_real_client_is_answered_without_its_tools_being_run() -> None:
    tool = {"type": "function", "name": "Bash", "parameters": {"type": "object"}}
    body = {"model": "gpt-5", "input": "run Bash", "tools": [tool]}
    with simulate("--wire", "openai") as (_, urls, _printed):
        said = answer(f"{urls['openai']}/responses", body)
    kinds = [item["type"] for item in said["output"]]
    assert "message" in kinds and "function_call" not in kinds
