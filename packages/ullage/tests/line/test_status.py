"""The status line as Claude Code starts it: a process, JSON on its input, one line on its output, and exit code 0."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ullage_programs
from tests.line.logs import (
    answer,
    as_line,
    boundary,
    linked,
    prompt,
    result,
    summary,
    use,
)
from ullage_programs.line.drawing import amount

PROGRAM = Path(ullage_programs.__file__).parent / "start.py"

PATIENT = f"""
import sys
sys.path.append({str(PROGRAM.parents[1])!r})
from ullage_programs.line import policy
policy.ASK_TIMEOUT_S = policy.COMPOSED_TIMEOUT_S = 600.0
place = {str(PROGRAM)!r}
exec(compile(open(place).read(), place, "exec"), {{"__name__": "__main__", "__file__": place}})
"""
"""The program, which waits for what it starts however busy the machine is."""

CONTEXT = {"context_window_size": 200_000, "total_input_tokens": 0, "current_usage": None}


def started(
    given: bytes, home: Path, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", PATIENT, "claude_code.status"],
        input=given,
        capture_output=True,
        check=False,
        env={"HOME": str(home), "NO_COLOR": "1", **environment},
    )


def line(status: object, home: Path, **environment: str) -> str:
    done = started(json.dumps(status).encode(), home, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1
    return done.stdout.decode().rstrip("\n")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    blocks = [use("t1", "Read", file_path="/home/ann/kettle/notes.md")]
    path.write_bytes(
        prompt("hello")
        + answer("msg_1", reported=120_000, output=100, blocks=blocks)
        + result("t1", "steep the tea a minute longer " * 1_500)
        + answer("msg_2", reported=132_000, output=100)
    )
    return path


def status_of(log: Path, **other: object) -> dict[str, object]:
    return {
        "session_id": "s",
        "transcript_path": str(log),
        "cost": {"total_cost_usd": 0.684},
        "context_window": CONTEXT,
        **other,
    }


def test_the_line_of_a_session(log: Path, tmp_path: Path) -> None:
    assert line(status_of(log), tmp_path) == (
        "████████░░│░ next 132k/200k (66 %) · 35k to compaction~ · largest Read notes.md 12k · $0.68"
    )


def test_a_second_look_shows_the_same(log: Path, tmp_path: Path) -> None:
    assert line(status_of(log), tmp_path) == line(status_of(log), tmp_path)


def test_the_users_settings_are_used(log: Path, tmp_path: Path) -> None:
    place = tmp_path / ".config" / "ullage" / "line.json"
    place.parent.mkdir(parents=True)
    place.write_text('{"items": ["next"], "ascii": true, "compose": "echo mine"}')
    assert line(status_of(log), tmp_path) == "mine | next 132k/200k (66 %)"


def test_the_programs_settings_move_the_threshold(log: Path, tmp_path: Path) -> None:
    place = tmp_path / "project" / ".claude" / "settings.json"
    place.parent.mkdir(parents=True)
    place.write_text('{"autoCompactEnabled": false}')
    workspace = {"project_dir": str(tmp_path / "project")}
    assert "68k to the end" in line(status_of(log, workspace=workspace), tmp_path)


def test_an_observed_compaction_is_the_threshold(log: Path, tmp_path: Path) -> None:
    log.write_bytes(
        answer("msg_0", reported=155_000) + boundary("auto", 155_066) + log.read_bytes()
    )
    assert "23k to compaction ·" in line(status_of(log), tmp_path)


def test_without_a_log_the_programs_own_numbers_are_shown(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 50_000, "output_tokens": 300}
    context = {**CONTEXT, "current_usage": usage}
    shown = line(status_of(tmp_path / "missing.jsonl", context_window=context), tmp_path)
    assert "next 50k/200k (25 %), as Claude Code says" in shown


def told(log: Path, reported: int, home: Path) -> str:
    """The line where the program tells of a last call with so much input."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": reported - 5}
    context = {**CONTEXT, "current_usage": {**usage, "output_tokens": 300}}
    return line(status_of(log, context_window=context), home)


def test_a_call_that_the_log_does_not_have_yet_is_shown_as_the_program_says(
    log: Path, tmp_path: Path
) -> None:
    assert "next 151k/200k (75 %), as Claude Code says" in told(log, 150_300, tmp_path)
    assert "next 132k/200k (66 %) ·" in told(log, 132_000, tmp_path)


def test_the_last_call_before_a_compaction_says_nothing_of_the_time_after_it(
    log: Path, tmp_path: Path
) -> None:
    with log.open("ab") as file:
        file.write(boundary("manual", 132_000) + summary("short"))
    assert "next ~" in told(log, 132_000, tmp_path)
    assert "next 31k/200k (15 %), as Claude Code says" in told(log, 30_300, tmp_path)


def test_an_older_call_says_nothing_after_a_rewind(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    lines = linked(
        prompt("hello"),
        answer("msg_1", reported=20_000),
        prompt("more"),
        answer("msg_2", reported=90_000),
    )
    again = prompt("instead " * 900, uuid="again", parent="line-1")
    log.write_bytes(b"".join(lines))
    assert "next 20k/200k (10 %), as" in told(log, 20_000, tmp_path)
    log.write_bytes(b"".join(lines) + again)
    assert "next 22k/200k (11 %) ·" in told(log, 20_000, tmp_path)


def test_after_a_compaction_nothing_is_said_that_the_ledger_does_not_say(
    log: Path, tmp_path: Path
) -> None:
    with log.open("ab") as file:
        file.write(boundary("manual", 132_000) + summary("short"))
    state = log.stat()
    nothing = {"log": str(log), "end": state.st_size, "at": state.st_mtime_ns, "used": {}}
    kept = tmp_path / ".cache/ullage/line/session.asked.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps(nothing))
    shown = line(status_of(log), tmp_path)
    assert "compacted, size known at the next answer" in shown
    kept.unlink()
    assert "next ~" in line(status_of(log), tmp_path)


# -- the same number everywhere --

FILE = "steep the tea for a minute longer " * 400


def session_lines() -> list[bytes]:
    """A session that reads a file, compacts, and goes on; each line as the program writes it."""
    seen = json.loads(result("t1", FILE))
    about = {"filePath": "/k/a.py", "content": FILE, "numLines": 1, "totalLines": 1}
    seen["toolUseResult"] = {"type": "text", "file": about}
    lines = linked(
        prompt("hello"),
        answer("msg_1", reported=25_000, blocks=[use("t1", "Read", file_path="a.py")]),
        as_line(seen),
        answer("msg_2", reported=28_100, output=80),
        prompt("and now?"),
        answer("msg_3", reported=28_300, output=90),
        boundary("manual", 28_400),
        summary(FILE[:6_000]),
        answer("msg_4", reported=27_000, output=70),
        prompt("go on"),
        answer("msg_5", reported=27_100, blocks=[use("t2", "Bash", command="ls")]),
        result("t2", FILE * 2),
    )
    entries = [json.loads(each) for each in lines]
    for entry in entries:
        entry |= {"sessionId": "s", "version": "2.1.80", "cwd": "/k"}
        if entry["type"] == "assistant":
            entry["message"]["model"] = "claude-opus-4-6"
            has_call = bool(entry["message"]["content"])
            entry["message"]["stop_reason"] = "tool_use" if has_call else "end_turn"
    return [as_line(entry) for entry in entries]


@pytest.mark.parametrize(
    ("situation", "lines"),
    [
        ("before the first call", 1),
        ("in the first turn", 2),
        ("after an answer", 4),
        ("with a prompt", 5),
        ("after a compaction", 8),
        ("after the call after that", 9),
        ("at the next prompt", 10),
        ("with a large result that no call has seen", 12),
    ],
)
def test_the_line_shows_the_number_that_the_ledger_gives(
    situation: str, lines: int, tmp_path: Path
) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(b"".join(session_lines()[:lines]))
    shown = line(status_of(log, model={"id": "claude-opus-4-6"}), tmp_path)
    printed = subprocess.run(
        [sys.executable, "-I", "-m", "ullage", "context", "--json", str(log)],
        capture_output=True,
        check=True,
        env={"HOME": str(tmp_path)},
    )
    reading = json.loads(printed.stdout)
    used = reading["used"]
    assert f"next {amount(used['tokens'])}/" in shown.replace("~", ""), situation
    if situation == "after a compaction":
        assert f", {amount(used['low'])} to {amount(used['high'])} ·" in shown
        assert used["tokens"] > 23_000, "with the file that comes back"
        left = reading["compaction_point"]["tokens"] - used["high"]
        assert f"· {amount(left)} to compaction" in shown


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"\n",
        b"not JSON",
        b"\x00\xff\xfe" * 1_000,
        b"[]",
        b"null",
        b"7",
        b"[" * 500_000,
        b'{"transcript_path": 7, "cost": [], "context_window": "x"}',
        b'{"transcript_path": "/dev/zero", "context_window": {"context_window_size": -1}}',
        b'{"transcript_path": "a\\u0000b"}',
        b'{"transcript_path": "\\ud800", "cwd": "\\ud800"}',
        b'{"context_window": {"context_window_size": 1e400, "current_usage": {"input_tokens": NaN}}}',
        b'{"cost": {"total_cost_usd": 1e308}}',
        b" " * 3_000_000 + b"{}",
        b'{"a": "' + b"x" * 100_000_000 + b'"}',
    ],
    ids=lambda given: f"{given[:24]!r} of {len(given)}",
)
def test_whatever_comes_in_one_line_goes_out(given: bytes, tmp_path: Path) -> None:
    done = started(given, tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "size known at the first answer\n"


def test_a_fifo_as_transcript_is_not_waited_for(tmp_path: Path) -> None:
    fifo = tmp_path / "session.jsonl"
    os.mkfifo(fifo)
    assert "size known" in line(status_of(fifo), tmp_path)


def test_a_closed_input_gives_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        f'"{sys.executable}" -I -S "{PROGRAM}" claude_code.status <&-',
        shell=True,
        capture_output=True,
        check=False,
        env={"HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (0, b"size known at the first answer\n")


def test_what_fails_is_said_in_a_line_and_by_a_hook_not_at_all() -> None:
    for module, said in (
        ("a.status", b"ullage: no status (ModuleNotFoundError)\n"),
        ("a.b", b""),
    ):
        command = [sys.executable, "-I", "-S", str(PROGRAM), module]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, said, b"")


@pytest.mark.parametrize(
    "settings", [b"", b"{", b"[]", b'{"items": 7}', b"\xff", b"[" * 200_000]
)
def test_bad_settings_leave_defaults(settings: bytes, log: Path, tmp_path: Path) -> None:
    place = tmp_path / ".config" / "ullage" / "line.json"
    place.parent.mkdir(parents=True)
    place.write_bytes(settings)
    assert "next 132k/200k" in line(status_of(log), tmp_path)


def test_a_log_of_strange_lines_gives_a_line(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    entry = {"type": "assistant", "message": {"usage": {"input_tokens": 10**30}}}
    log.write_bytes(b"\x00" * 300_000 + b"\n" + as_line(entry) + b'{"type":"user"}\n')
    assert "size known" in line(status_of(log), tmp_path)


LIST_WHAT_A_LOOK_LOADS = """
import sys
sys.path.append({place!r})
from ullage_programs.claude_code.status import main
main()
sys.stderr.write(" ".join(sorted(sys.modules)))
"""

LIGHT = frozenset(
    {"codecs", "collections", "enum", "functools", "genericpath", "io", "json", "keyword"}
    | {"operator", "os", "posix", "posixpath", "re", "reprlib", "stat", "sys", "types"}
    | {"abc", "builtins", "copyreg", "encodings", "marshal", "site", "time", "winreg"}
    | {"zipimport", "ullage_programs", "ntpath", "nt", "contextlib", "itertools", "errno"}
)
"""What the bare interpreter and ``json`` load, in Python 3.11 to 3.14."""


def test_a_look_loads_json_and_nothing_else(log: Path, tmp_path: Path) -> None:
    code = LIST_WHAT_A_LOOK_LOADS.format(place=str(PROGRAM.parents[1]))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        input=json.dumps(status_of(log)).encode(),
        capture_output=True,
        check=True,
        env={"HOME": str(tmp_path)},
    )
    packages = {name.partition(".")[0] for name in done.stderr.decode().split()}
    loaded = {name for name in packages if not name.startswith("_")}
    light = LIGHT | ({"linecache"} if sys.version_info >= (3, 13) else set())
    assert loaded - light == set()
