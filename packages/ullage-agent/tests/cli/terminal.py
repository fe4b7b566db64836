"""A program on a pseudo-terminal, for tests of what is drawn in place."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
import time

from ullage.cli.full_screen import LEAVE
from ullage_agent.tools.launcher import readable

PATIENCE_S = 60.0


class Terminal:
    """A program on a pseudo-terminal of 80 by 24."""

    def __init__(self, *command: str, kind: str = "xterm") -> None:
        self.process, self.end = pty.fork()
        if not self.process:
            os.environ["TERM"] = kind
            os.environ["PYTHON_COLORS"] = "0"  # tracebacks, from Python 3.13
            os.execv(sys.executable, [sys.executable, *command])
        self.resize(80, 24)
        self.shown = ""

    def resize(self, columns: int, lines: int) -> None:
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, size)

    def wait_for(self, words: str) -> str:
        """What is drawn up to these words; they are then past."""
        until = time.monotonic() + PATIENCE_S
        while words not in self.shown:
            left = max(0.0, until - time.monotonic())
            assert readable([self.end], left), (
                f"{words!r} did not come after {self.shown[-2_000:]!r}"
            )
            try:
                self.shown += os.read(self.end, 65_536).decode("utf-8", "replace")
            except OSError as error:  # the program has ended
                raise AssertionError(
                    f"{words!r} did not come before the end, after {self.shown[-2_000:]!r}"
                ) from error
        before, found, self.shown = self.shown.partition(words)
        return before + found

    def type(self, keys: str) -> None:
        os.write(self.end, keys.encode())

    def is_cooked(self) -> bool:
        """Whether lines are edited and echoed by the terminal."""
        modes = termios.tcgetattr(self.end)[3]
        return bool(modes & termios.ICANON) and bool(modes & termios.ECHO)

    def ended(self) -> int:
        """The exit code of the program, which has left the screen as it was."""
        self.wait_for(LEAVE)
        _, status = os.waitpid(self.process, 0)
        return os.waitstatus_to_exitcode(status)
