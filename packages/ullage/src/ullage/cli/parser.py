"""The parser of ``ullage``: the commands of this distribution, and those of the others that are installed.

Nothing heavy is imported here, and options are declared for the given command alone, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from ullage.cli.commands import COMMANDS
from ullage.cli.mistyped import CommandParser
from ullage.cli.options import Subcommand
from ullage.errors import InputError, MissingExtra
from ullage.installation import extra_command, extra_of

OTHERS: Final = ("ullage_agent", "ullage_cluster", "ullage_proxy", "ullage_server")
"""The packages beside this one that have a ``cli.commands``."""

GROUPS: Final[Mapping[str, str]] = {
    "see": "see what fills a window",
    "other": "in other programs",
    "agent": "agents",
    "serve": "services",
}
"""What a command's ``group`` is called on the first screen. Two groups more are not on it: ``admin``, which stands
behind ``ullage admin``, and ``hidden``, which other programs start."""


class _ShowVersion(argparse.Action):
    """Prints the version, which is looked up only when it is asked for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        from importlib.metadata import version

        print(f"ullage {version('ullage')}")
        parser.exit()


class FirstScreen(CommandParser):
    """The parser of ``ullage`` itself, whose help has the commands in groups."""

    shown: Sequence[Subcommand] = ()

    def format_help(self) -> str:
        """The commands by who needs them."""
        width = max((len(each.name) for each in self.shown), default=0) + 2
        lines = ["usage: ullage COMMAND ...", "", f"{self.description}"]
        for group, title in GROUPS.items():
            of_group = [each for each in self.shown if each.group == group]
            if of_group:
                lines += ["", f"{title}:"]
                lines += [f"  {each.name:<{width}}{each.about}" for each in of_group]
        lines += ["", f"{self.epilog}", ""]
        return "\n".join(lines)


def installed() -> Iterator[Subcommand]:
    """The commands that distributions beside this one add."""
    for package in OTHERS:
        try:
            module = import_module(f"{package}.cli.commands")
        except ModuleNotFoundError as problem:
            if problem.name != package:
                raise
        else:
            yield from module.COMMANDS


def parser(given: Sequence[str] | None = None) -> CommandParser:
    """The parser for these words: with the commands of other distributions where none of this one's is meant.

    Without words it knows all commands and all their options. In its result ``command`` is the command's name or
    ``None``, ``function`` what performs it.
    """
    root = FirstScreen(
        prog="ullage",
        description="How much room is left in a model's context window, and what fills the rest.",
        epilog="`ullage COMMAND --help` says more about a command.",
        allow_abbrev=False,
    )
    root.add_argument(
        "--version", action=_ShowVersion, nargs=0, help="show the version and end"
    )
    is_own = given and given[0] in {each.name for each in COMMANDS}
    found = [*COMMANDS, *(() if is_own else installed())]
    shown = [each for each in found if each.group in GROUPS]
    operators = [each for each in found if each.group == "admin"]
    if operators:
        shown.append(_admin(operators))
    root.shown = shown
    parsers: argparse._SubParsersAction[Any] = root.add_subparsers(
        dest="command",
        metavar="COMMAND",
        title="commands",
        prog=root.prog,
        parser_class=CommandParser,
    )
    known = [*shown, *(each for each in found if each.group == "hidden")]
    for command in known if given is None else _meant(known, given):
        command.add_to(parsers, given)
    return root


def _meant(known: Sequence[Subcommand], given: Sequence[str]) -> Sequence[Subcommand]:
    """The commands among these words; all where they name another one, none where they have options alone."""
    words = [word for word in given if not word.startswith("-")]
    named = [each for each in known if each.name in words]
    return named or (known if words else ())


def check_installed(given: Sequence[str], root: CommandParser) -> None:
    """Raises ``MissingExtra`` for another distribution's command, ``InputError`` for an operator's by itself."""
    name = given[0] if given else ""
    admin = root.commands().get("admin")
    if admin is not None and name in admin.commands():
        raise InputError(
            f"There is no command {name!r}. Did you mean `ullage admin {name}`?"
        )
    extra = extra_of(name)
    if extra and name not in root.commands():
        raise MissingExtra(
            f"`ullage {name}` needs more than is installed. Install it: {extra_command(extra)}"
        )


def _admin(commands: Sequence[Subcommand]) -> Subcommand:
    about = f"for operators: {', '.join(each.name for each in commands)}"
    return Subcommand("admin", about, "", "serve", actions=commands)
