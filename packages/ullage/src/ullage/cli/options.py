"""How a command and its options are declared. A declaration is added to a parser of argparse with ``add_to``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ullage.cli.mistyped import CommandParser


class Option:
    """An option or an operand: what ``add_argument`` takes."""

    def __init__(self, *names: str, **settings: Any) -> None:
        self.names = names
        self.settings = settings

    def add_to(self, parent: argparse._ActionsContainer) -> None:
        """Let the command take it."""
        parent.add_argument(*self.names, **self.settings)


def flag(name: str, about: str, **settings: Any) -> Option:
    """An option without a value."""
    return Option(name, action="store_true", help=about, **settings)


def text(usage: str, about: str, default: object = "", **settings: Any) -> Option:
    """An option whose value is taken as it is written. ``usage`` is as in ``--model NAME``."""
    *names, metavar = usage.split()
    return Option(*names, default=default, metavar=metavar, help=about, **settings)


def value(
    usage: str,
    kind: Callable[[str], object],
    about: str,
    default: object = None,
    **settings: Any,
) -> Option:
    """An option whose text ``kind`` turns into a value."""
    return text(usage, about, default, type=kind, **settings)


def choice(
    name: str, choices: Sequence[str], about: str, default: str | None = ""
) -> Option:
    """An option whose value is one of these."""
    return Option(name, choices=choices, default=default, help=about)


def operand(usage: str, about: str, **settings: Any) -> Option:
    """A word behind the command. ``usage`` is its name among the options and its name in the help."""
    name, metavar = usage.split()
    return Option(name, metavar=metavar, help=about, **settings)


class Alternatives:
    """Options of which one can be given at the most; with ``required`` one must be given."""

    def __init__(self, *options: Option, required: bool = False) -> None:
        self.options = options
        self.required = required

    def add_to(self, parent: argparse._ActionsContainer) -> None:
        """Let the command take one of them."""
        group = parent.add_mutually_exclusive_group(required=self.required)
        for option in self.options:
            option.add_to(group)


class OptionGroup:
    """Options that stand under a title in the help."""

    def __init__(self, title: str, *options: Option | Alternatives) -> None:
        self.title = title
        self.options = options

    def add_to(self, parent: argparse._ActionsContainer) -> None:
        """Let the command take them."""
        group = parent.add_argument_group(self.title)
        for option in self.options:
            option.add_to(group)


class Action:
    """A word that says what a command does, with its options."""

    def __init__(
        self, name: str, about: str, *options: Option | Alternatives | OptionGroup
    ) -> None:
        self.name = name
        self.about = about
        self.options = options

    def add_to(
        self,
        parsers: argparse._SubParsersAction[Any],
        given: Collection[str] | None = None,
        **texts: Any,
    ) -> argparse.ArgumentParser:
        """Let the command take it, and its options if it is among the ``given`` words; without them, in any case.

        ``texts`` are further arguments of ``ArgumentParser``.
        """
        added: argparse.ArgumentParser = parsers.add_parser(
            self.name, help=self.about, allow_abbrev=False, **texts
        )
        if given is None or self.name in given:
            for option in self.options:
                option.add_to(added)
        return added


class Subcommand(Action):
    """A command of ``ullage``, with ``actions`` one of which must be given.

    ``function`` takes the options and gives the exit code: ``module:name``. It is a name, not the function, so that no
    command pays for the imports of another. ``group`` is one of ``GROUPS`` of ``parser.py``, ``admin`` or ``hidden``.
    ``tells_more`` is as in ``CommandParser``.
    """

    def __init__(
        self,
        name: str,
        about: str,
        function: str,
        group: str,
        *options: Option | Alternatives | OptionGroup,
        actions: Sequence[Action] = (),
        tells_more: str = "",
        **texts: Any,
    ) -> None:
        super().__init__(name, about, *options)
        self.function = function
        self.group = group
        self.tells_more = tells_more
        self.actions = actions
        self.texts = texts

    def add_to(
        self,
        parsers: argparse._SubParsersAction[Any],
        given: Collection[str] | None = None,
        **texts: Any,
    ) -> argparse.ArgumentParser:
        """Let ``ullage``, or a command of it, take this one."""
        sentence = self.about[0].upper() + self.about[1:] + "."
        command = super().add_to(
            parsers, given, description=sentence, **self.texts, **texts
        )
        if self.function:
            command.set_defaults(function=self.function)
        if isinstance(command, CommandParser):
            command.tells_more = self.tells_more
        if self.actions:
            actions = command.add_subparsers(
                dest="action" if self.function else "of_admin",
                metavar="ACTION",
                title="actions",
                required=True,
                prog=command.prog,
            )
            for action in self.actions:
                action.add_to(actions, given)
        return command
