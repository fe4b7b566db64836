"""What one session's log shows of its first call, and the commands make of it for the next."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pytest import CaptureFixture

from tests.importers.first_calls import claude_code
from ullage.cli import main
from ullage.store.overhead import KIND, OverheadStore

OVERHEAD = 30_000
QUESTION = "Which price is wrong?"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OverheadStore:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    return OverheadStore()


def cut(log: Path) -> Path:
    """The log as it is before its first answer."""
    *begun, _ = log.read_text().splitlines(keepends=True)
    log.write_text("".join(begun))
    return log


def reading(capsys: CaptureFixture[str], *command: str) -> dict[str, Any]:
    assert main([*command, "--json"]) == 0
    read: dict[str, Any] = json.loads(capsys.readouterr().out)
    return read


def test_reading_a_log_makes_the_next_sessions_first_call_known(
    tmp_path: Path, store: OverheadStore, capsys: CaptureFixture[str]
) -> None:
    first = claude_code(tmp_path, 1, QUESTION, OVERHEAD)
    assert reading(capsys, "context", str(first))["used"]["tokens"] > OVERHEAD
    assert len(store.read()) == 1
    second = str(cut(claude_code(tmp_path, 2, QUESTION, OVERHEAD)))
    used = reading(capsys, "context", second)["used"]
    assert abs(used["tokens"] - OVERHEAD) < 0.03 * OVERHEAD
    assert used["low"] <= OVERHEAD <= used["high"]
    assert len(store.read()) == 1


def test_a_row_names_its_source(tmp_path: Path, capsys: CaptureFixture[str]) -> None:
    for day in (1, 2):
        assert main(["context", str(claude_code(tmp_path, day, QUESTION, OVERHEAD))]) == 0
    capsys.readouterr()
    assert main(["context", str(cut(claude_code(tmp_path, 3, QUESTION, 1)))]) == 0
    shown = capsys.readouterr().out
    assert "Not in the log" in shown
    assert "as in 2 earlier sessions of claude-code 2.1.197" in shown
    assert "lower bound" not in shown


def test_a_log_that_is_read_twice_counts_once_and_never_for_itself(
    tmp_path: Path, store: OverheadStore, capsys: CaptureFixture[str]
) -> None:
    log = str(claude_code(tmp_path, 1, QUESTION, OVERHEAD))
    first = reading(capsys, "context", log, "--steps")
    assert reading(capsys, "context", log, "--steps") == first
    typical = first["steps"][0]["estimated"]
    assert abs(typical - OVERHEAD) > 0.1 * OVERHEAD
    copy = tmp_path / "copy.jsonl"
    copy.write_text(Path(log).read_text().replace('"s1"', '"s7"'))
    assert reading(capsys, "context", str(copy), "--steps")["steps"] == first["steps"]
    assert len(store.read()) == 1


def test_a_store_that_can_not_be_used_is_said_and_the_reading_is_given(
    tmp_path: Path, store: OverheadStore, capsys: CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / KIND).write_text("no directory")
    assert main(["context", str(claude_code(tmp_path, 1, QUESTION, OVERHEAD))]) == 0
    out, err = capsys.readouterr()
    assert "30,0" in out
    assert "can't be read" in err


def test_a_hostile_log_from_the_future_is_not_learnt(
    tmp_path: Path, store: OverheadStore, capsys: CaptureFixture[str]
) -> None:
    log = claude_code(tmp_path, 1, QUESTION, OVERHEAD)
    year = time.gmtime().tm_year + 2
    log.write_text(log.read_text().replace("2026-02-01", f"{year}-02-01"))
    reading(capsys, "context", str(log))
    assert store.read() == ()
