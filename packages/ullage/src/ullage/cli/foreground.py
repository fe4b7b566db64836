"""Runs a program in the foreground of this terminal, as if it had been started without us."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Final

OF_THE_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)
"""The terminal sends these to the program too. They are its own business."""

PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP)

ENDED_BY_SIGNAL: Final = 128
"""A shell adds the number of the signal that ended a program."""

Handler = Callable[[int, FrameType | None], object] | int | None


def run_in_foreground(
    command: Sequence[str], environment: Mapping[str, str], *, kept_open: int
) -> int:
    """The program's exit code, as a shell gives it. ``kept_open`` is a descriptor that it inherits.

    The program is in our own process group, so the terminal's signals, Ctrl-Z and the window's size reach it directly.
    """
    before: dict[signal.Signals, Handler] = {}
    for each in OF_THE_TERMINAL:
        before[each] = signal.signal(each, _nothing)
    try:
        program = subprocess.Popen(command, env=environment, pass_fds=[kept_open])  # noqa: S603 - what the user named

        def pass_on(number: int, frame: FrameType | None) -> None:
            if program.returncode is None:
                _signal(program.pid, number)

        for each in PASSED_ON:
            before[each] = signal.signal(each, pass_on)
        return _waited(program)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _waited(program: subprocess.Popen[bytes]) -> int:
    """Wait for its end. Where it stops itself, we stop too, so that the shell takes the terminal back."""
    while True:
        _, status = os.waitpid(program.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            _signal(program.pid, signal.SIGCONT)
            continue
        code = os.waitstatus_to_exitcode(status)
        program.returncode = code
        return code if code >= 0 else ENDED_BY_SIGNAL - code


def _signal(pid: int, number: int) -> None:
    """Send a signal. Not with ``send_signal``: it waits for a program that has ended, whose exit code is lost then."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _nothing(number: int, frame: FrameType | None) -> None:
    """A handler and not ``SIG_IGN``, which the program would inherit."""
