"""The command ``ullage``: reads what it is asked for, prints it, and says in its exit code whether all of it was done.

``exit_codes.py`` has the codes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Final

from ullage.cli.exit_codes import DONE, FAILED, INTERRUPTED
from ullage.cli.mistyped import CommandParser, complain, discard
from ullage.cli.parser import check_installed, parser
from ullage.errors import UllageError
from ullage.installation import explained, part


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code. Never raises for what a user, a file or a terminal can do."""
    if sys.stdout is None:  # started with its standard output closed
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    try:
        return _run(arguments)
    except BrokenPipeError:
        discard(sys.stdout)  # the reader has what it wanted
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (MemoryError, RecursionError) as problem:
        what = (
            "needs more memory than there is"
            if isinstance(problem, MemoryError)
            else "is nested too deep"
        )
        complain(f"What was read {what}. Nothing was changed; give a smaller file.")
        return FAILED
    except RuntimeError:
        if os.path.expanduser("~") != "~":
            raise
        complain(
            "This user has no home directory: HOME is not set, and the system names none. Set HOME."
        )
        return FAILED
    except UllageError as problem:
        from ullage.display.text import safe

        complain(safe(str(problem)))
        return FAILED
    except ModuleNotFoundError as problem:
        said = explained(problem)
        if said is problem:
            raise
        complain(str(said))
        return FAILED
    except OSError as problem:
        complain(f"The output can't be written: {problem.strerror or problem}.")
        discard(sys.stdout)
        return FAILED


def _run(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    if given[:1] == ["simulate"]:
        # the command of the simulators' own package, with its options
        simulate: Callable[..., int] = part("ullage_simulators.command").main
        return simulate(given[1:], program="ullage simulate")
    command = parser(given)
    check_installed(given, command)
    try:
        options = _options(command, given)
    except SystemExit as end:  # argparse has printed its help, or what is wrong
        sys.stdout.flush()
        return end.code if isinstance(end.code, int) else FAILED
    if options.command is None:
        command.print_help()
        code = DONE
    else:
        code = _perform(options)
    sys.stdout.flush()
    return code


OF_THE_PROXY: Final = ("--upstream", "--host", "--port", "--token-file")
"""Options of ``ullage proxy`` that ``ullage wrap`` works out itself."""


def _options(command: CommandParser, given: list[str]) -> argparse.Namespace:
    """The options. What follows ``--`` after ``wrap`` is another program's own."""
    if given[:1] != ["wrap"]:
        options, unknown = command.parse_known_args(given)
        if unknown:
            command.refuse_unknown(given, unknown)
        return options
    at = given.index("--") if "--" in given else len(given)
    of_the_program = argparse.Namespace(arguments=given[at + 1 :])
    options, unknown = command.parse_known_args(given[:at], of_the_program)
    if unknown:
        wrap = command.for_command(given[:1])
        words = " ".join(unknown)
        name = unknown[0].partition("=")[0]
        if name in OF_THE_PROXY:
            wrap.error(
                f"`ullage wrap` has no {name}: it sends the calls on to where the client is set to send them. "
                f"Set that in the client, or run `ullage proxy {name} …` and point the client there."
            )
        wrap.error(
            f"`ullage wrap` has no {words}. Arguments of the client stand behind --, as in: "
            f"ullage wrap {options.client} -- {words}"
        )
    return options


def _perform(options: argparse.Namespace) -> int:
    """One command; each brings its own imports, so that no command pays for another's."""
    module, _, name = options.function.partition(":")
    perform: Callable[[argparse.Namespace], int] = getattr(import_module(module), name)
    return perform(options)
