import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ullage_programs
from ullage_programs.gemini_cli.turn import end_of, last_tokens, message
from ullage_programs.line.settings import LineSettings

PROGRAM = Path(ullage_programs.__file__).parent / "start.py"


def answer(tokens: int) -> bytes:
    found = {"input": tokens, "output": 10, "total": tokens + 10}
    return json.dumps({"type": "gemini", "tokens": found}).encode() + b"\n"


def test_the_last_answer_tells_the_size() -> None:
    data = answer(5_000) + answer(9_000) + b'{"$set":{"lastUpdated":"x"}}\n{"tokens": 7'
    assert last_tokens(data) == 9_010


@pytest.mark.parametrize("data", [b"", b'"tokens"', b'{"tokens":{"input":"x"}}', b"\xff"])
def test_a_log_without_an_answer_tells_nothing(data: bytes) -> None:
    assert last_tokens(data) == 0


def test_each_share_is_said_once(tmp_path: Path) -> None:
    log = str(tmp_path / "session.jsonl")
    sizes = (100_000, 750_000, 800_000, 960_000, 990_000, 50_000, 750_000)
    said = [bool(message(log, tokens, LineSettings({}))) for tokens in sizes]
    assert said == [False, True, False, True, False, False, True]


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "session.jsonl")
    assert end_of(str(tmp_path / "session.jsonl")) == b""


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (5_000, {}),
        (
            750_000,
            {"systemMessage": "ullage: next 750k/1M (72 %). /compress makes room."},
        ),
    ],
)
def test_the_hook_as_the_program_starts_it(
    tokens: int, expected: dict[str, str], tmp_path: Path
) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(answer(tokens))
    done = subprocess.run(
        [sys.executable, "-I", "-S", PROGRAM, "gemini_cli.turn"],
        input=json.dumps({"transcript_path": str(log)}).encode(),
        capture_output=True,
        check=True,
        env={"HOME": str(tmp_path)},
    )
    assert json.loads(done.stdout) == expected
