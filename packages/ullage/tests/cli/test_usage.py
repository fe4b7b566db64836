import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest import CaptureFixture

from tests.cli.logs import empty_home
from tests.importers.test_calls import line
from ullage.cli import main
from ullage.cli.usage import _date


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return empty_home(tmp_path, monkeypatch)


def write(home: Path, session: str, *lines: str) -> Path:
    path = home / f".claude/projects/-home-ann/{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path


def shown(capsys: CaptureFixture[str], *words: str) -> dict[str, Any]:
    of_a_year = ("--since", "2026-01-01", "--until", "2026-12-31")
    assert main(["usage", "--json", *of_a_year, *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def by_key(found: dict[str, Any]) -> dict[str, int]:
    return {row["key"]: row["total"] for row in found["rows"] if row["calls"]}


def test_days_are_those_of_the_time_zone(home: Path, capsys: CaptureFixture[str]) -> None:
    write(
        home,
        "s-1",
        line("msg_1", "2026-11-20T22:30:00Z"),
        line("msg_2", "2026-11-20T23:30:00Z", tokens=95),
    )
    assert by_key(shown(capsys, "--timezone", "UTC")) == {"2026-11-20": 112}
    assert by_key(shown(capsys, "--timezone", "Europe/Paris")) == {
        "2026-11-20": 12,
        "2026-11-21": 100,
    }


def test_a_day_can_have_25_hours(home: Path, capsys: CaptureFixture[str]) -> None:
    moments = ("2026-10-24T22:10:00Z", "2026-10-25T22:50:00Z", "2026-10-25T23:10:00Z")
    write(home, "s-1", *(line(f"msg_{n}", at) for n, at in enumerate(moments)))
    for since, total in (("2026-10-25", 24), ("2026-10-26", 12)):
        words = ("--timezone", "Europe/Paris", "--since", since)
        assert by_key(shown(capsys, *words))[since] == total


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-20", "2026-11-20"),
        ("today", "2026-11-23"),
        ("yesterday", "2026-11-22"),
        ("1d", "2026-11-23"),
        ("7d", "2026-11-17"),
        ("2w", "2026-11-10"),
    ],
)
def test_a_date_is_written_out_or_counted_back(text: str, day: str) -> None:
    assert str(_date(text, date(2026, 11, 23))) == day


@pytest.mark.parametrize(
    "words",
    [
        ("--since", "soon"),
        ("--until", "2026-13-01"),
        ("--timezone", "Mars/Base"),
        ("--timezone", "../../etc/passwd"),
        ("--since", "2026-11-20", "--until", "2026-11-19"),
    ],
)
def test_a_date_or_zone_that_is_none_is_said(
    home: Path, capsys: CaptureFixture[str], words: tuple[str, ...]
) -> None:
    write(home, "s-1", line("msg_1", "2026-11-20T22:30:00Z"))
    assert main(["usage", *words]) == 2
    assert words[-1] in capsys.readouterr().err


def test_calls_are_chosen_by_project(home: Path, capsys: CaptureFixture[str]) -> None:
    entries = []
    for name, directory in (
        ("1", "/p/shop"),
        ("2", "/p/shop/till"),
        ("3", "/p/shopping"),
    ):
        entry = json.loads(line(f"msg_{name}", "2026-11-20T12:00:00Z"))
        entry |= {"cwd": directory, "sessionId": f"s-{name}", "version": "2.1.330"}
        entries.append(entry)
        write(home, f"s-{name}", json.dumps(entry))
    assert set(by_key(shown(capsys, "--by", "project", "--project", "/p/shop"))) == {
        "/p/shop",
        "/p/shop/till",
    }
    assert shown(capsys, "--program", "codex")["total"]["calls"] == 0
    assert by_key(shown(capsys, "--by", "program")) == {"claude-code": 36}


def test_impossible_times_are_left_out(home: Path, capsys: CaptureFixture[str]) -> None:
    soon = datetime.now(UTC) + timedelta(days=400)
    write(
        home,
        "s-1",
        line("msg_2", "1970-01-01T00:00:01Z"),
        line("msg_1", "2026-11-20T12:00:00Z"),
        line("msg_3", soon.isoformat()),
    )
    found = shown(capsys)
    assert found["total"]["calls"] == 1
    assert (
        "2 calls have no time, or one that can't be true: not counted." in found["notes"]
    )


def test_a_repeated_session_counts_once(home: Path, capsys: CaptureFixture[str]) -> None:
    for session in ("s-1", "s-2"):
        write(home, session, line("msg_1", "2026-11-20T12:00:00Z"))
    found = shown(capsys)
    assert found["total"]["calls"] == 1
    assert any(note.startswith("1 copy of calls") for note in found["notes"])


def test_an_unknown_price_is_named(home: Path, capsys: CaptureFixture[str]) -> None:
    entry = line("msg_1", "2026-11-20T12:00:00Z").replace("claude-opus-4-6", "own-model")
    write(home, "s-1", entry)
    found = shown(capsys)
    assert found["total"]["usd"] is None
    assert found["total"]["unpriced"] == {"own-model": 1}
    assert "Price of own-model unknown: 1 call not in the sum." in found["notes"]


def test_an_endless_name_takes_one_line(home: Path, capsys: CaptureFixture[str]) -> None:
    entry = line("msg_1", "2026-11-20T12:00:00Z")
    write(home, "s-1", entry.replace("claude-opus-4-6", "long-" * 100_000))
    assert main(["usage", "--since", "2026-11-20"]) == 0
    assert len(capsys.readouterr().out) < 3_000


def test_the_table_is_printed_with_its_notes(
    home: Path, capsys: CaptureFixture[str]
) -> None:
    write(home, "s-1", line("msg_1", "2026-11-20T12:00:00Z"))
    assert main(["usage", "--since", "2026-11-19", "--until", "2026-11-21"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage 2026-11-19 to 2026-11-21")
    for part in ("2026-11-20", "Total", "claude-opus-4-6", "list prices"):
        assert part in out


def test_unreadable_logs_are_counted(home: Path, capsys: CaptureFixture[str]) -> None:
    write(home, "s-1", line("msg_1", "2026-11-20T12:00:00Z"))
    for number in range(4):
        write(home, f"none-{number}", "no JSON")
    assert "Not read: 1 more log." in shown(capsys)["notes"]


def test_nothing_found_is_said(home: Path, capsys: CaptureFixture[str]) -> None:
    assert main(["usage"]) == 2
    assert "No session log was found" in capsys.readouterr().err
    write(home, "s-1", line("msg_1", "2026-11-20T12:00:00Z"))
    assert main(["usage", "--since", "2026-11-01", "--until", "2026-11-02"]) == 0
    assert "No model calls in these days. --since 1y looks" in capsys.readouterr().out
