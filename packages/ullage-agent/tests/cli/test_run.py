"""``ullage run`` against a simulator over HTTP: what goes where, and how it ends."""

import json
import os
import pty
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.command import Ended, perform
from tests.tiers import first_of
from ullage.cli import main
from ullage.errors import SettingError
from ullage_agent.runtime.agent import Agent
from ullage_simulators.scenario import read
from ullage_simulators.server import Exchange, Server, running

LONG = " ".join(f"word{number}" for number in range(600))
HIDDEN = "git status --short && git log --oneline -5 && git diff --stat HEAD~1 -- src; touch PWNED-hidden"
SCENARIO = {
    "server": {"delay_s": 0.01},
    "answers": [
        {
            "when": {"contains": "list the files"},
            "calls": [{"name": "list", "arguments": {"path": "."}}],
            "times": 0,
        },
        {
            "when": {"contains": "write a note"},
            "calls": [
                {"name": "write", "arguments": {"path": "note.txt", "content": "hello"}}
            ],
        },
        {
            "when": {"contains": "hidden command"},
            "calls": [{"name": "shell", "arguments": {"command": HIDDEN}}],
        },
        {"when": {"contains": "long story"}, "text": LONG},
        {"text": "A cask is a barrel."},
    ],
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(read(SCENARIO), seed=3) as made:
        yield made


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")
    }
    return {
        **kept,
        "ULLAGE_DATA": str(tmp_path / "data"),
        "HOME": str(tmp_path),
        "ANTHROPIC_API_KEY": "any",
    }


def words(server: Server | None, *arguments: str) -> list[str]:
    address = ["--base-url", server.url("anthropic")] if server else []
    return ["run", "--model", "anthropic:claude-haiku-4-5", *address, *arguments]


def command(server: Server | None, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "ullage", *words(server, *arguments)]


def run(
    server: Server | None,
    environment: Mapping[str, str],
    place: Path,
    *arguments: str,
    said: str = "",
) -> Ended:
    return perform(place, environment, *words(server, *arguments), said=said)


def in_a_process(
    server: Server, environment: Mapping[str, str], place: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(server, *arguments),
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_pipe_gets_the_answer_alone_and_everything_else_goes_to_standard_error(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    ended = in_a_process(server, environment, tmp_path, "What is a cask?")
    assert (ended.returncode, ended.stdout) == (0, "A cask is a barrel.\n")
    assert "Spend    1 call" in ended.stderr and "continue with --session" in ended.stderr


def test_the_request_can_come_from_standard_input(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    found = run(server, environment, tmp_path, "-", said="What is a cask?").stdout
    assert found == "A cask is a barrel.\n"


def test_json_is_one_object_with_the_reading(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    ended = run(
        server, environment, tmp_path, "What is a cask?", "--json", "--session", "s"
    )
    whole = json.loads(ended.stdout)
    assert whole["session"] == "s"
    assert whole["text"] == "A cask is a barrel."
    assert whole["reason"] == "finished"
    assert whole["error"] is None
    assert whole["reading"]["window"]["tokens"] == 200_000


def test_events_are_lines_for_programs_and_the_last_one_is_the_result(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    lines = run(
        server, environment, tmp_path, "What is a cask?", "--events"
    ).stdout.splitlines()
    events = [json.loads(line) for line in lines]
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "result" and {
        "queued",
        "turn_started",
        "draft",
        "call_ended",
        "turn_ended",
    } <= set(kinds)
    numbers = [event["seq"] for event in events if "seq" in event]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_the_line_at_the_end_is_all_that_is_needed_to_go_on(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    first = run(server, environment, tmp_path, "What is a cask?", "--window", "100k")
    told = re.search(r"continue with (.*)\)", first.stderr)
    assert told is not None
    again = ["run", "And now?", "--json", *shlex.split(told.group(1))]
    ended = perform(tmp_path, environment, *again)
    assert ended.returncode == 0, ended.stderr
    reading = json.loads(ended.stdout)["reading"]
    assert reading["model"] == "claude-haiku-4-5"
    assert reading["window"]["tokens"] == 100_000


def test_events_that_are_damaged_are_named(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    first = json.loads(run(server, environment, tmp_path, "--json", "hello").stdout)
    with (
        closing(sqlite3.connect(tmp_path / "data" / "sessions.db")) as database,
        database,
    ):
        database.execute(
            "UPDATE events SET body = substr(body, 1, length(body) / 2) WHERE seq = 2"
        )
    again = run(server, environment, tmp_path, "--session", first["session"], "and again")
    assert again.returncode == 0 and again.stdout == "A cask is a barrel.\n"
    found = again.stderr
    assert "Warning: events of this session can't be read and are left out: 2." in found


def answered(server: Server) -> Exchange:
    """The last request that was answered by a model, as against those that were counted."""
    return [one for one in server.exchanges if one.bill is not None][-1]


def test_there_are_no_tools_unless_they_are_asked_for(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    run(server, environment, tmp_path, "What is a cask?", "--json")
    assert "tools" not in answered(server).body
    run(server, environment, tmp_path, "What is a cask?", "--tools", "read,list")
    assert {tool["name"] for tool in answered(server).body["tools"]} >= {"read", "list"}
    own = {**environment, "ULLAGE_TOOLS": "search"}
    run(server, own, tmp_path, "What is a cask?")
    assert "search" in {tool["name"] for tool in answered(server).body.get("tools", [])}


def test_what_changes_things_is_refused_where_nobody_can_be_asked_and_done_with_yes(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    ended = run(server, environment, tmp_path, "write a note", "--tools", "write")
    assert ended.returncode == 0 and "no person can be asked" in ended.stderr
    assert not (tmp_path / "note.txt").exists()
    told = run(server, environment, tmp_path, "write a note", "--tools", "write", "--yes")
    assert (
        "allowed by --yes: write(" in told.stderr
        and "needs your approval" not in told.stderr
    )
    assert (tmp_path / "note.txt").read_text() == "hello"


class Terminal:
    """A command on a terminal of its own."""

    def __init__(
        self, arguments: list[str], environment: Mapping[str, str], place: Path
    ) -> None:
        self.near, far = pty.openpty()
        self.process = subprocess.Popen(
            arguments,
            cwd=place,
            env=environment,
            stdin=far,
            stdout=far,
            stderr=far,
            start_new_session=True,
        )
        os.close(far)
        self.seen = ""

    def until(self, wanted: str) -> str:
        """Read on until this was shown."""
        while wanted not in self.seen:
            try:
                more = os.read(self.near, 65_536)
            except OSError:
                more = b""
            assert more, f"{wanted!r} was never shown: {self.seen}"
            self.seen += more.decode("utf-8", "replace")
        return self.seen

    def type(self, text: str) -> None:
        """As if somebody typed it."""
        os.write(self.near, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Read what is still shown; the exit code."""
        while True:
            try:
                more = os.read(self.near, 65_536)
            except OSError:
                break
            if not more:
                break
            self.seen += more.decode("utf-8", "replace")
        os.close(self.near)
        return self.process.wait(timeout=60)


@pytest.mark.parametrize(
    ("typed", "is_done"), first_of([("y\n", True), ("n\n", False), ("\n", False)], 2)
)
def test_on_a_terminal_a_person_is_asked(
    server: Server, environment: dict[str, str], tmp_path: Path, typed: str, is_done: bool
) -> None:
    terminal = Terminal(
        command(server, "write a note", "--tools", "write"), environment, tmp_path
    )
    terminal.until("[n]")
    terminal.type(typed)
    assert terminal.end() == 0
    assert (tmp_path / "note.txt").exists() is is_done


def test_what_is_asked_is_the_whole_call_and_the_reason_of_a_no_is_told_to_the_model(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    arguments = command(
        server, "run the hidden command", "--tools", "shell", "--session", "s"
    )
    terminal = Terminal(arguments, environment, tmp_path)
    asked = terminal.until("[n]")
    found = asked.replace("\r\n  ", "").replace("\x1b[0m", "").replace("\r\n", "")
    assert HIDDEN in found
    terminal.type("n Not in this directory.\n")
    assert terminal.end() == 0
    assert not (tmp_path / "PWNED-hidden").exists()
    assert "Not in this directory." in json.dumps(server.exchanges[-1].body, default=str)


def test_ctrl_c_while_a_person_is_asked_cancels_the_turn(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    terminal = Terminal(
        command(server, "write a note", "--tools", "write"), environment, tmp_path
    )
    terminal.until("[n]")
    terminal.interrupt()
    assert terminal.end() == 130
    assert not (tmp_path / "note.txt").exists()


def test_ctrl_c_cancels_keeps_the_partial_answer_and_the_session_goes_on(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    terminal = Terminal(
        command(server, "a long story", "--session", "s"), environment, tmp_path
    )
    terminal.until("word30")
    terminal.interrupt()
    assert terminal.end() == 130
    assert "the partial answer is kept" in terminal.seen
    ended = run(server, environment, tmp_path, "What is a cask?", "--session", "s")
    assert (ended.returncode, ended.stdout) == (0, "A cask is a barrel.\n")
    sent = json.dumps(server.exchanges[-1].body)
    assert "word30" in sent and "word599" not in sent


def test_a_second_ctrl_c_leaves_at_once_and_nothing_is_lost(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    terminal = Terminal(
        command(server, "a long story", "--session", "s"), environment, tmp_path
    )
    terminal.until("word30")
    terminal.interrupt()
    terminal.interrupt()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.seen
    assert (
        run(server, environment, tmp_path, "What is a cask?", "--session", "s").returncode
        == 0
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "hello"], "No model is set"),
        (["run", "hello", "--model", "anthropic:claude-haiku-4-5"], "ANTHROPIC_API_KEY"),
        (["run", "hello", "--model", "nobody:model"], "No provider is named"),
        (["run", "  ", "--model", "anthropic:claude-haiku-4-5"], "nothing to do"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_stored(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ULLAGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert list(tmp_path.iterdir()) == []
    assert "ullage demo" in error or said not in ("No model is set", "ANTHROPIC_API_KEY")


def test_a_root_that_is_no_directory_is_an_error_before_anything_is_stored(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    ended = run(
        server,
        environment,
        tmp_path,
        "hi",
        "--root",
        str(tmp_path / "none"),
        "--tools",
        "read",
    )
    assert (
        ended.returncode == 2 and f"{tmp_path / 'none'} is no directory" in ended.stderr
    )
    assert not (tmp_path / "data" / "sessions.db").exists()
    (tmp_path / "file").write_text("x")
    for made in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(SettingError, match=r"root \(argument\): .* is no directory"):
            Agent("ollama:x", root=made, config=False, environment={})


def test_an_unknown_model_and_no_network_say_so_and_end_with_2(
    server: Server, environment: dict[str, str], tmp_path: Path
) -> None:
    ended = run(
        server, environment, tmp_path, "hello", "--model", "anthropic:nobody-knows-this"
    )
    assert (
        ended.returncode == 2 and ended.stdout == "" and "no such model" in ended.stderr
    )
    nowhere = {**environment, "ULLAGE_TRIES": "1"}
    ended = run(
        None, nowhere, tmp_path, "hello", "--base-url", "http://127.0.0.1:9", "--json"
    )
    whole = json.loads(ended.stdout)
    assert (ended.returncode, whole["text"], whole["error"]) == (2, "", "Unreachable")
    assert "can't be reached" in ended.stderr
