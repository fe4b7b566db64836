"""``ullage top``: once on a pipe, as JSON, and as a process on a terminal beside programs that write."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.logs import SECRET, write_log
from tests.cli.terminal import Terminal
from ullage.cli import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "PI_CODING_AGENT_DIR",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "XDG_DATA_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def log(home: Path) -> Path:
    return write_log(home / ".pi/agent/sessions/app/one.jsonl")


def as_json(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["top", "--once", "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_pipe_gets_one_table(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top"]) == 0
    title, head, line, *_ = capsys.readouterr().out.splitlines()
    assert title == "ullage top  1 session, 1 active"
    assert head.startswith("Program")
    assert line.split()[:2] == ["pi", "app"]


def test_older_sessions_are_shown_when_they_are_asked_for(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = log.stat().st_mtime - 7_200
    os.utime(log, (earlier, earlier))
    assert as_json(capsys)["sessions"] == []
    assert len(as_json(capsys, "--since", "3h")["sessions"]) == 1
    assert len(as_json(capsys, "--all")["sessions"]) == 1


@pytest.mark.parametrize("time", ["", "60", "m", "0m", "1.5h", "-1h", "²h", "9999999d"])
def test_a_time_that_is_none_is_refused_with_an_example(
    time: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", f"--since={time}"]) == 2
    assert "write one like 30m, 8h or 2d" in capsys.readouterr().err


def test_json_has_the_reading_and_the_sums_of_today(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = as_json(capsys)
    (session,) = found["sessions"]
    assert session["reading"]["used"]["tokens"] == 7_100
    assert session["path"] == str(log)
    assert session["project"] == "app"
    assert found["today"]["calls"] == session["today"]["calls"]


def test_without_content_json_has_no_names_titles_or_paths(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.with_name("secret-notes.jsonl").write_text("no log\n")
    assert SECRET in str(as_json(capsys))
    hidden = str(as_json(capsys, "--no-content"))
    for word in (SECRET, "app", "/home", "secret-notes.jsonl"):
        assert word not in hidden


# -- on a terminal --


@pytest.fixture
def terminal(log: Path) -> Iterator[Terminal]:
    terminal = Terminal("-m", "ullage", "top", "--interval", "0.05")
    terminal.resize(130, 24)
    try:
        terminal.wait_for("7,100 (")
        yield terminal
    finally:
        os.close(terminal.end)


def test_what_a_program_writes_shows_and_q_leaves(terminal: Terminal, log: Path) -> None:
    write_log(log, calls=9)
    terminal.wait_for("13,350 (")
    terminal.wait_for("+6,250")
    terminal.type("q")
    assert terminal.ended() == 0


def test_new_sessions_appear_and_gone_ones_go(terminal: Terminal, log: Path) -> None:
    write_log(log.with_name("two.jsonl"), calls=2)
    terminal.wait_for("2 sessions")
    log.unlink()
    terminal.wait_for("1 session,")
    terminal.type("q")
    assert terminal.ended() == 0


def test_a_terminal_that_can_not_move_its_cursor_gets_the_table_once(log: Path) -> None:
    terminal = Terminal("-m", "ullage", "top", kind="dumb")
    assert "\x1b" not in terminal.wait_for("at list prices")
    _, status = os.waitpid(terminal.process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    os.close(terminal.end)
