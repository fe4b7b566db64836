"""Textual's driver for a terminal that may disappear, as when its window is closed or a connection breaks.

Textual writes from a thread of its own, which ends at the first failure; whoever writes the next 30 texts, or waits for
the thread, then waits for ever (textual 8.0, ``drivers/_writer_thread.py``). The signal that says so (SIGHUP) comes
to an event loop that is not running any more.
"""

from __future__ import annotations

from contextlib import suppress
from typing import IO, Any

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Goes on when nobody can see what it draws."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._file: Any = LossyOutput(self._file)


class LossyOutput:
    """A terminal's output: what can't be written any more is dropped."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()
