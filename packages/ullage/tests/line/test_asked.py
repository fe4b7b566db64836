"""What the ledger says of a log, asked for by a status line: once for each state, and only of what is quickly read."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.line.logs import answer, prompt
from ullage_programs.claude_code.asked import AskedSize, ask
from ullage_programs.line.places import session_file
from ullage_programs.line.policy import LARGEST_ASKED


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "session.jsonl"
    path.write_bytes(prompt("hello") + answer("msg_1", reported=20_000, output=10))
    return path


class Ledger:
    """Stands for the command, and counts how often it is asked."""

    def __init__(self, **found: object) -> None:
        self.found, self.times = found, 0

    def __call__(self, _: str) -> dict[str, object]:
        self.times += 1
        return self.found


def test_a_state_of_a_log_is_asked_about_once(log: Path) -> None:
    used = {"tokens": 20_010, "low": 19_000, "high": 26_000}
    ledger = Ledger(used=used, unproven=2_000)
    expected = AskedSize(20_010, 19_000, 26_000, 24_000)
    assert ask(str(log), ledger) == ask(str(log), ledger) == expected
    assert ledger.times == 1
    with log.open("ab") as file:
        file.write(prompt("and?"))
    assert ask(str(log), ledger) == expected
    assert ledger.times == 2


def test_what_was_not_found_is_not_asked_for_again(log: Path) -> None:
    ledger = Ledger()
    assert ask(str(log), ledger) is None
    assert ask(str(log), ledger) is None
    assert ledger.times == 1


def test_a_log_that_takes_long_to_read_is_not_asked_about(log: Path) -> None:
    ledger = Ledger(used={"tokens": 5})
    os.truncate(log, LARGEST_ASKED + 1)
    assert ask(str(log), ledger) is None
    assert ledger.times == 0


@pytest.mark.parametrize("path", ["", "missing.jsonl", "nul\0byte", "x" * 5_000])
def test_no_log_says_nothing(path: str) -> None:
    assert ask(path) is None


@pytest.mark.parametrize("kept", ["[]", "7", '{"tokens": "many"}', '{"tokens": -5}'])
def test_a_damaged_answer_is_none(kept: str, log: Path) -> None:
    ask(str(log), Ledger(used={"tokens": 5}))
    place = Path(session_file(str(log), ".asked.json"))
    place.write_text(
        json.dumps(json.loads(place.read_text()) | {"used": json.loads(kept)})
    )
    assert ask(str(log)) is None


def test_a_status_line_that_is_ended_ends_the_command(log: Path, tmp_path: Path) -> None:
    command, told = tmp_path / "command", tmp_path / "told"
    command.write_text(f"#!/bin/sh\necho $$ > {told}\nexec sleep 60\n")
    command.chmod(0o700)
    os.mkfifo(told)
    code = "import sys; from ullage_programs.claude_code.asked import printed\n"
    code += "sys.executable = sys.argv[1]; printed(sys.argv[2])"
    asking = subprocess.Popen([sys.executable, "-c", code, str(command), str(log)])
    number = int(told.read_text())
    asking.send_signal(signal.SIGTERM)
    assert asking.wait() == 1
    with pytest.raises(ProcessLookupError):
        for _ in range(1_200):  # init takes up what it was left
            os.kill(number, 0)
            time.sleep(0.05)
