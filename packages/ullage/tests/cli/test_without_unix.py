"""``context``, ``Meter`` and the status line need nothing that only Unix has. Windows itself was not at hand."""

import json
from pathlib import Path

import pytest

from tests.processes import run_python

ROOT = Path(__file__).parents[4]
LOG = ROOT / "examples" / "session.jsonl"
BLOCK = """
import os, signal, sys
for name in "fcntl termios pwd grp resource tty pty readline syslog".split():
    sys.modules[name] = None
for module in os, signal:
    only_unix = (
        "getuid geteuid getgid getegid getgroups getpgid getpgrp setpgid setsid fork forkpty killpg chown fchown "
        "fchmod lchown mkfifo openpty uname getloadavg register_at_fork sysconf pread pwrite posix_spawn statvfs "
        "tcgetpgrp sched_getaffinity set_blocking WUNTRACED O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_CLOEXEC O_NOCTTY "
        "SIGHUP SIGQUIT SIGTSTP SIGCONT SIGSTOP SIGKILL SIGWINCH SIGUSR1 SIGUSR2 SIGALRM SIGPIPE SIGCHLD"
    )
    for name in only_unix.split():
        if hasattr(module, name):
            delattr(module, name)
"""
CONTEXT = "import ullage.cli; sys.exit(ullage.cli.main(['context', *sys.argv[1:]]))"
METER = """
from ullage import Meter
print(Meter("anthropic:claude-haiku-4-5", window=1_000).reading())
"""
LINE = """
import runpy
sys.argv = ["start.py", "claude_code.status"]
runpy.run_path(os.environ["START"], run_name="__main__")
"""


def shown(
    program: str, *arguments: str, home: Path, given: str = "", encoding: str = "utf-8"
) -> str:
    start = ROOT / "packages/ullage/src/ullage_programs/start.py"
    environment = {
        "HOME": str(home),
        "PYTHONIOENCODING": encoding,
        "START": str(start),
        "NO_COLOR": "1",
    }
    done = run_python(
        "-c", BLOCK + program, *arguments, env=environment, input=given, encoding=encoding
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize("option", ["--advice", "--rows"])
def test_context(option: str, encoding: str, tmp_path: Path) -> None:
    printed = shown(CONTEXT, str(LOG), option, home=tmp_path, encoding=encoding)
    assert "Claude Code compacts at 167,000" in printed


def test_meter(tmp_path: Path) -> None:
    assert "of 1,000 tokens" in shown(METER, home=tmp_path)


def test_the_status_line(tmp_path: Path) -> None:
    status = {
        "transcript_path": str(LOG),
        "model": {"id": "claude-opus-4-6"},
        "context_window": {"context_window_size": 200_000},
    }
    assert "156k/200k" in shown(LINE, home=tmp_path, given=json.dumps(status))
