import os
import stat
from pathlib import Path

import pytest

from tests.importers.test_calls import line
from ullage.watching.past_calls import CALLS_VERSION, PastCalls, past_calls


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / ".claude/projects/-home-ann/s-1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(line("msg_1", "2026-11-20T12:00:00Z"))
    return path


def look(home: Path, since: float = 0.0, program: str = "") -> PastCalls:
    environment = {"HOME": str(home)}
    return past_calls(since, program=program, environ=environment, home=home)


def tokens(past: PastCalls) -> list[int | None]:
    return [call.input for log in past.logs for call in log.calls]


def cached(home: Path) -> list[Path]:
    return list((home / ".cache/ullage/calls").iterdir())


def test_a_kept_log_is_the_users_alone(tmp_path: Path, log: Path) -> None:
    assert tokens(look(tmp_path)) == [7]
    (kept,) = cached(tmp_path)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert CALLS_VERSION


def test_what_is_kept_serves_an_unchanged_log(tmp_path: Path, log: Path) -> None:
    look(tmp_path)
    (kept,) = cached(tmp_path)
    kept.write_bytes(
        kept.read_bytes().replace(b"[7,", b"[8,").replace(b",7,5,", b",8,5,")
    )
    assert tokens(look(tmp_path)) == [8]
    with log.open("a") as file:
        file.write(line("msg_2", "2026-11-20T12:01:00Z", tokens=9))
    assert tokens(look(tmp_path)) == [7, 9]


def test_a_new_subagents_log_is_a_change(tmp_path: Path, log: Path) -> None:
    look(tmp_path)
    nested = log.with_suffix("") / "subagents/agent-a.jsonl"
    nested.parent.mkdir(parents=True)
    nested.write_text(line("msg_2", "2026-11-20T12:01:00Z", agent="a", tokens=9))
    assert tokens(look(tmp_path)) == [7, 9]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"stamp": 1}', b"\xff" * 9])
def test_a_damaged_cache_is_remade(tmp_path: Path, log: Path, content: bytes) -> None:
    look(tmp_path)
    (kept,) = cached(tmp_path)
    whole = kept.read_bytes()
    kept.write_bytes(content)
    assert tokens(look(tmp_path)) == [7]
    assert kept.read_bytes() == whole


def test_without_a_cache_everything_is_read_anew(tmp_path: Path, log: Path) -> None:
    (tmp_path / ".cache").write_text("a file")
    assert tokens(look(tmp_path)) == tokens(look(tmp_path)) == [7]


def test_a_log_that_was_not_changed_since_is_not_read(tmp_path: Path, log: Path) -> None:
    os.utime(log, (1_000, 1_000))
    assert tokens(look(tmp_path, since=2_000)) == []
    assert tokens(look(tmp_path, since=1_000)) == [7]


def test_only_the_program_that_is_asked_for_is_read(tmp_path: Path, log: Path) -> None:
    assert tokens(look(tmp_path, program="codex")) == []
    assert tokens(look(tmp_path, program="claude-code")) == [7]


def test_an_unreadable_log_is_named(tmp_path: Path, log: Path) -> None:
    log.with_name("s-2.jsonl").write_text("not json\n")
    past = look(tmp_path)
    assert tokens(past) == [7]
    assert [unread.path.name for unread in past.unread] == ["s-2.jsonl"]
    assert past.unread[0].problem.endswith("is no session log that Ullage can read.")
