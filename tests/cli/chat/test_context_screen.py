from __future__ import annotations

from pathlib import Path

from textual.app import App

from tests.cli.chat.simulator import talking
from ullage.cli.chat.context_screen import ContextScreen
from ullage.cli.chat.lister import Lister
from ullage.display.glyphs import UNICODE
from ullage.display.text import plain


async def test_levels_go_down_and_up_and_remember_where_they_were(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("first")
        await talk.session.ask("second")
        app: App[None] = App()
        async with app.run_test(size=(80, 24)) as pilot:
            screen = ContextScreen(talk.acting, UNICODE)
            await app.push_screen(screen)
            lister = screen.query_one(Lister)
            for _ in range(100):
                await pilot.pause(0.05)
                if lister.target:
                    break
            messages = lister.target
            await pilot.press("enter", "s", "down")
            second = lister.target
            assert second.startswith("message:")
            await pilot.press("enter")
            assert any(" tokens" in plain(choice.line) for choice in lister.choices)
            await pilot.press("escape")
            assert lister.target == second
            await pilot.press("escape")
            assert lister.target == messages
            await pilot.press("escape")
            await pilot.pause()
            assert app.screen is not screen
