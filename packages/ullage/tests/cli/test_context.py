import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
from pytest import CaptureFixture

from tests.cli.logs import SECRET, empty_home, write_log
from ullage.cli import main
from ullage.cli.context import for_people
from ullage.cli.session import metered, read_session
from ullage.meter.meter import Meter
from ullage.store.calibration import KIND, CalibrationStore
from ullage.tokens.calibration import Calibration
from ullage.tokens.regression import Observation

PROMISED = {
    "snapshot_id", "model", "window", "input_limit", "compaction_point", "used", "reserve", "free", "rows", "basis",
    "accuracy", "spend",
}  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with nothing stored and no sessions of their own."""
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    return empty_home(tmp_path, monkeypatch)


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(write_log(tmp_path / "session.jsonl"))


def said(capsys: CaptureFixture[str], *arguments: str) -> str:
    assert main(["context", *arguments]) == 0
    return capsys.readouterr().out


def as_json(capsys: CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    whole = json.loads(said(capsys, *arguments, "--json"))
    assert isinstance(whole, dict)
    return whole


def test_the_json_has_every_promised_key(log: str, capsys: CaptureFixture[str]) -> None:
    whole = as_json(capsys, log)
    assert set(whole) >= PROMISED
    assert set(whole["window"]) == {"tokens", "source"}
    assert set(whole["used"]) == {"tokens", "low", "high"}
    for row in whole["rows"]:
        assert set(row) >= {"name", "tokens", "source", "children"}


@pytest.mark.parametrize(
    ("step", "last_input"), [("1", None), ("2", 2_100), ("4", 4_600)]
)
def test_at_a_step_is_the_reading_before_that_call(
    step: str, last_input: int | None, log: str, capsys: CaptureFixture[str]
) -> None:
    whole = as_json(capsys, log, "--at", step)
    assert whole["basis"]["last_input"] == last_input
    assert whole["log"]["before_call"] == int(step)
    assert len(whole["growth"]) == int(step) - 1
    assert f"before call {step} of 4" in said(capsys, log, "--at", step)


def test_a_reading_is_the_next_estimate(log: str, capsys: CaptureFixture[str]) -> None:
    before = as_json(capsys, log, "--at", "3")["used"]["tokens"]
    assert as_json(capsys, log, "--steps")["steps"][2]["estimated"] == before


@pytest.mark.parametrize("step", ["0", "-1", "5", "99"])
def test_a_step_that_is_not_there_is_answered_with_those_that_are(
    step: str, log: str, capsys: CaptureFixture[str]
) -> None:
    assert main(["context", log, f"--at={step}"]) == 2
    assert (
        f"no call number {step} in this session, it has 4 calls: 1 to 4"
        in capsys.readouterr().err
    )


def test_largest_items_have_ids_and_texts(log: str, capsys: CaptureFixture[str]) -> None:
    whole = as_json(capsys, log, "--top", "2")
    assert [item["name"] for item in whole["largest"]] == ["read", "read"]
    assert all(
        item["preview"].startswith("line ") and item["part"] for item in whole["largest"]
    )
    assert len(whole["largest"]) == 2


def test_no_content_prints_no_text(log: str, capsys: CaptureFixture[str]) -> None:
    assert SECRET.split()[-1] in said(capsys, log, "--top", "9") + said(
        capsys, log, "--top", "9", "--json"
    )
    for form in ((), ("--json",)):
        text = said(capsys, log, "--top", "9", "--steps", "--rows", "--no-content", *form)
        assert not any(
            word in text
            for word in ("swordfish", "Fix the parser", "compute", "I will read")
        )


@pytest.mark.parametrize(
    "more",
    [
        ("--rows", "--top", "9", "--steps"),
        ("--json", "--top", "9", "--steps"),
        ("--advice",),
        ("--advice", "--json"),
        ("--html", "-"),
        ("--svg", "-"),
        ("--follow", "--json"),
    ],
)
def test_no_content_names_no_file_directory_or_project(
    more: tuple[str, ...],
    tmp_path: Path,
    capsysbinary: CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A report of a bug may show it. Names of tools and models stay."""

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ullage.cli.follow.time.sleep", interrupted)
    log = tmp_path / "swordfish.jsonl"
    log.write_text(claude_log_with_memory("/home/ann/swordfish"))
    assert main(["context", str(log), *more]) == 0
    assert b"swordfish" in capsysbinary.readouterr().out
    assert main(["context", str(log), "--no-content", *more]) == 0
    shown = capsysbinary.readouterr().out
    assert b"swordfish" not in shown
    assert b"shop" in shown or more == ("--advice",)


def claude_log_with_memory(home: str) -> str:
    """A log of Claude Code with an instruction file, and calls of tools on the project's files."""
    shared = {"sessionId": "s1", "version": "2.1.330", "cwd": home, "gitBranch": home}
    path = f"{home}/CLAUDE.md"
    held = {"path": path, "type": "Project", "content": f"Mind {home}. " * 90}
    memory = {"type": "nested_memory", "path": path, "content": held}
    entries: list[dict[str, object]] = [{"type": "attachment", "attachment": memory}]
    names = ("Read", "Bash", "Task", "Skill", "mcp__shop__price")
    for number in range(12):
        name = names[number % len(names)]
        given = {"file_path": home, "command": f"cat {home}", "skill": home}
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": 4_000 if number else 20_000,
            "cache_read_input_tokens": number and 16_000 + 4_000 * number,
            "output_tokens": 50,
        }
        answer = {
            "id": f"m{number}",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [call],
            "usage": usage,
        }
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": f"{home} " * 900,
        }
        user = {"role": "user", "content": [result] if number else f"Look at {home}"}
        entries.append({"type": "user", "message": user})
        if number:
            result["tool_use_id"] = f"t{number - 1}"
        entries.append({"type": "assistant", "message": answer})
    before: str | None = None
    for place, entry in enumerate(entries):
        at = f"2026-02-03T13:{place:02}:00Z"
        entry.update(shared, uuid=f"u{place}", parentUuid=before, timestamp=at)
        before = f"u{place}"
    return "\n".join(json.dumps(entry) for entry in entries) + "\n"


def test_limits_of_the_user_come_first(log: str, capsys: CaptureFixture[str]) -> None:
    whole = as_json(capsys, log, "--window", "50k", "--reserve", "5k", "--trigger", "0.5")
    assert whole["window"] == {"tokens": 50_000, "source": "user"}
    assert (whole["reserve"], whole["input_limit"]) == (5_000, 45_000)
    assert whole["compaction_point"] == {
        "tokens": 25_000,
        "source": "user",
        "by": "",
        "note": "",
    }


def claude_log(home: Path, *inputs: int) -> str:
    """A log of Claude Code in its own place, with a call for each input."""
    shared = {"sessionId": "s1", "version": "2.1.330", "cwd": "/"}
    entries: list[dict[str, object]] = []
    for number, tokens in enumerate(inputs):
        before = f"a{number - 1}" if number else None
        asked = {"role": "user", "content": "go on"}
        answer = {
            "id": f"m{number}",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": tokens, "output_tokens": 3},
        }
        for kind, parent, message in (("u", before, asked), ("a", f"u{number}", answer)):
            entry = {"type": message["role"], "uuid": f"{kind}{number}"}
            entries.append({**entry, "parentUuid": parent, "message": message, **shared})
    log = home / ".claude" / "projects" / "-" / "s1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    return str(log)


def test_a_log_shows_its_programs_own_limits(capsys: CaptureFixture[str]) -> None:
    log = claude_log(Path.home(), 30_000, 40_000)
    text = said(capsys, log)
    assert "of 200,000 tokens (20 %)" in text
    assert "Claude Code compacts at 167,000" in text
    assert "threshold: the program's default (33,000 below the window)" in text
    whole = as_json(capsys, log)
    assert (
        whole["window"]["source"] == whole["compaction_point"]["source"] == "documented"
    )


def test_settings_count_and_damaged_ones_are_noted(capsys: CaptureFixture[str]) -> None:
    log = claude_log(Path.home(), 30_000)
    settings = Path.home() / ".claude" / "settings.json"
    settings.write_text('{"autoCompactWindow": 120000}', "utf-8")
    whole = as_json(capsys, log)
    assert whole["compaction_point"] == {
        "tokens": 87_000,
        "source": "settings",
        "by": "Claude Code",
        "note": "33,000 below the window, autoCompactWindow in ~/.claude/settings.json",
    }
    settings.write_text('{"autoCompactWindow": ', "utf-8")
    assert "Claude Code compacts at 167,000" in said(capsys, log)
    assert "~/.claude/settings.json can't be read" in as_json(capsys, log)["notes"][-1]


def test_an_unknown_model_works(tmp_path: Path, capsys: CaptureFixture[str]) -> None:
    log = str(write_log(tmp_path / "odd.jsonl", model="my-own-model"))
    assert as_json(capsys, log)["window"] == {"tokens": None, "source": "unknown"}
    assert as_json(capsys, log)["free"] is None
    text = said(capsys, log)
    assert "window unknown" in text
    assert "--window" in text
    assert "window=" not in text  # which a program would set


def test_what_earlier_sessions_taught_is_used_and_said(
    log: str, home: Path, capsys: CaptureFixture[str]
) -> None:
    seen = Observation(content=900, residual=40, corrected=12, expected=20)
    CalibrationStore(home / "data").add(
        Calibration().learn("anthropic", "claude-haiku-4-5", seen)
    )
    assert "calibrated by 1 earlier call" in said(capsys, log)
    assert as_json(capsys, log)["log"]["learnt_earlier"] == 1


def test_a_store_that_cant_be_read_is_said_and_does_not_stop_a_reading(
    log: str, home: Path, capsys: CaptureFixture[str]
) -> None:
    (home / "data").mkdir()
    (home / "data" / KIND).write_text("in the way")
    assert main(["context", log]) == 0
    streams = capsys.readouterr()
    assert "can't be read" in streams.err
    assert "Reading on without it" in streams.err
    assert streams.out.startswith("Context")


def test_without_a_file_a_session_of_this_directory_comes_before_newer_ones(
    home: Path, capsys: CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = home / "app"
    here.mkdir()
    monkeypatch.chdir(here)
    elsewhere = write_log(home / ".pi/agent/sessions/a/2026_new-0002.jsonl")
    older = write_log(home / ".pi/agent/sessions/b/2026_old-0001.jsonl")
    text = older.read_text().replace("/home/ann/app", str(here))
    older.write_text(text)
    os.utime(older, (1, 1))
    assert main(["context", "--json"]) == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out)["log"]["path"] == str(older)
    assert "pi old-0001 is the newest session of this directory" in streams.err
    older.unlink()
    assert main(["context", "--json"]) == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out)["log"]["path"] == str(elsewhere)
    assert "newest session of all directories" in streams.err


def test_an_empty_newest_log_is_skipped(home: Path, capsys: CaptureFixture[str]) -> None:
    good = write_log(home / ".pi/agent/sessions/a/good.jsonl")
    os.utime(good, (1, 1))
    (good.parent / "bad.jsonl").write_text("no json\n")
    assert main(["context", "--json"]) == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out)["log"]["path"] == str(good)
    assert "passed over" in streams.err


def test_the_beginning_or_end_of_an_id_is_enough(
    home: Path, capsys: CaptureFixture[str]
) -> None:
    uuid = "d97339c6-7a64-4000-8000-9d8e7f6a5b4c"
    log = write_log(home / f".pi/agent/sessions/a/2026-01-02T03-04-05_{uuid}.jsonl")
    for name in (uuid, uuid[:8], uuid[-8:], "2026-01-02"):
        assert as_json(capsys, name)["log"]["path"] == str(log)


def test_an_ambiguous_id_is_refused(home: Path, capsys: CaptureFixture[str]) -> None:
    for directory in ("a", "b"):
        write_log(home / f".pi/agent/sessions/{directory}/x-same1234.jsonl")
    assert main(["context", "same1234"]) == 2
    problem = capsys.readouterr().err
    assert "2 sessions have ids" in problem and problem.count("x-same1234  /") == 2


def test_without_a_session_the_sample_is_named(
    home: Path, capsys: CaptureFixture[str]
) -> None:
    assert main(["context"]) == 2
    problem = capsys.readouterr().err
    assert "No session log was found" in problem
    assert "claude-code, codex, pi" in problem and problem.count("\n") == 2
    assert "`ullage sessions` lists the places" in problem
    assert "`ullage context sample --advice`" in problem
    assert main(["context", "sample", "--advice"]) == 0


def test_a_directory_stands_for_its_newest_usable_session(
    home: Path, capsys: CaptureFixture[str]
) -> None:
    logs = home / ".pi/agent/sessions/a"
    log = write_log(logs / "old-0001.jsonl")
    log.write_text(log.read_text().replace("/home/ann/app", str(home)))
    os.utime(log, (1_700_000_000,) * 2)
    assert main(["context", str(home), "--session", "other"]) == 2
    begun = log.read_text().partition("\n")[0]
    (logs / "new-0002.jsonl").write_text(f"{begun}\n")
    assert as_json(capsys, str(home))["log"]["path"] == str(log)
    for words in ("context",), ("context", "--follow"):
        assert main([*words, str(logs)]) == 2
        problem = capsys.readouterr().err
        assert f"No session that was begun in the directory {logs} is found" in problem


@pytest.mark.parametrize("named", ["app", "/app\\u0000", "/" + "app/" * 9_000])
def test_a_log_is_not_of_a_directory_that_it_names_without_a_path(
    home: Path,
    capsys: CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    named: str,
) -> None:
    (home / "app").mkdir()
    monkeypatch.chdir(home)
    log = write_log(home / ".pi/agent/sessions/a/old-0001.jsonl")
    log.write_text(log.read_text().replace("/home/ann/app", named))
    assert main(["context", "app"]) == 2
    assert "No session that was begun in the directory" in capsys.readouterr().err
    assert main(["context"]) == 0
    assert "newest session of all directories" in capsys.readouterr().err


def test_several_sessions_in_one_file(home: Path, capsys: CaptureFixture[str]) -> None:
    imported = read_session(write_log(home / "one.jsonl"))
    several = dataclasses.replace(imported, other_sessions=3)
    notes = for_people(metered(several, Meter()).meter.reading(), several).notes
    assert notes[-1].startswith("The file holds 3 other sessions; --session ID")


def test_a_database_is_no_file_to_read(capsys: CaptureFixture[str]) -> None:
    assert main(["context", "postgresql://me:secret@db.example.org/ullage"]) != 0
    said = capsys.readouterr().err
    assert "is a database" in said
    assert "secret" not in said
