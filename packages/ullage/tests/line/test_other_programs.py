"""The lines of qwen-code and Copilot CLI as they start them, with JSON of the shape that they give."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ullage_programs

START = Path(ullage_programs.__file__).parent / "start.py"
PROGRAMS = ("copilot_cli.status", "qwen_code.status")


def started(program: str, given: bytes, home: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-S", START, program],
        input=given,
        capture_output=True,
        check=False,
        env={"HOME": str(home), "NO_COLOR": "1", **environment},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1
    return done.stdout.decode().rstrip("\n")


def qwen(home: Path, used: int, **other: object) -> str:
    status = {
        "version": "0.24.4",
        "context_window": {"context_window_size": 131_072, "current_usage": used},
        "workspace": {"current_dir": str(home / "project")},
        **other,
    }
    return started("qwen_code.status", json.dumps(status).encode(), home)


def copilot(home: Path, last: tuple[int, int], counted: int, **environment: str) -> str:
    context = {
        "context_window_size": 30_000,
        "last_call_input_tokens": last[0],
        "last_call_output_tokens": last[1],
        "current_context_tokens": counted,
        "current_usage": {"input_tokens": 70_903, "output_tokens": 558},
    }
    status = {"session_id": "s", "context_window": context}
    given = json.dumps(status).encode()
    return started("copilot_cli.status", given, home, **environment)


def test_qwen_code_shows_its_last_input_as_the_least_that_comes(tmp_path: Path) -> None:
    shown = qwen(tmp_path, 22_894)
    assert shown == "██░░░░░░│░░░ next ~23k/131k (17 %) · 75k to compaction~"


def test_qwen_codes_settings_move_the_threshold(tmp_path: Path) -> None:
    place = tmp_path / "project" / ".qwen" / "settings.json"
    place.parent.mkdir(parents=True)
    place.write_text('{"context": {"autoCompactThreshold": 0.5}}')
    assert "43k to compaction" in qwen(tmp_path, 22_894)


def test_an_earlier_qwen_code_had_another_rule(tmp_path: Path) -> None:
    assert "compaction" not in qwen(tmp_path, 22_894, version="0.9.0")


def test_copilots_line_is_of_the_last_call(tmp_path: Path) -> None:
    shown = copilot(tmp_path, (18_118, 161), 14_579)
    assert "next 18k/30k (61 %)" in shown


def test_copilots_room_is_by_what_was_reported(tmp_path: Path) -> None:
    assert "5.7k to compaction~" in copilot(tmp_path, (18_118, 161), 14_579)
    share = {"COPILOT_BACKGROUND_COMPACTION_THRESHOLD": "0.5"}
    assert "compaction is due~" in copilot(tmp_path, (18_118, 161), 14_579, **share)


def test_what_copilot_counts_after_its_last_call_is_added_or_gone(tmp_path: Path) -> None:
    copilot(tmp_path, (18_118, 161), 14_579)
    assert "next ~23k" in copilot(tmp_path, (18_118, 161), 19_579)
    assert "next ~8.3k" in copilot(tmp_path, (18_118, 161), 4_579)
    assert "next 8.1k" in copilot(tmp_path, (8_048, 30), 4_609)


def test_a_cache_that_can_not_be_written_leaves_the_last_call(tmp_path: Path) -> None:
    (tmp_path / ".cache").write_text("")
    copilot(tmp_path, (18_118, 161), 14_579)
    assert "next 18k" in copilot(tmp_path, (18_118, 161), 19_579)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"not JSON",
        b"\x00\xff\xfe" * 1_000,
        b"[]",
        b"[" * 500_000,
        b'{"context_window": "x", "workspace": [], "version": 7, "session_id": []}',
        b'{"workspace": {"current_dir": "a\\u0000b"}, "session_id": "\\ud800"}',
        b'{"workspace": {"current_dir": "\\ud800"}, "version": "0.99999999999"}',
        b'{"context_window": {"context_window_size": 1e400, "current_usage": NaN}}',
        b'{"context_window": {"last_call_input_tokens": -1, "current_usage": -1}}',
        b'{"a": "' + b"x" * 100_000_000 + b'"}',
    ],
    ids=lambda given: f"{given[:24]!r} of {len(given)}",
)
def test_whatever_comes_gives_one_line(
    program: str, given: bytes, tmp_path: Path
) -> None:
    assert started(program, given, tmp_path) == "size known at the first answer"


def test_a_fifo_as_settings_is_not_waited_for(tmp_path: Path) -> None:
    place = tmp_path / ".qwen" / "settings.json"
    place.parent.mkdir()
    os.mkfifo(place)
    assert "75k to compaction" in qwen(tmp_path, 22_894)
