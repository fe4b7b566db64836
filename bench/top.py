"""What `ullage top` costs on a terminal: the time to its first picture, its idle CPU, and its CPU beside growing logs.

    uv run python -m bench.top                       # 50 logs of 1 MB, then 200 of 100 MB
    uv run python -m bench.top --logs 50 --mb 10

The logs are invented ones of Claude Code, in a home of their own; those of one run are links to one file until they
grow. *First picture* is from the start of the process to the first table, *all read* to the first without unread
sessions. *Idle* is the share of a core while nothing is written, *growing* while five logs get a call each second.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Final

from bench.results import Table
from bench.statusline import lines_of_call, write_log
from ullage.tools.launcher import readable

PLANS: Final = ((50, 1.0), (200, 100.0))
SETTLE_S: Final = 6.0
MOST_SETTLING: Final = 30
MEASURE_S: Final = 20.0
GROWING: Final = 5
COLUMNS: Final = ("logs", "first picture", "all read", "idle", "growing", "memory")


class Terminal:
    """``ullage top`` on a pseudo-terminal."""

    def __init__(self, home: Path) -> None:
        self.begun = time.monotonic()
        command = [sys.executable, "-m", "ullage", "top"]
        environment = {"HOME": str(home), "TERM": "xterm", "PATH": os.environ["PATH"]}
        self.process, self.terminal = pty.fork()
        if not self.process:
            os.execve(command[0], command, environment)
        size = struct.pack("HHHH", 40, 120, 0, 0)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)
        self.shown = b""

    def read_for(self, seconds: float, stop: bytes = b"") -> bool:
        """Read what is drawn for a time, or until ``stop`` is in it; whether it is."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if readable([self.terminal], left):
                self.shown = (self.shown + os.read(self.terminal, 65_536))[-200_000:]
            if stop and stop in self.shown:
                return True
        return False

    def wait_until_all_is_read(self) -> None:
        """Until a picture has no unread session."""
        while True:
            picture = self.shown.rpartition(b"\x1b[H")[2]
            if b"active" in picture and b" read" not in picture.partition(b"\n")[0]:
                return
            self.read_for(0.05)

    def settle(self) -> None:
        """Until no log is read in the background any more."""
        for _ in range(MOST_SETTLING):
            before = self.cpu_s()
            self.read_for(SETTLE_S)
            if self.cpu_s() - before < 0.03 * SETTLE_S:
                return

    def cpu_s(self) -> float:
        """CPU of the process so far."""
        words = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Resident memory."""
        pages = int(Path(f"/proc/{self.process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def end(self) -> None:
        """Press q."""
        os.write(self.terminal, b"q")
        self.read_for(3, stop=b"\x1b[?1049l")
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


def prepared(home: Path, logs: int, size_mb: float) -> list[Path]:
    """A home with that many logs."""
    directory = home / ".claude" / "projects" / "kettle"
    directory.mkdir(parents=True)
    first = directory / "00000000-0000.jsonl"
    write_log(first, size_mb)
    paths = [first]
    for number in range(1, logs):
        path = directory / f"{number:08}-0000.jsonl"
        os.link(first, path)
        paths.append(path)
    for number in range(GROWING):
        own = paths[number].with_suffix(".own")
        shutil.copy(first, own)
        own.replace(paths[number])
    return paths


def share_of_core(terminal: Terminal, grow: list[Path]) -> float:
    """CPU over some seconds, while a call a second is written to each of these logs."""
    begun, before = time.monotonic(), terminal.cpu_s()
    number = 1_000_000
    while time.monotonic() - begun < MEASURE_S:
        for path in grow:
            with path.open("ab") as file:
                file.writelines(lines_of_call(number, 100_000))
        number += 1
        terminal.read_for(1.0)
    return (terminal.cpu_s() - before) / (time.monotonic() - begun)


def measured(logs: int, size_mb: float) -> tuple[str, ...]:
    """A row of the table."""
    with tempfile.TemporaryDirectory(prefix="top") as place:
        paths = prepared(Path(place), logs, size_mb)
        terminal = Terminal(Path(place))
        terminal.read_for(60, stop=b"active")
        first = time.monotonic() - terminal.begun
        terminal.wait_until_all_is_read()
        every = time.monotonic() - terminal.begun
        terminal.settle()
        idle = share_of_core(terminal, [])
        growing = share_of_core(terminal, paths[:GROWING])
        memory = terminal.memory_mb()
        terminal.end()
    return (
        f"{logs} of {size_mb:g} MB",
        f"{first:.1f} s",
        f"{every:.1f} s",
        f"{100 * idle:.1f} %",
        f"{100 * growing:.1f} %",
        f"{memory:.0f} MB",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What `ullage top` costs.")
    parser.add_argument("--logs", type=int, help="how many logs")
    parser.add_argument("--mb", type=float, default=1.0, help="the size of each")
    options = parser.parse_args()
    plans = [(options.logs, options.mb)] if options.logs else PLANS
    rows = [measured(logs, size_mb) for logs, size_mb in plans]
    print(Table("ullage top", COLUMNS, tuple(rows)).text())


if __name__ == "__main__":
    main()
