"""The command palette: every slash command, key and theme by a word of its name or of what it does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Protocol

from textual.app import SystemCommand

from ullage.display.text import Span
from ullage_agent.chat.choices import Choice
from ullage_agent.chat.commands import COMMANDS, Command, Typed
from ullage_agent.chat.prompt import Prompt
from ullage_agent.chat.themes import THEMES

LISTED = frozenset({"resume", "rewind", "pin", "explain", "theme"})
"""Commands that show a list where they are given nothing."""


class Commanded(Protocol):
    """What carries out the commands of the palette."""

    @property
    def prompt(self) -> Prompt: ...

    def action_fold(self, what: str) -> object: ...

    async def run_command(self, typed: Typed) -> None: ...


def palette_commands(app: Commanded) -> Iterator[SystemCommand]:
    """What the palette offers."""
    for command in COMMANDS:
        about = command.about[:1].upper() + command.about[1:]
        yield SystemCommand(f"/{command.name}", about, partial(_run, app, command))
    yield SystemCommand(
        "Unfold or fold results", "Ctrl+O", partial(app.action_fold, "results")
    )
    yield SystemCommand(
        "Unfold or fold reasoning", "Ctrl+R", partial(app.action_fold, "reasoning")
    )
    for name in THEMES:
        typed = Typed("theme", name)
        yield SystemCommand(
            f"Theme: {name}", "Other colours", partial(app.run_command, typed)
        )


def theme_choices() -> list[Choice]:
    """The themes, the terminal's own colours first."""
    return [Choice((Span(name),), name) for name in THEMES]


async def _run(app: Commanded, command: Command) -> None:
    """Carry out a command, or begin to write it where it needs something more."""
    needs_more = command.takes and not command.takes.startswith("[")
    if needs_more and command.name not in LISTED:
        app.prompt.put(f"/{command.name} ")
        return
    await app.run_command(Typed(command.name, ""))
