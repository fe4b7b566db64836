"""Lists and long texts on the screen, and ``/context`` as levels of lists. Only the visible lines are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from ullage.display.glyphs import Glyphs
from ullage.display.text import Line, Span
from ullage.errors import UllageError
from ullage_agent.chat.choices import Choice
from ullage_agent.chat.commands import Acting
from ullage_agent.chat.drilldown import DrilldownData, first_target, level
from ullage_agent.chat.rendering import ScreenRow, look


class Lister(ScrollView, can_focus=True):
    """Shows choices, one a line, with a cursor on those that can be chosen."""

    DEFAULT_CSS = """
    Lister { height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "edge(-1)", show=False),
        Binding("end,G", "edge(1)", show=False),
        Binding("enter,right,l", "choose", show=False),
    ]

    class Chosen(Message):
        """A line was chosen."""

        def __init__(self, target: str) -> None:
            super().__init__()
            self.target = target

    def __init__(self, choices: Sequence[Choice] = (), *, id: str = "list") -> None:
        super().__init__(id=id)
        self.choices = tuple(choices)
        self.cursor = self._next(-1, 1)

    def show(self, choices: Sequence[Choice], target: str = "") -> None:
        """Other lines, the cursor on the one of ``target`` if there is one."""
        self.choices = tuple(choices)
        places = [
            place
            for place, choice in enumerate(choices)
            if target and choice.target == target
        ]
        self.cursor = places[0] if places else self._next(-1, 1)
        self._fit()
        self.scroll_to(
            y=max(0, (self.cursor or 0) - self.size.height // 2),
            animate=False,
            immediate=True,
        )

    @property
    def target(self) -> str:
        """What the cursor is on."""
        return "" if self.cursor is None else self.choices[self.cursor].target

    def _fit(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.choices))
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def _next(self, place: int, step: int) -> int | None:
        place += step
        while 0 <= place < len(self.choices):
            if self.choices[place].target:
                return place
            place += step
        return None

    def action_move(self, step: int) -> None:
        """The cursor to the next line that can be chosen; scroll where there is none."""
        found = None if self.cursor is None else self._next(self.cursor, step)
        if found is None:
            self.scroll_to(y=self.scroll_offset.y + step, animate=False, immediate=True)
            return
        self.cursor = found
        self._reveal()

    def action_page(self, step: int) -> None:
        """A page on."""
        page = step * max(1, self.size.height - 1)
        self.scroll_to(y=self.scroll_offset.y + page, animate=False, immediate=True)
        if self.cursor is not None:
            goal = min(max(0, self.cursor + page), len(self.choices) - 1)
            found = self._next(goal - step, step)
            self.cursor = self.cursor if found is None else found
            self._reveal()

    def action_edge(self, step: int) -> None:
        """To the first or the last line."""
        if self.cursor is not None:
            found = self._next(-1, 1) if step < 0 else self._next(len(self.choices), -1)
            self.cursor = self.cursor if found is None else found
        self.scroll_to(
            y=0 if step < 0 else len(self.choices), animate=False, immediate=True
        )
        self.refresh()

    def action_choose(self) -> None:
        """Choose the line under the cursor."""
        if self.target:
            self.post_message(self.Chosen(self.target))

    def on_click(self, event: events.Click) -> None:
        place = event.y + self.scroll_offset.y
        if place < len(self.choices) and self.choices[place].target:
            self.cursor = place
            self.refresh()
            self.action_choose()

    def _reveal(self) -> None:
        assert self.cursor is not None
        top, height = self.scroll_offset.y, self.size.height
        if self.cursor < top or self.cursor >= top + height:
            goal = self.cursor if self.cursor < top else self.cursor - height + 1
            self.scroll_to(y=goal, animate=False, immediate=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, place = self.size.width, y + self.scroll_offset.y
        base = self.rich_style
        if place >= len(self.choices):
            return Strip.blank(width, base)
        row = segments(self.choices[place].line)
        style = base + Style(reverse=True) if place == self.cursor else base
        return Strip(row).apply_style(style).crop_extend(0, width, style)


def segments(line: Line) -> ScreenRow:
    """A line as the screen draws it."""
    return [Segment(span.text, look(span.style)) for span in line if span.text]


class Overlay(ModalScreen[str]):
    """A list over the conversation: gives the target that was chosen, or nothing."""

    DEFAULT_CSS = """
    Overlay { background: transparent; align: center middle; }
    Overlay > Static { height: auto; padding: 0 1; background: transparent; }
    Overlay > #overlay-title { text-style: bold; border-top: solid $primary; }
    Overlay > Lister { padding: 0 1; background: transparent; }
    Overlay > #overlay-keys { color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,left,h", "leave", show=False)
    ]

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

    def on_lister_chosen(self, event: Lister.Chosen) -> None:
        event.stop()
        self.dismiss(event.target)

    def action_leave(self) -> None:
        """Back, without a choice."""
        self.dismiss("")


KEYS = "Enter opens · Esc goes back · s order · p pin · e where it went · q closes"


class ContextScreen(Screen[str]):
    """Levels of lists; Enter goes down, Escape up."""

    DEFAULT_CSS = """
    ContextScreen { background: transparent; }
    ContextScreen > Static { height: 1; padding: 0 1; background: transparent; }
    ContextScreen > #context-path { text-style: bold; }
    ContextScreen > Lister { padding: 0 1; background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,left,h,backspace", "back", show=False),
        Binding("q", "leave", show=False),
        Binding("s", "order", show=False),
        Binding("p", "pin", show=False),
        Binding("e", "explain", show=False),
        Binding("r", "reload", show=False),
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

    def on_resize(self) -> None:
        if self._window is not None:
            self._show(self.query_one(Lister).target)

    def on_lister_chosen(self, event: Lister.Chosen) -> None:
        event.stop()
        self._path.append(event.target)
        self._places.append(event.target)
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
        self._show(self.query_one(Lister).target)

    @work(exclusive=True)
    async def action_reload(self) -> None:
        """The window as it is now."""
        await self._load()
        self._show(self.query_one(Lister).target)

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
        self._show(self.query_one(Lister).target)

    @work(exclusive=True)
    async def action_explain(self) -> None:
        """Where the message went."""
        name = self._message()
        if name:
            where = str(await self._acting.session.explain(name))
            self.query_one(Lister).show([Choice((Span(where),))])
            self._path.append(self._path[-1])
            self._places.append(f"message:{name}")
