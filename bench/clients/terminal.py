"""A client at a terminal, as a person runs it: keys go in, and the terminal answers what the program asks it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROWS, COLUMNS = 50, 160

QUIET_S, LONG_S = 3.0, 15.0
"""Seconds in which nothing is asked of a model and nothing drawn before the next keys; or nothing is asked alone, as
some programs draw for ever."""

STARTS_IN_S = 90.0
"""A program that always draws something is taken to be ready after this."""

FIRST_SCREEN = 100
"""Characters of the first screen, at least, without spaces: some programs ask the terminal long before they draw."""

REPLIES: Final[Mapping[bytes, bytes]] = {
    rb"\x1b\[6n": b"\x1b[1;1R",
    rb"\x1b\[0?c": b"\x1b[?62;22c",
    rb"\x1b\]10;\?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    rb"\x1b\]11;\?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
"""Where the cursor is, what the terminal is, and its colours (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html)."""

_IN_TERMINAL: Final = 'exec "$@" <>"$0" >&0 2>&1'
"""The first terminal that a new session opens is the one that Ctrl-C and ``/dev/tty`` mean."""

_DRAWING: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)")


@dataclass(slots=True)
class Terminal:
    """A program in a terminal of its own. ``shown`` is all that it has drawn."""

    process: subprocess.Popen[bytes]
    screen: int
    shown: bytearray = field(default_factory=bytearray)
    drawn_at: float = 0.0

    @property
    def text(self) -> str:
        """What was drawn, without colours and movements."""
        return _DRAWING.sub("", self.shown.decode(errors="replace"))

    def write(self, keys: str) -> None:
        """A line as it is typed: many programs take what comes at once with its Enter for a pasted text."""
        os.write(self.screen, keys.encode())
        time.sleep(QUIET_S / 3)
        os.write(self.screen, b"\r")

    def wait(self, is_done: Callable[[], bool], limit_s: float) -> bool:
        """Whether it is done before the program ends or the time is over."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end and self.process.poll() is None:
            if is_done():
                return True
            time.sleep(0.1)
        return is_done()

    def is_quiet(self) -> bool:
        """Whether nothing has been drawn for a while."""
        return self.drawn_at < time.monotonic() - QUIET_S

    def is_ready(self) -> bool:
        """Whether its first screen is drawn, and nothing more for a while."""
        return self.is_quiet() and len("".join(self.text.split())) >= FIRST_SCREEN

    def watch(self) -> None:
        """Read what is drawn until the program ends."""
        while True:
            try:
                drawn = os.read(self.screen, 1 << 16)
            except OSError:
                return
            self.shown += drawn
            self.drawn_at = time.monotonic()
            for question, reply in REPLIES.items():
                if re.search(question, drawn):
                    os.write(self.screen, reply)


@contextmanager
def started(
    command: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> Iterator[Terminal]:
    """The program in a terminal, for the time of the ``with`` block. Who uses it ends the program's group."""
    screen, program_end = pty.openpty()
    size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
    fcntl.ioctl(program_end, termios.TIOCSWINSZ, size)
    process = subprocess.Popen(
        ["/bin/sh", "-c", _IN_TERMINAL, os.ttyname(program_end), *command],
        cwd=directory,
        env={**environment, "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    terminal = Terminal(process, screen)
    watching = threading.Thread(target=terminal.watch, daemon=True)
    watching.start()
    try:
        terminal.wait(terminal.is_ready, STARTS_IN_S)
        yield terminal
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
        os.close(program_end)
        watching.join(QUIET_S)
        os.close(screen)
