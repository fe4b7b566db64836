"""``/context`` over the conversation: three keys from the window to one message and its tokens."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from ullage.cli.chat.acting import Acting
from ullage.cli.chat.choices import Choice
from ullage.cli.chat.drilldown import DrilldownData, first_target, level
from ullage.cli.chat.lister import Lister
from ullage.display.glyphs import Glyphs
from ullage.display.text import Span
from ullage.errors import UllageError

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
        shown = level(self._window, self._path[-1], width, self._glyphs, by_size=self._by_size)
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
