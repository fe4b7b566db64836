"""A terminal's alternate screen: drawn in place, with keys, and left as it was whatever ends the program."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any, Final

from ullage.cli.screen import Screen, size_of
from ullage.display.text import Line

ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""The alternate screen, no cursor, and no new line at the right edge
(https://invisible-island.net/xterm/ctlseqs/ctlseqs.html)."""

LEAVE: Final = "\x1b[?7h\x1b[?25h\x1b[?1049l"

KEYS: Final = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1bOA": "up",
    "\x1bOB": "down",
}
"""What terminals send for keys that are no letters, the two forms of the arrows among them."""

RESIZED: Final = "resized"
CLOSED: Final = "closed"

LOOK_S: Final = 0.2
"""Seconds between two looks at the terminal's size."""

NO_SIZE: Final = os.terminal_size((0, 0))
"""Differs from every size: what was drawn is no longer there."""

MOST_KEPT: Final = 1_000
"""Drawn lines that are kept; the next drawing has most of them again."""


class FullScreen:
    """Used with ``with``. Ends by ``SystemExit`` on SIGTERM and SIGHUP; Ctrl-Z gives the terminal back meanwhile."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._stdin = sys.stdin.fileno() if sys.stdin.isatty() else -1
        self._settings: Any = None
        self._handlers: dict[int, Any] = {}
        self._keys = selectors.DefaultSelector()
        self._known_size = self.size
        self._is_stopped = False
        """Whether the terminal is to be given back at the next look: a signal may come in the middle of a drawing."""
        self._rendered: dict[Line, str] = {}

    def __enter__(self) -> FullScreen:
        if self._stdin >= 0:
            self._keys.register(self._stdin, selectors.EVENT_READ)
        for number, handler in (
            (signal.SIGTERM, _end),
            (signal.SIGHUP, _end),
            (signal.SIGTSTP, self._stop),
        ):
            self._handlers[number] = signal.signal(number, handler)
        self._take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._keys.close()

    @property
    def size(self) -> os.terminal_size:
        """Columns and lines that there are now, whatever the variables ``COLUMNS`` and ``LINES`` say."""
        with contextlib.suppress(OSError, ValueError):
            size = os.get_terminal_size(self.screen.stream.fileno())
            if size.columns and size.lines:
                return size
        return size_of(self.screen.stream)

    def draw(self, lines: Sequence[Line]) -> None:
        """Replace what is shown."""
        out = ["\x1b[H"]
        if len(self._rendered) > MOST_KEPT:
            self._rendered.clear()
        for line in lines:
            if line not in self._rendered:
                self._rendered[line] = self.screen.rendered(line)
            out.append(self._rendered[line])
            out.append("\x1b[K\r\n")
        out[-1] = "\x1b[K\x1b[J"
        self._send("".join(out))

    def key(self, timeout_s: float) -> str:
        """The next key, ``RESIZED``, ``CLOSED`` where the terminal is gone, or nothing after that time."""
        until = time.monotonic() + timeout_s
        while True:
            if self._is_stopped:
                self._suspend()
            left = max(0.0, until - time.monotonic())
            if self._keys.select(min(left, LOOK_S)):
                return self._typed()
            if self.size != self._known_size:
                self._known_size = self.size
                return RESIZED
            if not left:
                return ""

    # -- inside --

    def _typed(self) -> str:
        try:
            data = os.read(self._stdin, 64)
        except OSError:
            return CLOSED
        if not data:
            return CLOSED
        text = data.decode("utf-8", "replace")
        return KEYS.get(text, text[:1])

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._is_stopped = True

    def _suspend(self) -> None:
        self._is_stopped = False
        self._give_back()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._stop)
        self._take()
        self._known_size = NO_SIZE

    def _take(self) -> None:
        import termios
        import tty

        if self._stdin >= 0:
            self._settings = termios.tcgetattr(self._stdin)
            tty.setcbreak(self._stdin)
        self._send(ENTER)

    def _give_back(self) -> None:
        import termios

        if self._settings is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._stdin, termios.TCSADRAIN, self._settings)
        with contextlib.suppress(OSError):
            self._send(LEAVE)

    def _send(self, text: str) -> None:
        self.screen.stream.write(text)
        self.screen.stream.flush()


def can_draw(screen: Screen) -> bool:
    """Whether the stream is a terminal on which the cursor can be moved, of a system with such terminals."""
    return screen.moves and os.name == "posix"


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
