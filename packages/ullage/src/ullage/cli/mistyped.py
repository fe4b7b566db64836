"""Errors of the command line in one sentence, with the name that was probably meant."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn, TextIO

from ullage.cli.exit_codes import FAILED


def complain(text: str) -> None:
    """Say on standard error what is wrong. Where nobody reads that, the exit code says it alone."""
    try:
        print(f"ullage: {text}", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let what is still to be printed go nowhere, or the interpreter would complain about it at its end."""
    with contextlib.suppress(OSError, ValueError):  # a stream of a test has no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors say what can't be used, what was probably meant, and where the choices are listed."""

    tells_more = ""
    """``module:name`` of a function that says more of an option which is unknown here, or says nothing."""

    def error(self, message: str) -> NoReturn:
        """Print the message and how to get help; ends the process with ``FAILED``."""
        text = plain_words(self.prog, message.removeprefix("argument "))
        text = text[:1].upper() + text[1:]
        end = "" if text.endswith((".", "?")) else "."
        complain(f"{text}{end} `{self.prog} --help` says more.")
        self.exit(FAILED)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Called by argparse for a value with ``choices``."""
        if action.choices is None or value in action.choices:
            return
        self.error(unknown_choice(self.prog, action, str(value)))

    def refuse_unknown(self, given: Sequence[str], unknown: Sequence[str]) -> NoReturn:
        """Say that the command of this command line has no place for some of its words; ends the process."""
        chosen = self.for_command(given)
        said = unknown_words(chosen.prog, chosen.option_names(), unknown)
        if chosen.tells_more and not said.endswith("?"):
            module, _, name = chosen.tells_more.partition(":")
            said += getattr(import_module(module), name)(unknown[0].partition("=")[0])
        chosen.error(said)

    def for_command(self, given: Sequence[str]) -> CommandParser:
        """The parser of the command that a command line names, which is this one where it names none."""
        chosen = self
        for word in given:
            chosen = chosen.commands().get(word, chosen)
        return chosen

    def commands(self) -> Mapping[str, CommandParser]:
        """The parser of each command; none where this one has no commands."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return action.choices
        return {}

    def option_names(self) -> list[str]:
        """The options of this parser, as they are typed."""
        return list(self._option_string_actions)


def plain_words(program: str, message: str) -> str:
    """An error of argparse's own as a sentence that says what to do."""
    subject, _, missing = message.partition("arguments are required: ")
    if missing:
        has_model = "--model" in missing.split(", ")
        example = ", as in --model anthropic:claude-haiku-4-5" if has_model else ""
        return f"`{program}` is incomplete: it needs {missing.replace(', ', ' and ')}{example}"
    subject, _, value = message.partition(": ignored explicit argument ")
    return f"{subject} takes no value, and was given {value}" if value else message


def unknown_choice(program: str, action: argparse.Action, value: str) -> str:
    """What is said of a value that is none of an option's, or of a word that is no command."""
    from ullage.similar import similar

    known = [str(each) for each in action.choices or ()]
    meant = similar(value, known)
    if isinstance(action, argparse._SubParsersAction):
        hint = f" Did you mean `{program} {meant}`?" if meant else ""
        return f"There is no command {value!r}.{hint or _listed(known)}"
    name = " or ".join(action.option_strings) or str(action.metavar or action.dest)
    hint = f" Did you mean {meant!r}?" if meant else ""
    return f"{value!r} is no choice of {name}.{hint}{_listed(known)}"


def unknown_words(program: str, options: Iterable[str], unknown: Sequence[str]) -> str:
    """What is said of words that a command has no place for."""
    from ullage.similar import similar

    first, known = unknown[0], list(options)
    name = first.partition("=")[0]
    if not name.startswith("-"):
        words = " ".join(unknown)
        return f"`{program}` has no place for {words!r}. A text of several words stands in quotes."
    if name in known:
        return f"{name} stands behind the command, as in `{program} {name}`."
    meant = similar(name, known)
    hint = f" Did you mean {meant}?" if meant else ""
    return f"`{program}` has no option {name}.{hint}"


def _listed(known: Sequence[str]) -> str:
    return f" There are {', '.join(known)}."
