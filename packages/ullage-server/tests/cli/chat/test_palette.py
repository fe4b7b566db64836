from __future__ import annotations

from pathlib import Path

from textual.command import CommandPalette

from tests.cli.chat.test_app import Shown, showing
from ullage_agent.chat.commands import COMMANDS
from ullage_agent.chat.lister import Lister, Overlay
from ullage_agent.chat.palette import palette_commands
from ullage_agent.chat.themes import THEMES


async def choose(screen: Shown, *keys: str) -> None:
    """Open the palette, type, and take the first that fits."""
    await screen.pilot.press("ctrl+p")
    await screen.until(lambda: isinstance(screen.app.screen, CommandPalette))
    await screen.pilot.press(*keys)
    await screen.pilot.pause(1)
    await screen.pilot.press("enter")
    await screen.until(lambda: not isinstance(screen.app.screen, CommandPalette))


async def test_the_palette_has_every_command_and_theme(tmp_path: Path) -> None:
    async with showing(tmp_path) as screen:
        titles = {one.title for one in palette_commands(screen.app)}
    assert titles >= {f"/{command.name}" for command in COMMANDS}
    assert titles >= {f"Theme: {name}" for name in THEMES}


async def test_a_theme_is_chosen_by_a_word_of_its_name(tmp_path: Path) -> None:
    async with showing(tmp_path) as screen:
        await choose(screen, *"nord")
        await screen.until(lambda: screen.app.theme == "nord")


async def test_a_command_that_needs_more_is_begun(tmp_path: Path) -> None:
    async with showing(tmp_path) as screen:
        await choose(screen, *"/export")
        await screen.until(lambda: screen.app.prompt.text == "/export ")


async def test_a_command_with_a_list_shows_it(tmp_path: Path) -> None:
    async with showing(tmp_path) as screen:
        await choose(screen, *"/theme")
        await screen.until(lambda: isinstance(screen.app.screen, Overlay))
        listed = screen.app.screen.query_one(Lister)
        assert listed.target == THEMES[0]
