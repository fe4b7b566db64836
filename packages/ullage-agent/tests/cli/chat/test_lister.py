from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.widgets import OptionList

from tests.cli.chat.simulator import talking
from ullage.display.glyphs import UNICODE
from ullage.display.text import Span, plain
from ullage_agent.chat.choices import Choice
from ullage_agent.chat.lister import ContextScreen, Lister, Overlay

HEAD = Choice((Span("a heading"),))
CHOICES = (
    HEAD,
    *(Choice((Span(f"[bold]line {number}"),), f"t{number}") for number in range(50)),
)


class FakeScreen(App[None]):
    CSS: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: list[str | None] = []

    def compose(self) -> ComposeResult:
        yield Lister(CHOICES)

    def on_mount(self) -> None:
        self.query_one(Lister).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.chosen.append(self.query_one(Lister).target)


async def test_the_cursor_moves_over_what_can_be_chosen_and_stays_in_sight() -> None:
    app = FakeScreen()
    async with app.run_test(size=(40, 10)) as pilot:
        lister = app.query_one(Lister)
        assert lister.target == "t0"
        await pilot.press("j", "down", "enter")
        assert lister.target == "t2"
        await pilot.press("end")
        assert lister.target == "t49"
        await pilot.pause()
        shown = [lister.render_line(y).text.rstrip() for y in range(lister.size.height)]
        assert "[bold]line 49" in shown
        await pilot.press("home", "pagedown", "enter")
        await pilot.pause()
    assert app.chosen == ["t2", "t10"]


async def test_lines_without_a_target_only_scroll() -> None:
    app = FakeScreen()
    async with app.run_test(size=(40, 10)) as pilot:
        lister = app.query_one(Lister)
        lister.show([HEAD] * 40)
        await pilot.pause()
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert lister.scroll_offset.y == 2
    assert app.chosen == []


async def test_an_overlay_gives_what_was_chosen_or_nothing() -> None:
    app = FakeScreen()
    async with app.run_test(size=(40, 20)) as pilot:
        app.push_screen(Overlay("Which?", CHOICES), app.chosen.append)
        await pilot.pause()
        await pilot.press("down", "enter")
        app.push_screen(Overlay("Which?", CHOICES), app.chosen.append)
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
    assert app.chosen == ["t1", ""]


async def test_levels_go_down_and_up_and_remember_where_they_were(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("first")
        await talk.session.ask("second")
        app: App[None] = App()
        async with app.run_test(size=(80, 24)) as pilot:
            screen = ContextScreen(talk.acting, UNICODE)
            await app.push_screen(screen)
            lister = screen.query_one(Lister)
            async with asyncio.timeout(60):
                while not lister.target:
                    await pilot.pause(0.05)
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
