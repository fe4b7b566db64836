"""Asks whether a client's calls may go to the address that a file of a directory sets. A yes is a permission."""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.cli.pages import (
    forget_typed_ahead,
    show_pages,
    typed,
    wrapped_spans,
)
from ullage.cli.screen import Screen
from ullage.directories import data_directory
from ullage.display.spelling import spelled
from ullage.display.text import Line, Span, wrapped
from ullage.errors import CommandRefused
from ullage.store.grants import ProjectGrants
from ullage.turns.grants import EXACTLY, Grant

CALLS_TO: Final = "calls to"
"""Stands for a tool in such a permission. No tool has this name, as none has a space."""


def agree_to_address(
    client: str, url: str, where: str, place: Path, environment: Mapping[str, str]
) -> None:
    """Ask whether a client's calls may go to the address that a file of ``place`` sets. A yes is kept.

    Raises ``CommandRefused`` for a no, and where nobody can be asked.
    """
    grants = ProjectGrants(data_directory(environment))
    wanted = (url, EXACTLY)
    kept = grants.of(place)
    if any((grant.tool, grant.prefix) == (CALLS_TO, wanted) for grant in kept):
        return
    said = f"{spelled(where)} sends {client}'s calls, with your key, to {spelled(url)}."
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandRefused(
            f"Nothing was done: {said} You were not asked about it, and there is no terminal to ask you. Run this "
            "once on a terminal."
        )
    screen = Screen(sys.stderr)
    if not asyncio.run(_says_yes(screen, [*broken(said, screen.width - 1, "warn"), ()])):
        raise CommandRefused(
            f"Nothing was done: {said} You refused that. Start again to be asked again."
        )
    name = f"a-{secrets.token_hex(4)}"
    grants.add(place, Grant(id=name, tool=CALLS_TO, prefix=wanted, at=time.time()))


async def _says_yes(screen: Screen, lines: list[Line]) -> bool:
    """Show all of it, page by page, and ask. What was typed before counts for nothing."""
    forget_typed_ahead()
    if not await show_pages(screen, lines):
        return False
    forget_typed_ahead()
    answer = await typed(screen, "Send them there from now on? [y/N]")
    return answer.strip().lower() in ("y", "yes")


def broken(text: str, width: int, style: str) -> list[Line]:
    """The text in lines of at most ``width`` cells, between words where that is possible. Nothing is left out."""
    return [
        part
        for line in wrapped(text, width)
        for part in wrapped_spans([Span(line, style)], width, "  ")
    ]
