from __future__ import annotations

from textual.app import App, ComposeResult

from ullage.cli.chat.commands import COMMANDS
from ullage.cli.chat.panels import NAMES, SHOWN_COMMANDS, Panel, Panels, as_text
from ullage.display.glyphs import UNICODE
from ullage.display.text import Span


class FakeScreen(App[str]):
    """The panels and nothing else."""

    def compose(self) -> ComposeResult:
        for name in NAMES:
            yield Panel(id=name)


async def test_a_panel_without_lines_takes_no_room() -> None:
    app = FakeScreen()
    async with app.run_test(size=(80, 24)) as pilot:
        panel = app.query_one("#waiting", Panel)
        panel.put([(Span("one"),), (Span("[bold]two"),)])
        await pilot.pause()
        assert panel.shown.plain == "one\n[bold]two"
        assert panel.size.height == 2
        panel.put([])
        await pilot.pause()
        assert not panel.display


async def test_the_marked_command_stays_in_sight() -> None:
    app = FakeScreen()
    async with app.run_test(size=(80, 24)):
        panels = Panels(app, UNICODE)
        for marked in range(len(COMMANDS)):
            panels.completing(COMMANDS, marked)
            shown = app.query_one("#completing", Panel).shown.plain
            assert f"› /{COMMANDS[marked].name}" in shown
            assert len(shown.splitlines()) == SHOWN_COMMANDS + 1


def test_lines_keep_their_styles_and_markup_is_text() -> None:
    text = as_text([(Span("[red]a", "bad"), Span("b")), ()])
    assert text.plain == "[red]ab\n"
    assert text.spans[0].style is not None
