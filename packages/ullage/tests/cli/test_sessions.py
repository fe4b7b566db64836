import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from pytest import CaptureFixture, MonkeyPatch

from tests.cli.logs import empty_home, write_log
from tests.importers.opencode_database import make_database
from tests.importers.test_proxied_sessions import ID, metered
from tests.line.logs import answer, boundary, linked, prompt, summary
from ullage.cli import main
from ullage.cli.sessions import line_of, place_of, shorter, size
from ullage.importers import FoundSession
from ullage.importers.growing import LogEnds
from ullage.watching import running
from ullage_programs.line.drawing import interval
from ullage_programs.programs import PROGRAMS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    monkeypatch.setenv("TZ", "UTC")
    return empty_home(tmp_path, monkeypatch)


@pytest.fixture
def logs(home: Path) -> Path:
    """Three sessions and one file that is none, from the oldest to the newest."""
    place = home / ".pi/agent/sessions/app"
    for second, (name, calls) in enumerate(
        (("old-aaaa1111", 1), ("mid-bbbb2222", 3), ("new-cccc3333", 4)), 1
    ):
        path = write_log(place / f"{name}.jsonl", calls=calls)
        os.utime(path, (1_700_000_000 + 60 * second,) * 2)
    (place / "no-dddd4444.jsonl").write_text("not json\n")
    os.utime(place / "no-dddd4444.jsonl", (1_700_000_000,) * 2)
    return place


def listed(capsys: CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["sessions", "--json", *arguments]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert isinstance(whole, dict)
    return whole


def test_the_newest_session_is_first(logs: Path, capsys: CaptureFixture[str]) -> None:
    whole = listed(capsys)
    assert [each["id"] for each in whole["sessions"]] == [
        "new-cccc3333",
        "mid-bbbb2222",
        "old-aaaa1111",
        "no-dddd4444",
    ]
    newest = whole["sessions"][0]
    assert newest["format"] == "pi"
    assert newest["model"] == "claude-haiku-4-5"
    assert newest["calls"] == 4
    assert newest["title"].startswith("Fix the parser")
    assert newest["cwd"] == "/home/ann/app"
    assert newest["size_bytes"] == (logs / "new-cccc3333.jsonl").stat().st_size
    assert newest["window"]["tokens"] == 200_000
    assert newest["read_whole"]


def test_a_list_and_a_reading_agree(logs: Path, capsys: CaptureFixture[str]) -> None:
    used = listed(capsys)["sessions"][0]["used"]
    log = str(logs / "new-cccc3333.jsonl")
    assert main(["context", log, "--json", "--estimator", "pretoken"]) == 0
    assert json.loads(capsys.readouterr().out)["used"] == used


def test_an_unreadable_file_is_listed(logs: Path, capsys: CaptureFixture[str]) -> None:
    unreadable = listed(capsys)["sessions"][-1]
    assert "is no session log" in unreadable["problem"]
    assert unreadable["used"] is None


def test_a_limit_says_how_many_more(logs: Path, capsys: CaptureFixture[str]) -> None:
    assert listed(capsys, "--limit", "1")["more"] == 3
    assert main(["sessions", "--limit", "1"]) == 0
    assert "3 more; --limit 4 lists all." in capsys.readouterr().out


def test_the_list_says_what_was_found(logs: Path, capsys: CaptureFixture[str]) -> None:
    assert main(["sessions"]) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[0].split()[:5] == ["id", "when", "program", "calls", "size"]
    assert lines[1].startswith("cccc3333  2023-11-14 22:1")
    assert lines[2].startswith("    claude-haiku-4-5 · Fix the parser")
    assert "used" not in lines[2]
    assert f"pi:{logs.parent}/*/*.jsonl(4)" in "".join(
        text.split()
    )  # however the line is broken
    missing = ", ".join(name for name in PROGRAMS if name not in ("pi", "opencode"))
    others = f"Also looked for ullage, opencode, {missing}: none found."
    assert others in " ".join(text.split())
    assert all(len(line) <= 120 for line in lines)


def test_a_wide_interval_stands_in_the_list(
    home: Path, capsys: CaptureFixture[str]
) -> None:
    log = home / ".claude/projects/k/s.jsonl"
    log.parent.mkdir(parents=True)
    lines = linked(prompt("hello"), answer("m", reported=90_000), boundary("auto", 1))
    log.write_bytes(b"".join((*lines, summary("short"))))
    used = listed(capsys)["sessions"][0]["used"]
    assert main(["sessions"]) == 0
    wide = interval(used["tokens"], used["low"], used["high"])
    assert f"used {wide}" in capsys.readouterr().out


def test_no_sessions_ends_with_2(home: Path, capsys: CaptureFixture[str]) -> None:
    assert main(["sessions"]) == 2
    problem = capsys.readouterr().err
    assert "No session log was found" in problem
    assert str(home / ".claude") in problem


@pytest.mark.parametrize(
    ("size_bytes", "said"),
    [
        (3, "3 B"),
        (999, "999 B"),
        (44_210, "44 KB"),
        (999_900, "1.0 MB"),
        (2_790_644, "2.8 MB"),
    ],
)
def test_sizes_are_short(size_bytes: int, said: str) -> None:
    assert size(size_bytes) == said


@pytest.mark.parametrize(
    ("tokens", "said"), [(200_000, "200k"), (1_000_000, "1M"), (1_048_576, "1,048,576")]
)
def test_windows_are_named_as_people_name_them(tokens: int, said: str) -> None:
    assert shorter(tokens) == said


def place(path: Path) -> FoundSession:
    return FoundSession("pi", path, 1.0)


def test_large_logs_are_read_at_ends(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    path = write_log(tmp_path / "a.jsonl", calls=40)
    monkeypatch.setattr(running, "ENDS", LogEnds(4_000, 20_000))
    found = line_of(place(path))
    assert not found.is_whole
    assert 0 < found.calls < 40
    assert found.title.startswith("Fix the parser")
    assert found.reading is not None
    assert found.reading.basis.last_input == 2_100 + 1_250 * 39


def test_a_log_without_a_reported_call_has_no_reading(tmp_path: Path) -> None:
    found = line_of(place(write_log(tmp_path / "a.jsonl", calls=0)))
    assert found.reading is None
    assert found.problem == ""


def test_a_document_can_be_too_large(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(running, "WATCHED_DOCUMENT_BYTES", 10)
    path = tmp_path / "chat.json"
    path.write_text('{"messages": []}')
    assert "too large for a list" in line_of(place(path)).problem


def test_a_log_that_begins_with_an_error(home: Path, capsys: CaptureFixture[str]) -> None:
    content = [{"type": "text", "text": "API Error: 404"}]
    failed = {"type": "assistant", "uuid": "a", "sessionId": "s", "version": "2.1.330"}
    message = {"role": "assistant", "model": "<synthetic>", "content": content}
    failed |= {"isApiErrorMessage": True, "message": message}  # type: ignore[dict-item]
    log = home / ".claude/projects/app/failed.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps(failed) + "\n")
    (session,) = listed(capsys)["sessions"]
    assert session["calls"] == 0
    assert "failed.jsonl is no session log" in session["problem"]


def test_a_database_session_has_its_size(home: Path, capsys: CaptureFixture[str]) -> None:
    directory = home / ".local/share/opencode"
    directory.mkdir(parents=True)
    database = make_database(directory / "opencode.db")
    sizes = [each["size_bytes"] for each in listed(capsys)["sessions"]]
    assert sizes
    assert all(0 < size < database.stat().st_size for size in sizes)


async def test_a_metered_one_is_listed(home: Path, capsys: CaptureFixture[str]) -> None:
    await metered(home)
    (session,) = listed(capsys)["sessions"]
    assert session["format"] == "ullage"
    assert session["used"]["tokens"] > 0  # its call reported nothing
    assert main(["sessions"]) == 0
    assert "claude-code (proxy)" in capsys.readouterr().out


async def test_a_session_and_its_subagent_are_named_by_their_ids(home: Path) -> None:
    path = await metered(home)
    child = f"{ID}.child-1"
    for name, session in (
        (ID, ID),
        (ID[-8:], ID),
        (ID[:8], ID),
        (child, child),
        (child[-16:], child),
    ):
        place = place_of(name)
        assert (place.path, place.session) == (path, session)


async def test_an_id_is_found_anywhere(home: Path, capsys: CaptureFixture[str]) -> None:
    await metered(home)
    assert await asyncio.to_thread(main, ["context", "--json", "--session", ID]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["session"], told["log"]["other_sessions"]) == (ID, 0)
