import json
import os
from pathlib import Path

import pytest

from bench.usage import Answered, Case, billed, table
from bench.usage_logs import KnownLogs, Sums, known_logs, write
from ullage.cli import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in tuple(os.environ):
        if name.startswith(("XDG_", "CLAUDE_", "CODEX_", "PI_", "GEMINI_", "ULLAGE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("logs", known_logs(), ids=lambda logs: logs.name)
def test_the_sums_of_invented_logs_are_the_truth(
    logs: KnownLogs, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(logs, home)
    words = ["--json", "--since", "2026-11-01", "--until", "2026-11-30"]
    assert main(["usage", *words, "--timezone", "Europe/Paris"]) == 0
    found = json.loads(capsys.readouterr().out)
    total = found["total"]
    kinds = [total[kind] for kind in ("input", "cache_write", "cache_read", "output")]
    assert kinds == list(logs.truth[:4])
    if logs.truth.usd is not None:
        assert total["usd"] == pytest.approx(logs.truth.usd, abs=1e-6)
    if logs.days is not None:
        days = {row["key"]: row["total"] for row in found["rows"] if row["calls"]}
        assert days == logs.days


def test_bills_are_summed_with_each_token_in_one_kind(tmp_path: Path) -> None:
    bill = {"input": 100, "cache_read": 60, "cache_write": 30, "output": 7}
    exchanges = tmp_path / "exchanges.jsonl"
    lines = [{"bill": bill}, {"bill": None}, {"rule": "refused"}, {"bill": bill}]
    exchanges.write_text("\n".join(json.dumps(line) for line in lines))
    assert billed(exchanges) == Sums(20, 60, 120, 14)


def test_the_table_says_equal_or_what_was_said_instead() -> None:
    truth = Sums(1, 2, 3, 4, 0.5)
    right = Answered(truth, {})
    wrong = Answered(Sums(1, 2, 3, 5, 0.5), {})
    found = table([Case("a kettle", truth, right, wrong)])
    assert found.rows == (("a kettle", "10, $0.500000", "equal", "11, $0.500000"),)
