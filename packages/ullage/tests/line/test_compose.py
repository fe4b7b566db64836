import json
import sys
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from ullage_programs.line import compose
from ullage_programs.line.compose import INSIDE, composed


@pytest.fixture(autouse=True)
def _a_busy_machine_takes_long_to_start_a_program(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "COMPOSED_TIMEOUT_S", 60.0)


def script(place: Path, code: str) -> str:
    path = place / "their line.py"
    path.write_text(code, "utf-8")
    return f'"{sys.executable}" "{path}"'


def test_the_earlier_line_comes_first_and_is_given_the_same_json(tmp_path: Path) -> None:
    command = script(
        tmp_path, "import json, sys; print(json.load(sys.stdin)['cwd']); print('more')"
    )
    assert composed(command, {"cwd": "/home/ann"}, "ours") == "/home/ann | ours\nmore"


@pytest.mark.parametrize(
    "code", ["", "raise SystemExit(3)", "print()", "import os; os.abort()"]
)
def test_ours_is_alone_when_the_earlier_line_fails(tmp_path: Path, code: str) -> None:
    assert composed(script(tmp_path, code), {}, "ours") == "ours"


def test_an_endless_command_is_ended(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "COMPOSED_TIMEOUT_S", 0.2)
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    assert composed(script(tmp_path, code), {}, "ours") == "ours"


def test_a_command_that_is_this_line_is_not_started(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "1")
    assert composed("echo theirs", {}, "ours") == "ours"


def test_bytes_that_are_no_text_do_not_end_the_line(tmp_path: Path) -> None:
    command = script(tmp_path, r"import os; os.write(1, b'a\xff\n')")
    assert composed(command, json.loads("{}"), "ours") == "a\ufffd | ours"
