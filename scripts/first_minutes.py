"""What the README tells newcomers, to be run in an empty home: by its test, and for its pictures.

The commands are read from the README: a session's window with a suggestion, a loop with a meter and compaction, and a
service with an approval.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import httpx2

from scripts.install_lines import written
from ullage_agent.tools.launcher import readable

ROOT: Final = Path(__file__).parents[1]
LONGEST_S: Final = 300
SESSION: Final = "5e0a1c2e-4f6b-4c1d-9a57-3d1f6f0b2a10"
WINDOW, LOOP, SERVICE = "context --advice", "examples/loop.py", "serve --simulate"
"""How the command of each newcomer is found in the README."""


Value = TypeVar("Value")


class NotSeen(Exception):
    """A newcomer does not see what the README promises; the text is what there was instead."""


def seen(value: Value | None, shown: object) -> Value:
    """The value; raises ``NotSeen`` with what was shown instead where there is none, or a false one."""
    if not value:
        raise NotSeen(str(shown))
    return value


def command_of(part: str) -> str:
    """The README's command that holds these words, as with a clone. Raises ``LookupError`` if it has none."""
    readme = written((ROOT / "README.md").read_text("utf-8"), published=False)
    for line in readme.splitlines():
        if line.startswith(("uv run ", "ullage ")) and part in line:
            return line
    raise LookupError(f"The README has no command with {part!r}.")


def without_uv(command: str) -> list[str]:
    """The same for the Python that runs this, in an environment that has everything."""
    run = re.sub(r"^uv run( --no-dev| --(extra|with) \S+)*", "", command)
    words = shlex.split(run, comments=True)
    program, *rest = words
    return (
        [sys.executable, "-m", "ullage", *rest]
        if program == "ullage"
        else [sys.executable, *rest]
    )


def prepare(home: Path) -> None:
    """A home in which nothing is but one session of Claude Code: the sample log, where that program keeps it."""
    project = home / ".claude" / "projects" / "-home-ann-kettle"
    project.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "session.jsonl", project / f"{SESSION}.jsonl")


def see_the_window(
    command: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> str:
    """What the first newcomer sees. Raises ``NotSeen`` if no window or no suggestion is shown."""
    shown = _output(command, directory, environment)
    seen("is the newest session" in shown, shown)
    seen(re.search(r"Claude Code compacts at [\d,]+", shown), shown)
    seen("To do: " in shown, shown)
    return shown


def run_the_loop(
    command: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> str:
    """What the second newcomer sees. Raises ``NotSeen`` if the window was not compacted."""
    shown = _output(command, directory, environment)
    ending = r"(\d+) compactions\. Your history is whole: (\d+) messages"
    found = seen(re.search(ending, shown), shown)
    seen(int(found[1]) >= 1 and int(found[2]) == 32, shown)
    return shown


def approve_a_call(
    command: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> None:
    """The third newcomer's service: a message, a call that waits for approval, and the answer behind it."""
    process = subprocess.Popen(
        [*command, "--port", "0"],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        output = seen(process.stdout, "no output")
        is_ready = readable([output.fileno()], LONGEST_S)
        said = output.readline() + output.readline() if is_ready else ""
        link = seen(re.search(r"(http://\S+)/#link=(\S+)", said), said)
        with httpx2.Client(base_url=link[1], timeout=LONGEST_S) as client:
            seen("Ullage" in client.get("/").text, "no answer")
            redeemed = client.post("/v1/link", json={"word": link[2]}).json()
            client.headers["authorization"] = f"Bearer {redeemed['token']}"
            _approve(client)
    finally:
        process.terminate()
        process.communicate(timeout=LONGEST_S)


def _approve(client: httpx2.Client) -> None:
    """Say something that needs approval, allow it, and wait for the answer."""
    session = "/v1/sessions/first"
    seen(
        client.post("/v1/sessions", json={"id": "first"}).status_code == 201, "no answer"
    )
    client.post(f"{session}/messages", json={"text": "write a note"})
    end = time.monotonic() + LONGEST_S
    while not (asked := client.get(f"{session}/approvals").json()["approvals"]):
        seen(time.monotonic() < end, "nothing was asked")
        time.sleep(0.1)
    (question,) = asked
    seen(question["name"] == "write", question)
    client.post(
        f"{session}/approvals/{question['call_id']}",
        json={"approved": True, "digest": question["digest"]},
    ).raise_for_status()
    while client.get(session).json()["state"] != "idle":
        seen(time.monotonic() < end, "no answer came")
        time.sleep(0.1)
    answers = client.get(f"{session}/messages").json()["messages"]
    seen("`write` gave 1 line" in str(answers), answers)


def _output(
    command: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> str:
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LONGEST_S,
    )
    seen(done.returncode == 0, done.stdout)
    return done.stdout


STEPS: Final = ((WINDOW, see_the_window), (LOOP, run_the_loop), (SERVICE, approve_a_call))
"""What each newcomer does, by how the command is found in the README."""
