"""The command ``ullage``: reads what it is asked for, prints it, and says in its exit code whether anything was usable.

0: something was usable. 2: nothing was, and standard error says why. 130: interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from ullage.cli.parser import parser
from ullage.display.text import safe
from ullage.errors import UllageError
from ullage.installation import extra_command

INTERRUPTED = 130
"""What a shell expects of a program that Ctrl-C ended: 128 + SIGINT."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code. Never raises for what a user, a file or a terminal can do."""
    if sys.stdout is None:  # started with its standard output closed
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    try:
        return _run(arguments)
    except BrokenPipeError:
        _discard_output()  # the reader has what it wanted
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except (MemoryError, RecursionError) as problem:
        what = (
            "needs more memory than there is"
            if isinstance(problem, MemoryError)
            else "is nested too deep"
        )
        print(
            f"ullage: What was read {what}. Nothing was changed; give a smaller file.",
            file=sys.stderr,
        )
        return 2
    except UllageError as problem:
        print(f"ullage: {safe(str(problem))}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "ullage_simulators":
            raise
        print(
            f"ullage: This needs the simulators. Install them: {extra_command('simulators')}",
            file=sys.stderr,
        )
        return 2
    except OSError as problem:
        print(
            f"ullage: The output can't be written: {problem.strerror or problem}.",
            file=sys.stderr,
        )
        _discard_output()
        return 2


def _discard_output() -> None:
    """Let what is still to be printed go nowhere, or the interpreter would complain about it at its end."""
    with contextlib.suppress(OSError, ValueError):  # a stream of a test has no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    command = parser()
    try:
        if given[:1] == ["simulate"]:
            return _simulate(given[1:])
        options = command.parse_args(given)
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


def _simulate(arguments: list[str]) -> int:
    """``ullage simulate`` is the command of the simulators' own package, with its options."""
    from ullage_simulators.command import main as simulate

    return simulate(arguments, program="ullage simulate")


def _perform(options: argparse.Namespace) -> int:
    """One command; each brings its own imports, so that no command pays for another's."""
    # What the meter logs is for the programs it runs in; here the reading itself says it.
    logging.getLogger("ullage").addHandler(logging.NullHandler())
    module, _, name = options.function.partition(":")
    perform: Callable[[argparse.Namespace], int] = getattr(
        import_module(f"ullage.cli.{module}"), name
    )
    return perform(options)
