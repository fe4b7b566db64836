"""How close first calls are, on logs below a directory, and the rows that bare sessions give."""

import gzip
from pathlib import Path

import msgspec
import pytest
from pytest import CaptureFixture

from bench.program_overhead import (
    cold_table,
    first_calls,
    main,
    measured,
    rows_of,
    sessions_below,
    table_with,
)
from tests.importers.first_calls import claude_code, codex
from ullage.meter.typical import TypicalFirstCall, typical_rows


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two sessions of one program, of which one is packed, one of another program, and a file that is no log."""
    claude_code(tmp_path, 1, "Which price is wrong?", 25_000)
    second = claude_code(tmp_path, 2, "Which price is wrong?", 25_200)
    packed = tmp_path / "deep" / "second.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(second.read_bytes()))
    second.unlink()
    codex(tmp_path, 3, "Which price is wrong?", 9_000)
    (tmp_path / "notes.json").write_text("{}")
    return tmp_path


def test_all_logs_below_a_directory_are_measured_cold_and_in_order(logs: Path) -> None:
    taught = first_calls(sessions_below(logs))
    assert [each.call.program for each in taught] == [
        "claude-code 2.1.197",
        "claude-code 2.1.197",
        "codex 0.169.0",
    ]
    assert [row[:2] for row in cold_table(taught).rows] == [
        ("claude-code", "2"),
        ("codex", "1"),
        ("**all**", "3"),
    ]
    (second,) = measured(taught)
    assert second.after.is_inside
    assert (
        abs(second.after.error_percent or 9) < 1 < abs(second.before.error_percent or 0)
    )


def test_rows_take_the_place_of_those_that_the_bench_wrote_and_of_no_others(
    logs: Path,
) -> None:
    rows = rows_of(first_calls(sessions_below(logs)))
    assert [(row.program, row.n, row.is_bare) for row in rows] == [
        ("claude-code", 2, True),
        ("codex", 1, True),
    ]
    assert rows[0].since == "2.1.197"
    written = msgspec.json.decode(table_with(rows), type=list[TypicalFirstCall])
    kept = [row for row in typical_rows() if not row.is_bare]
    assert [row for row in kept if row not in written] == []
    bare = [
        row for row in written if row.is_bare and row.program in ("claude-code", "codex")
    ]
    assert bare == rows


def test_the_command_prints_both_tables_or_says_that_there_is_no_session(
    logs: Path, tmp_path: Path, capsys: CaptureFixture[str]
) -> None:
    main([str(logs)])
    assert "nothing was learnt of" in capsys.readouterr().out
    empty = tmp_path / "empty"
    empty.mkdir()
    main([str(empty)])
    assert "No session with reports" in capsys.readouterr().out
