import json
from pathlib import Path

import pytest

from tests.cli.command import perform
from tests.line.logs import answer, prompt


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(prompt("hello") + answer("msg_1", reported=40_000))
    return path


def test_the_line_of_a_named_log_is_printed(log: Path, tmp_path: Path) -> None:
    words = ("statusline", str(log), "--window", "200000")
    done = perform(tmp_path, {"NO_COLOR": "1"}, *words)
    assert done.stdout == "██░░░░░░░░│░ next 40k/200k (20 %) · 127k to compaction~\n"


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("claude-opus-4-6", "next 40k/200k (20 %) · 127k to compaction~"),
        ("claude-opus-5-5", "next 40k/1M (4 %) · 927k to compaction~"),
    ],
)
def test_the_window_is_the_one_that_claude_code_gives_the_model_of_the_log(
    tmp_path: Path, model: str, shown: str
) -> None:
    line = json.loads(answer("msg_1", reported=40_000))
    line["message"] |= {"role": "assistant", "model": model}
    path = tmp_path / "session.jsonl"
    told = {"version": "2.1.330", "sessionId": "s", "cwd": "/kettle"}
    path.write_bytes(prompt("hello", **told) + json.dumps(line | told).encode() + b"\n")
    done = perform(tmp_path, {"NO_COLOR": "1"}, "statusline", str(path))
    assert shown in done.stdout


def test_a_log_that_names_no_model_has_no_share(log: Path, tmp_path: Path) -> None:
    done = perform(tmp_path, {"NO_COLOR": "1"}, "statusline", str(log))
    assert done.stdout == "next 40k\n"


def test_another_window_can_be_named(log: Path, tmp_path: Path) -> None:
    words = ("statusline", str(log), "--window", "1000000")
    done = perform(tmp_path, {"NO_COLOR": "1"}, *words)
    assert "next 40k/1M (4 %) · 927k to compaction~" in done.stdout


def test_the_json_of_the_program_is_read_from_standard_input(
    log: Path, tmp_path: Path
) -> None:
    status = {"transcript_path": str(log)}
    done = perform(tmp_path, {"NO_COLOR": "1"}, "statusline", said=json.dumps(status))
    assert done.stdout == "next 40k\n"


def test_a_missing_log_is_named_with_the_command_that_lists_logs(tmp_path: Path) -> None:
    done = perform(tmp_path, {}, "statusline", str(tmp_path / "none.jsonl"))
    assert done.returncode == 2
    assert "no log at" in done.stderr
    assert "ullage sessions" in done.stderr


@pytest.mark.parametrize("command", ["context", "statusline"])
def test_a_name_that_no_file_can_have_is_a_log_that_does_not_exist(
    tmp_path: Path, command: str
) -> None:
    done = perform(tmp_path, {}, command, "a" * 300 + ".jsonl")
    assert done.returncode == 2
    assert "`ullage sessions` lists" in done.stderr
