from __future__ import annotations

import os
from pathlib import Path

from tests.cli.chat.terminal import HIDDEN, scenario
from tests.cli.command import Ended, perform
from tests.processes import run_python


def chat(place: Path, said: str, *more: str) -> Ended:
    return perform(place, environment(place), "chat", *more, said=said)


def environment(place: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)
    }
    return {
        **kept,
        "ULLAGE_DATA": str(place / "data"),
        "XDG_CONFIG_HOME": str(place / "config"),
    }


def test_each_line_of_a_pipe_is_a_request_and_answers_alone_go_to_standard_output(
    tmp_path: Path,
) -> None:
    more = ("--simulate", "--scenario", scenario(tmp_path), "--session", "piped")
    done = run_python(
        "-m",
        "ullage",
        "chat",
        *more,
        input="one\n\ntwo\n/spend\n/compact\n/nothing\n",
        env=environment(tmp_path),
        timeout=120,
        cwd=tmp_path,
    )
    # The last command is not one: all before it was done, and the exit code says that something was not.
    assert done.returncode == 2, done.stderr
    assert done.stdout == "You said: one\nYou said: two\n"
    assert "2 calls" in done.stderr
    assert "There is no /nothing" in done.stderr
    assert "Session piped" in done.stderr


def test_what_asks_first_is_not_allowed_where_nobody_can_be_asked(tmp_path: Path) -> None:
    writes = {
        "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "x"}}],
        "when": {"after": "user"},
    }
    script = scenario(tmp_path, writes, delay_s=0)
    more = (
        "--simulate",
        "--scenario",
        script,
        "--tools",
        "write",
        "--root",
        str(tmp_path),
    )
    done = chat(tmp_path, "go\n", *more)
    assert "Not allowed" in done.stderr
    assert not (tmp_path / "a.txt").exists()
    told = chat(tmp_path, "go\n", *more, "--yes")
    assert (
        "allowed by --yes: write(" in told.stderr
        and "needs your approval" not in told.stderr
    )
    assert (tmp_path / "a.txt").read_text() == "x"


def test_quit_ends_it_and_the_session_can_be_gone_on_with(tmp_path: Path) -> None:
    simulate = ("--simulate", "--scenario", scenario(tmp_path))
    done = chat(tmp_path, "one\n/quit\ntwo\n", *simulate, "--session", "piped")
    assert done.stdout == "You said: one\n"
    again = chat(tmp_path, "three\n/steps\n", *simulate, "--continue")
    assert again.stdout == "You said: three\n"
    assert "Session piped" in again.stderr


def test_without_a_model_a_pipe_is_told_what_to_set(tmp_path: Path) -> None:
    done = chat(tmp_path, "one\n")
    assert done.returncode == 2
    assert "--model" in done.stderr and "--simulate" in done.stderr


def test_a_call_that_fails_ends_with_2_and_says_why(tmp_path: Path) -> None:
    done = chat(tmp_path, "one\n", "--simulate", "--model", "anthropic:no-such-model")
    assert done.returncode == 2
    assert "no-such-model" in done.stderr


def test_plain_lines_need_no_full_screen_package() -> None:
    look = "import sys, ullage_agent.chat.start; print('textual' in sys.modules)"
    done = run_python("-c", look, check=True)
    assert done.stdout.strip() == "False"
