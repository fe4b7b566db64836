from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult

from ullage.cli.screenplay import (
    AnswerEntry,
    ChatEntry,
    MessageEntry,
    ReasoningEntry,
    ToolCallEntry,
)
from ullage_agent.chat.feed import SCREENS, Feed


class FakeScreen(App[None]):
    """A feed and nothing else."""

    CSS: ClassVar[str] = ""

    def __init__(self, entries: list[ChatEntry]) -> None:
        super().__init__()
        self.entries = entries

    def compose(self) -> ComposeResult:
        yield Feed(id="feed")

    @property
    def feed(self) -> Feed:
        return self.query_one(Feed)

    @property
    def shown(self) -> str:
        return "\n".join(
            self.feed.render_line(y).text.rstrip() for y in range(self.feed.size.height)
        )


def said(count: int) -> list[ChatEntry]:
    return [
        MessageEntry(text=f"message {number}", message=f"m{number}")
        for number in range(count)
    ]


async def test_the_end_stays_in_sight_while_the_transcript_grows() -> None:
    app = FakeScreen(said(50))
    async with app.run_test(size=(40, 10)) as pilot:
        app.feed.show(app.entries)
        await pilot.pause()
        assert "message 49" in app.shown
        app.entries.append(AnswerEntry(text="and so on", part="p"))
        app.feed.changed(app.feed.entries, 50)
        await pilot.pause()
        assert "and so on" in app.shown


async def test_who_has_scrolled_up_stays_there_until_the_end_is_asked_for() -> None:
    app = FakeScreen(said(50))
    async with app.run_test(size=(40, 10)) as pilot:
        app.feed.show(app.entries)
        await pilot.pause()
        app.feed.scroll_relative(y=-20, animate=False)
        await pilot.pause()
        before = app.shown
        app.entries.append(MessageEntry(text="new", message="n"))
        app.feed.changed(app.feed.entries, 50)
        app.feed.keep_end()
        await pilot.pause()
        assert app.shown == before
        app.feed.to_end()
        await pilot.pause()
        assert "new" in app.shown and app.feed.follows


async def test_ten_thousand_entries_are_laid_out_as_far_as_they_are_looked_at() -> None:
    app = FakeScreen(said(10_000))
    async with app.run_test(size=(40, 10)) as pilot:
        app.feed.show(app.entries)
        await pilot.pause()
        assert app.feed.virtual_size.height == SCREENS * 10
        top = app.shown
        app.feed.scroll_to(y=0, animate=False)
        await pilot.pause()
        await pilot.pause()
        assert app.feed.virtual_size.height == 2 * SCREENS * 10
        assert f"message {10_000 - SCREENS * 5}" in app.shown
        assert app.shown != top


async def test_results_and_reasoning_unfold_all_at_once_or_one_by_a_click() -> None:
    long = "\n".join(f"line {number}" for number in range(30))
    entries: list[ChatEntry] = [
        ToolCallEntry(name="read", arguments="{}", call_id="c", result=long),
        ReasoningEntry(text="Because. " * 30, part="p"),
    ]
    app = FakeScreen(entries)
    async with app.run_test(size=(60, 20)) as pilot:
        app.feed.show(entries)
        await pilot.pause()
        assert "line 29" not in app.shown
        folded = app.feed.virtual_size.height
        await pilot.click(Feed, offset=(3, 2))
        await pilot.pause()
        assert app.feed.virtual_size.height > folded + 20
        app.feed.fold(results=False)
        await pilot.pause()
        assert app.feed.virtual_size.height == folded
        app.feed.fold(reasoning=True)
        await pilot.pause()
        assert app.feed.virtual_size.height > folded


async def test_another_width_breaks_lines_anew() -> None:
    app = FakeScreen([AnswerEntry(text="word " * 60, part="p")])
    async with app.run_test(size=(80, 20)) as pilot:
        app.feed.show(app.entries)
        await pilot.pause()
        wide = app.feed.virtual_size.height
        await pilot.resize_terminal(30, 20)
        await pilot.pause()
        assert app.feed.virtual_size.height > 2 * wide


async def test_text_can_be_selected_and_taken() -> None:
    app = FakeScreen(said(2))
    async with app.run_test(size=(40, 10)) as pilot:
        app.feed.show(app.entries)
        await pilot.pause()
        app.screen.text_select_all()
        taken = app.screen.get_selected_text()
        assert taken is not None and "message 0" in taken and "message 1" in taken
        assert "message 0" in app.shown
