"""The command as a process: exit codes, streams, and how it ends."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.logs import home_of, ullage, write_log
from tests.processes import run_python
from ullage.cli import main

HEADER_ONLY = b'{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05Z","cwd":"/home/ann"}\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "session.jsonl")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "There is no file"),
        (b"", "it is empty"),
        (b"\x00" * 100, "it is empty"),
        (b"hello", "it holds no JSON"),
        (b'{"some":"json"}', "is no session log"),
        (HEADER_ONLY, "no message and no model call"),
        (b"\x1f\x8b\x08\x00", "is compressed"),
    ],
)
def test_an_unusable_file_ends_with_2_and_the_reason(
    content: bytes | None, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    if content is not None:
        path.write_bytes(content)
    done = ullage("context", path, home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ullage: ")
    assert reason in done.stderr
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_torn_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    torn = write_log(tmp_path / "torn.jsonl", torn=True)
    done = ullage("context", torn, home=tmp_path)
    assert done.returncode == 0
    assert "Skipped   1 of 11 lines not read" in done.stdout
    assert "(line 11)" in done.stdout


def test_a_user_without_a_home_directory_is_told() -> None:
    program = "import sys; sys.modules['pwd'] = None; from ullage.cli import main; sys.exit(main(['usage']))"
    done = run_python("-c", program, env={})
    assert done.returncode == 2
    assert done.stderr.startswith("ullage: This user has no home directory: HOME is")


def test_a_file_is_shown_in_a_directory_that_is_gone(log: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        f"rmdir {gone}; {sys.executable} -m ullage context {log}",
        shell=True,
        cwd=gone,
        env=home_of(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Context ")


def piped(words: str, *, home: Path) -> tuple[str, str]:
    """The exit code of the command at the head of this pipe, in a line of standard output, and standard error."""
    done = subprocess.run(
        f"{sys.executable} -m ullage {words}; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        env=home_of(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout, done.stderr


def test_a_reader_that_leaves_early_is_no_error(log: Path, tmp_path: Path) -> None:
    assert piped(f"context {log} --rows --steps --top 9 | true", home=tmp_path) == (
        "0\n",
        "",
    )


@pytest.mark.parametrize("words", ["context nothing-there", "contxt", "run hi --zap"])
def test_a_failure_that_nobody_reads_is_a_failure(words: str, tmp_path: Path) -> None:
    assert piped(f"{words} 2>&1 | true", home=tmp_path) == ("2\n", "")


def test_a_setting_that_is_no_option_is_said_to_be_a_setting(tmp_path: Path) -> None:
    done = ullage("run", "hi", "--trigger", "0.5", home=tmp_path)
    assert done.returncode == 2
    assert "It is a setting: `trigger = …` in ullage.toml" in done.stderr
    assert "the variable ULLAGE_TRIGGER" in done.stderr


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs a device that is always full"
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_full_disk_is_said(form: list[str], log: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ullage", "context", str(log), *form],
            env=home_of(tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert (
        done.stderr == "ullage: The output can't be written: No space left on device.\n"
    )


def test_a_closed_standard_output_is_no_error(log: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m ullage context {log} >&-",
        shell=True,
        env=home_of(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def _interrupted(process: subprocess.Popen[bytes]) -> bytes:
    """Ctrl-C until it ends: Python sleeps through a signal that comes right before a call that waits. What it said."""
    for _ in range(30):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=20)[1]
    process.kill()
    raise AssertionError("it did not end")


def test_ctrl_c_ends_the_command_quietly(tmp_path: Path) -> None:
    log = tmp_path / "long.jsonl"
    text = "Top up the casks. " * 64
    row = '{"type":"user","uuid":"%d","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"%s"}}\n'
    with log.open("w") as file:
        file.writelines(
            row % (number, text) for number in range(40_000)
        )  # reading it takes far longer than the interrupt
    process = subprocess.Popen(
        [sys.executable, "-m", "ullage", "context", str(log)],
        env=home_of(tmp_path),
        stderr=subprocess.PIPE,
    )
    _wait_until_read(process, log)
    said = _interrupted(process)
    assert process.returncode == 130
    assert said == b""


def _wait_until_read(process: subprocess.Popen[bytes], file: Path) -> None:
    """Until the process has read about half of the file, where the system tells.

    Earlier, an interrupt would meet the start of Python.
    """
    counters = Path(f"/proc/{process.pid}/io")
    while counters.exists() and process.poll() is None:
        with contextlib.suppress(OSError):
            if int(counters.read_text().split()[1]) > file.stat().st_size / 2:
                return
        time.sleep(0.01)


def test_an_interrupt_gives_the_shells_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("ullage.cli._perform", interrupted)
    assert main(["sessions"]) == 130


def test_an_ascii_terminal_gets_ascii(log: Path, tmp_path: Path) -> None:
    done = ullage("context", log, home=tmp_path, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "+-" in done.stdout or " to " in done.stdout


def test_a_pipe_gets_the_same_plain_text_everywhere(log: Path, tmp_path: Path) -> None:
    plain = ullage("context", log, home=tmp_path).stdout
    assert "\x1b" not in plain
    assert (
        ullage(
            "context",
            log,
            home=tmp_path,
            COLUMNS="40",
            TERM="xterm-256color",
            FORCE_COLOR="1",
        ).stdout
        == plain
    )


def test_neither_help_nor_a_reading_loads_rich(log: Path, tmp_path: Path) -> None:
    for words in (["--help"], ["context", str(log), "--advice"]):
        code = (
            f"import sys; from ullage.cli import main; main({words!r});"
            "print([name for name in sys.modules if 'rich' in name], file=sys.stderr)"
        )
        done = run_python("-c", code, env=home_of(tmp_path), timeout=60)
        assert done.stderr == "[]\n"


def test_a_file_name_in_an_error_steers_no_terminal(tmp_path: Path) -> None:
    log = tmp_path / "\x1b]0;owned\x07\x1b[2J.jsonl"
    log.write_bytes(b'{"type":"user"}\n')
    done = ullage("context", str(log), home=tmp_path)
    assert done.returncode == 2
    assert "owned" in done.stderr
    assert "\x1b" not in done.stderr
