"""A program in the foreground, each time run by a process of its own: signals and exit codes belong to processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

RUN = """
import os, sys
from ullage.cli.foreground import run_in_foreground
reading, kept_open = os.pipe()
sys.exit(run_in_foreground([sys.executable, "-c", sys.argv[1]], os.environ, kept_open=kept_open))
"""

WAITS = "import sys, time; print('ready', flush=True); time.sleep(60)"
TELLS = """
import signal, sys
def told(number, frame):
    sys.exit(3)
signal.signal(signal.{name}, told)
print("ready", flush=True)
signal.pause()
"""


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the program in its foreground, once that program is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, program],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("code", [0, 1, 77])
def test_the_exit_code_is_the_programs(code: int) -> None:
    program = f"import sys; sys.exit({code})"
    ended = subprocess.run([sys.executable, "-c", RUN, program], check=False)
    assert ended.returncode == code


def test_a_program_that_a_signal_ended_gives_the_code_of_a_shell() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    ended = subprocess.run([sys.executable, "-c", RUN, program], check=False)
    assert ended.returncode == 128 + signal.SIGKILL


def test_ctrl_c_is_the_programs_business() -> None:
    with running(TELLS.format(name="SIGINT")) as process:
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait() == 3


def test_a_program_that_ctrl_c_ends_gives_the_code_of_a_shell() -> None:
    with running("import signal; signal.signal(2, signal.SIG_DFL);" + WAITS) as process:
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait() == 128 + signal.SIGINT


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_request_to_end_is_passed_on(name: str) -> None:
    with running(TELLS.format(name=name)) as process:
        process.send_signal(getattr(signal, name))
        assert process.wait() == 3


def test_a_program_that_stops_itself_stops_us_until_it_continues() -> None:
    stops = "import os, signal; print('ready', flush=True); os.kill(os.getpid(), signal.SIGSTOP)"
    with running(stops) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        process.send_signal(signal.SIGCONT)
        assert process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGCONT, signal.SIGTERM])
def test_a_program_that_ended_meanwhile_gives_its_code(number: signal.Signals) -> None:
    program = (
        "import os, sys; print(os.getpid(), flush=True); sys.stdin.read(); sys.exit(5)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    pid = int(process.stdout.readline())
    if number == signal.SIGCONT:
        os.kill(pid, signal.SIGSTOP)
    else:
        process.send_signal(signal.SIGSTOP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    os.kill(pid, signal.SIGCONT)
    process.stdin.close()
    while "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
        time.sleep(0.01)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    assert process.wait() == 5
    process.stdout.close()


def test_the_program_holds_the_pipe_open_when_we_are_killed() -> None:
    reading, writing = os.pipe()
    outer = RUN.replace("reading, kept_open = os.pipe()", f"kept_open = {writing}")
    process = subprocess.Popen(
        [sys.executable, "-c", outer, "print('ready', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[writing],
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    os.close(writing)
    try:
        assert process.stdout.readline() == "ready\n"
        process.kill()
        process.wait()
        os.set_blocking(reading, False)
        with pytest.raises(BlockingIOError):
            os.read(reading, 1)
        process.stdin.close()
        os.set_blocking(reading, True)
        assert os.read(reading, 1) == b""
    finally:
        process.kill()
        process.stdout.close()
        os.close(reading)
