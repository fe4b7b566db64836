import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ullage_programs
from tests.line.logs import answer, boundary, result, use
from ullage_programs.claude_code.hook_events import warning
from ullage_programs.claude_code.look import look
from ullage_programs.line.settings import LineSettings

PROGRAM = Path(ullage_programs.__file__).parent / "start.py"
LARGE = "steep the tea a minute longer " * 4_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    blocks = [use("t1", "Read", file_path="/home/ann/notes.md")]
    path.write_bytes(answer("msg_1", reported=100_000, output=0, blocks=blocks))
    return path


def add(log: Path, *lines: bytes) -> None:
    with log.open("ab") as file:
        file.writelines(lines)


def answered(
    log: Path, name: str = "PostToolUse", **settings: object
) -> dict[str, object]:
    event: dict[str, object] = {"transcript_path": str(log), "hook_event_name": name}
    size = look(str(log))
    assert size is not None
    return warning(event, size, LineSettings({"hooks": settings}))


def test_a_large_result_is_named_with_its_share_of_what_was_left(log: Path) -> None:
    add(log, result("t1", LARGE))
    assert answered(log) == {
        "systemMessage": (
            "ullage: Read notes.md took 32k tokens, 48 % of what was left; 35k are left before compaction."
        )
    }


def test_it_is_named_once(log: Path) -> None:
    add(log, result("t1", LARGE))
    assert answered(log)
    assert answered(log) == {}


def test_a_small_result_is_not_named(log: Path) -> None:
    add(log, result("t1", "three lines"))
    assert answered(log) == {}


def test_the_size_is_that_of_the_log_not_of_the_hooks_input(log: Path) -> None:
    add(log, result("t1", "<persisted-output> the first lines </persisted-output>"))
    event: dict[str, object] = {
        "transcript_path": str(log),
        "hook_event_name": "PostToolUse",
        "tool_response": {"stdout": LARGE},
    }
    size = look(str(log))
    assert size is not None
    assert warning(event, size, LineSettings({})) == {}


def test_a_result_larger_than_what_was_left_has_no_percentage(log: Path) -> None:
    add(log, result("t1", LARGE * 3))
    assert "more than was left" in str(answered(log)["systemMessage"])


def test_the_model_is_told_only_where_the_user_wants_it(log: Path) -> None:
    add(log, result("t1", LARGE))
    assert "hookSpecificOutput" in answered(log, tell_model=True)


def test_at_the_end_of_a_turn_only_the_person_is_told(log: Path) -> None:
    add(log, result("t1", LARGE))
    assert set(answered(log, "Stop", tell_model=True)) == {"systemMessage"}


def test_the_share_can_be_set(log: Path) -> None:
    add(log, result("t1", LARGE))
    assert answered(log, share=0.6) == {}


@pytest.mark.parametrize(
    "given",
    [b"", b"{", b"[]", b"\xff" * 2_000_000, b'{"transcript_path": 7}', b"[" * 300_000],
    ids=lambda given: f"{given[:20]!r}",
)
def test_whatever_comes_the_hook_prints_nothing(given: bytes, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", PROGRAM, "claude_code.hook_events"],
        input=given,
        capture_output=True,
        check=False,
        env={"HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_hook_as_the_program_starts_it(log: Path, tmp_path: Path) -> None:
    add(log, result("t1", LARGE))
    event = {"transcript_path": str(log), "hook_event_name": "PostToolUse"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", PROGRAM, "claude_code.hook_events"],
        input=json.dumps(event).encode(),
        capture_output=True,
        check=True,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )
    assert json.loads(done.stdout)["systemMessage"].startswith("ullage: Read notes.md")


def told(answer: dict[str, object]) -> str:
    """What the model is told."""
    output = answer.get("hookSpecificOutput", {})
    assert isinstance(output, dict)
    return str(output.get("additionalContext", ""))


def test_the_model_is_told_of_its_room_once_before_a_compaction(log: Path) -> None:
    add(log, answer("msg_2", reported=150_000, output=0))
    assert told(answered(log, "Stop", tell_room=True)) == ""
    assert told(answered(log)) == ""
    assert told(answered(log, tell_room=True)).startswith("About 17k tokens are left")
    assert told(answered(log, tell_room=True)) == ""


def test_far_from_a_compaction_it_is_told_nothing(log: Path) -> None:
    assert answered(log, tell_room=True) == {}


def test_after_a_compaction_it_is_told_again(log: Path) -> None:
    add(log, answer("msg_2", reported=150_000, output=0))
    assert told(answered(log, tell_room=True))
    add(log, boundary("auto", 160_000), answer("msg_3", reported=40_000, output=0))
    assert told(answered(log, tell_room=True)) == ""
    add(log, answer("msg_4", reported=152_000, output=0))
    assert told(answered(log, tell_room=True))


def test_codex_is_told_by_the_sizes_of_its_own_log(tmp_path: Path) -> None:
    log = tmp_path / ".codex" / "sessions" / "2026" / "11" / "29" / "rollout-1.jsonl"
    log.parent.mkdir(parents=True)
    settings = tmp_path / ".config" / "ullage" / "line.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"hooks": {"tell_room": true}}')
    event = {"transcript_path": str(log), "model": "gpt-5.5"}
    said = []
    for used in (100_000, 230_000, 231_000, 20_000, 240_000):
        info = {
            "last_token_usage": {"total_tokens": used},
            "model_context_window": 258_400,
        }
        line = {"type": "event_msg", "payload": {"type": "token_count", "info": info}}
        add(log, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        done = subprocess.run(
            [sys.executable, "-I", "-S", PROGRAM, "codex.hook_events"],
            input=json.dumps(event).encode(),
            capture_output=True,
            check=True,
            env={"HOME": str(tmp_path)},
        )
        said.append(told(json.loads(done.stdout or "{}"))[:28])
    assert said == [
        "",
        "About 15k tokens are left be",
        "",
        "",
        "About 4.8k tokens are left b",
    ]
