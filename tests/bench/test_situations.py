import gzip
from pathlib import Path

import pytest

from bench.situations import found_in, main
from tests.bench.recorded import call, pair
from tests.bench.test_evaluate import write
from tests.places import ROOT

SAMPLE = ROOT / "examples" / "session.jsonl"


def test_calls_of_a_log_are_told_by_what_they_follow_on(tmp_path: Path) -> None:
    packed = tmp_path / "claude-code-1.jsonl.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    found = list(found_in(packed))
    assert {each.group.source for each in found} == {"claude-code"}
    situations = [each.group.situation for each in found]
    assert situations[:2] == ["first call", "second call"]
    assert "after a compaction" in situations
    assert found[0].name == "claude-code-1.jsonl.gz call 1"


def test_recorded_calls_are_shown_beside_logs_and_a_miss_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = write(tmp_path / "pairs.jsonl", pair(0, truth=1028), pair(1, truth=9_000))
    calls = write(tmp_path / "calls.jsonl", call(7, truth=14))
    assert main([str(pairs), str(calls), "--misses"]) == 0
    shown = capsys.readouterr().out
    assert "one-1: second call" in shown
    assert "one-0:" not in shown
    assert "recorded calls, first call" in shown
    assert main([str(calls), "--first-calls"]) == 0
    assert "first calls, openai" in capsys.readouterr().out


def test_what_is_no_log_is_named_below_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.jsonl").write_text('{"nothing": 1}\n')
    assert main([str(tmp_path)]) == 0
    assert "other.jsonl: " in capsys.readouterr().out
