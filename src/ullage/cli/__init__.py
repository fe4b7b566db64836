"""The command ``ullage``: reads what it is asked for, prints it, and says in its exit code whether anything was usable.

0: something was usable. 2: nothing was, and standard error says why. 130: interrupted.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ullage.cli.parser import parser
from ullage.errors import UllageError

INTERRUPTED = 130
"""What a shell expects of a program that Ctrl-C ended: 128 + SIGINT."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code. Never raises for what a user, a file or a terminal can do."""
    try:
        return _run(arguments)
    except BrokenPipeError:
        # The reader has what it wanted. Without this the interpreter would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except UllageError as problem:
        print(f"ullage: {problem}", file=sys.stderr)
        return 2


def _run(arguments: Sequence[str] | None) -> int:
    command = parser()
    try:
        options = command.parse_args(arguments)
    except SystemExit as end:  # argparse has printed its help, or what is wrong
        sys.stdout.flush()
        return end.code if isinstance(end.code, int) else 2
    if options.command is None:
        command.print_help()
        code = 0
    else:
        code = _perform(options)
    sys.stdout.flush()
    return code


def _perform(options: argparse.Namespace) -> int:
    """One command; each brings its own imports, so that no command pays for another's."""
    # What the meter logs is for the programs it runs in; here the reading itself says it.
    logging.getLogger("ullage").addHandler(logging.NullHandler())
    match options.command:
        case "context":
            from ullage.cli.context import context

            return context(options)
        case "sessions":
            from ullage.cli.sessions import sessions

            return sessions(options)
        case "calibration":
            from ullage.cli.calibration import calibration

            return calibration(options)
        case _:
            from ullage.cli.evaluate import run

            return run(Path(options.file), Path(options.predictions), options.estimator)
