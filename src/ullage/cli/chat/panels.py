"""The lines around the transcript: what waits, what is asked, what completes, the gauge and the foot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.text import Text
from textual.app import App
from textual.widgets import Static

from ullage.agent.loop import Loop
from ullage.cli.chat.approving import Approving
from ullage.cli.chat.commands import Command
from ullage.cli.chat.rendering import look
from ullage.cli.chat.status import foot_line, gauge_line, waiting_lines
from ullage.cli.chat.transcript import text_of
from ullage.display.glyphs import Glyphs
from ullage.display.text import Line, Span, counted
from ullage.meter.reading import Reading

HINTS: Final = ("/help", "Esc cancels", "Tab: when done", "Ctrl+O unfolds")
SHOWN_COMMANDS: Final = 8
QUESTION_SHARE: Final = 0.65
"""Part of the screen that a question may take."""

NAMES: Final = ("waiting", "question", "completing", "gauge", "foot")


class Panel(Static):
    """Some lines; it takes no room while there are none."""

    DEFAULT_CSS = "Panel { height: auto; padding: 0 1; background: transparent; }"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.shown = Text()

    def put(self, lines: Iterable[Line]) -> None:
        """Show these lines, if they are others than before."""
        text = as_text(lines)
        self.display = bool(text.plain)
        if text != self.shown:
            self.shown = text
            self.update(text)


class Panels:
    """Draws the panels of one screen from what a session is at."""

    def __init__(self, app: App[str], glyphs: Glyphs) -> None:
        self._app = app
        self._glyphs = glyphs

    def _put(self, name: str, lines: Iterable[Line]) -> None:
        self._app.screen_stack[0].query_one(f"#{name}", Panel).put(lines)

    @property
    def _width(self) -> int:
        return max(20, self._app.size.width - 2)

    def gauge(self, reading: Reading, grown: int | None) -> None:
        """The window in one line."""
        self._put("gauge", [gauge_line(reading, grown, self._width, self._glyphs)])

    def waiting(self, loop: Loop, editing: str) -> None:
        """The queue in the order of delivery; ``editing`` is the message that is in the input."""
        queue = sorted(loop.queue, key=lambda one: one.kind == "follow_up")
        ids = [one.message.id for one in queue]
        place = ids.index(editing) if editing in ids else -1
        lines = waiting_lines(tuple((one.kind, text_of(one.message)) for one in queue), self._width, place)
        if lines:
            lines.append((Span("Up edits the newest, Ctrl+X withdraws it", "dim"),))
        self._put("waiting", lines)

    def question(self, approving: Approving, *, is_typing: bool) -> None:
        """Whether a call may run."""
        height = max(6, int(self._app.size.height * QUESTION_SHARE) - 1)
        self._put("question", approving.lines(self._width, height, is_typing=is_typing))

    def completing(self, found: Sequence[Command], marked: int) -> None:
        """The commands that what is typed may become."""
        lines: list[Line] = []
        top = max(0, min(marked - SHOWN_COMMANDS // 2, len(found) - SHOWN_COMMANDS))
        for place, command in enumerate(found[top : top + SHOWN_COMMANDS], top):
            style, mark = ("title", "› ") if place == marked else ("", "  ")
            lines.append((Span(f"{mark}{command.usage:<28}", style), Span(command.about, "dim")))
        if len(found) > SHOWN_COMMANDS:
            lines.append((Span(f"  {counted(len(found), 'command')}, Up and Down", "dim"),))
        self._put("completing", lines)

    def foot(self, left: Line, model: str, session: str) -> None:
        """What is done, by which model, in which session."""
        self._put("foot", [foot_line(left, model, session, HINTS, self._width)])


def as_text(lines: Iterable[Line]) -> Text:
    """Lines as rich prints them, each on its own, cut where the screen ends."""
    text = Text(no_wrap=True, overflow="ellipsis", end="")
    for place, line in enumerate(lines):
        if place:
            text.append("\n")
        for span in line:
            text.append(span.text, look(span.style))
    return text
