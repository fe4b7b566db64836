"""Lists and long texts on the screen, and ``/context`` as levels of lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen, Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ullage.display.glyphs import Glyphs
from ullage.display.text import Span
from ullage.errors import UllageError
from ullage_agent.chat.choices import Choice
from ullage_agent.chat.commands import Acting
from ullage_agent.chat.drilldown import DrilldownData, first_target, level
from ullage_agent.chat.panels import as_text


class Lister(OptionList):
    """Shows choices, one a line, with a cursor on those that can be chosen; a list without any scrolls."""

    DEFAULT_CSS = """
    Lister, Lister:focus {
        height: 1fr; border: none; background: transparent; background-tint: transparent;
        text-wrap: nowrap; text-overflow: clip; scrollbar-size-vertical: 1;
    }
    Lister > .option-list--option, Lister > .option-list--option-disabled { color: $foreground; padding: 0; }
    Lister > .option-list--option-highlighted { color: $foreground; background: transparent; text-style: reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("k", "cursor_up"),
        ("j", "cursor_down"),
        ("space", "page_down"),
        ("g", "first"),
        ("G", "last"),
        ("right,l", "select"),
    ]

    def __init__(self, choices: Sequence[Choice] = ()) -> None:
        super().__init__(id="list")
        self.choices: tuple[Choice, ...] = ()
        self.show(choices)

    def show(self, choices: Sequence[Choice], target: str = "") -> None:
        """Other lines, the cursor on the one of ``target`` if there is one."""
        self.choices = tuple(choices)
        targets = [choice.target for choice in choices]
        self.set_options(
            Option(as_text([choice.line]), disabled=not choice.target)
            for choice in choices
        )
        places = [place for place, each in enumerate(targets) if each]
        wanted = targets.index(target) if target and target in targets else None
        self.highlighted = (
            wanted if places and wanted is not None else min(places, default=None)
        )

    @property
    def target(self) -> str:
        """What the cursor is on."""
        return "" if self.highlighted is None else self.choices[self.highlighted].target

    def action_cursor_up(self) -> None:
        """The cursor to the line above that can be chosen."""
        super().action_cursor_up() if self.target else self.scroll_up(animate=False)

    def action_cursor_down(self) -> None:
        """The cursor to the line below that can be chosen."""
        super().action_cursor_down() if self.target else self.scroll_down(animate=False)

    def action_page_up(self) -> None:
        """A page back."""
        if self.target:
            super().action_page_up()  # type: ignore[no-untyped-call]  # textual's own
        else:
            self.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        """A page on."""
        if self.target:
            super().action_page_down()  # type: ignore[no-untyped-call]  # textual's own
        else:
            self.scroll_page_down(animate=False)


class Overlay(ModalScreen[str]):
    """A list over the conversation: gives the target that was chosen, or nothing."""

    DEFAULT_CSS = """
    Overlay { background: transparent; align: center middle; }
    Overlay > Static { height: auto; padding: 0 1; background: transparent; }
    Overlay > #overlay-title { text-style: bold; border-top: solid $primary; }
    Overlay > #overlay-keys { color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,left,h", "leave")]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        keys: str = "Enter chooses · Esc goes back",
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._keys = keys

    def compose(self) -> ComposeResult:
        yield Static(self._title, id="overlay-title", markup=False)
        yield Lister(self._choices)
        yield Static(self._keys, id="overlay-keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(Lister).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._choices[event.option_index].target)

    def action_leave(self) -> None:
        """Back, without a choice."""
        self.dismiss("")


class PreviewScreen(Overlay):
    """A compaction before it is made: gives ``accept``, ``edit``, or nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("a", "take('accept')"),
        ("e", "take('edit')"),
    ]

    def action_take(self, target: str) -> None:
        """What the person decided."""
        self.dismiss(target)


KEYS = "Enter opens · Esc goes back · s order · p pin · e where it went · q closes"


class ContextScreen(Screen[str]):
    """Levels of lists; Enter goes down, Escape up."""

    DEFAULT_CSS = """
    ContextScreen { background: transparent; }
    ContextScreen > Static { height: 1; padding: 0 1; background: transparent; }
    ContextScreen > #context-path { text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,left,h,backspace", "back"),
        ("q", "leave"),
        ("s", "order"),
        ("p", "pin"),
        ("e", "explain"),
        ("r", "reload"),
    ]

    def __init__(self, acting: Acting, glyphs: Glyphs) -> None:
        super().__init__()
        self._acting = acting
        self._glyphs = glyphs
        self._window: DrilldownData | None = None
        self._path: list[str] = [""]
        self._places: list[str] = []
        """Where the cursor was on each level above."""
        self._by_size = True

    def compose(self) -> ComposeResult:
        yield Static("Context", id="context-path", markup=False)
        yield Lister()
        yield Static(KEYS, id="context-keys", markup=False)

    async def on_mount(self) -> None:
        self.query_one(Lister).focus()
        await self._load()
        assert self._window is not None
        self._show(first_target(self._window.reading))

    async def _load(self) -> None:
        self._window = await self._acting.window()

    def _show(self, target: str = "") -> None:
        if self._window is None:
            return
        width = max(30, self.size.width - 3)
        shown = level(
            self._window, self._path[-1], width, self._glyphs, by_size=self._by_size
        )
        self.query_one("#context-path", Static).update(shown.path)
        self.query_one(Lister).show(shown.choices, target)

    def _redraw(self) -> None:
        self._show(self.query_one(Lister).target)

    def on_resize(self) -> None:
        if self._window is not None:
            self._redraw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        target = self.query_one(Lister).target
        self._path.append(target)
        self._places.append(target)
        self._show()

    def action_back(self) -> None:
        """One level up; from the first, back to the conversation."""
        if len(self._path) == 1:
            self.dismiss("")
            return
        self._path.pop()
        self._show(self._places.pop())

    def action_leave(self) -> None:
        """Back to the conversation."""
        self.dismiss("")

    def action_order(self) -> None:
        """Messages by size or by place."""
        self._by_size = not self._by_size
        self._redraw()

    @work(exclusive=True)
    async def action_reload(self) -> None:
        """The window as it is now."""
        await self._load()
        self._redraw()

    def _message(self) -> str:
        """The message under the cursor, or the one that is looked at."""
        target = self.query_one(Lister).target or self._path[-1]
        return target.removeprefix("message:") if target.startswith("message:") else ""

    @work(exclusive=True)
    async def action_pin(self) -> None:
        """Pin the message, or let it go."""
        name = self._message()
        if not name:
            return
        try:
            await self._acting.pin(name)
            await self._load()
        except UllageError as problem:
            self.notify(str(problem), severity="error", markup=False)
            return
        self._redraw()

    @work(exclusive=True)
    async def action_explain(self) -> None:
        """Where the message went."""
        name = self._message()
        if name:
            where = str(await self._acting.session.explain(name))
            self.query_one(Lister).show([Choice((Span(where),))])
            self._path.append(self._path[-1])
            self._places.append(f"message:{name}")
