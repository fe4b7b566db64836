"""The transcript on the screen: scrolls, folds, is drawn only as far as it is looked at.

Only the newest entries are laid out; scrolling up to their begin lays out more. Text can be selected with the mouse.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Final

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from ullage.cli.screenplay import ChatEntry, MessageEntry, ReasoningEntry, ToolCallEntry
from ullage_agent.chat.rendering import ScreenRow, rows_of

SCREENS: Final = 4
"""Screens that are laid out together. A screen of Markdown takes about 10 ms, so that a resize is not felt."""

SELECTED: Final = Style(reverse=True)


class Feed(ScrollView, can_focus=True):
    """Shows ``entries``. ``changed`` says from which place on they differ."""

    DEFAULT_CSS = """
    Feed {
        height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden;
        scrollbar-gutter: stable;
    }
    """
    ALLOW_SELECT = True

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.entries: list[ChatEntry] = []
        self.unfolds_results = False
        self.unfolds_reasoning = False
        self.follows = True
        """Whether the end stays in sight."""
        self._toggled: set[str] = set()
        self._first = 0
        self._rows: list[list[ScreenRow]] = []
        """The lines of the entries from ``_first`` on."""
        self._ends: list[int] = []
        """Where each of them ends, in lines."""
        self._laid_out_for = 0

    # -- what is shown --

    def show(self, entries: list[ChatEntry]) -> None:
        """Another transcript, from its end."""
        self.entries = entries
        self._toggled = set()
        self.follows = True
        self._lay_out_end()

    def changed(self, entries: list[ChatEntry], first: int) -> None:
        """The entries differ from ``first`` on: lay these out anew."""
        self.entries = entries
        self._lay_out(max(first, self._first))

    def fold(self, *, results: bool | None = None, reasoning: bool | None = None) -> None:
        """Fold or unfold all results or all reasoning."""
        if results is not None:
            self.unfolds_results = results
        if reasoning is not None:
            self.unfolds_reasoning = reasoning
        self._toggled = set()
        self._lay_out(self._first)

    def _is_unfolded(self, entry: ChatEntry) -> bool:
        match entry:
            case ToolCallEntry():
                return self.unfolds_results != (entry.call_id in self._toggled)
            case MessageEntry():
                return self.unfolds_results != (entry.message in self._toggled)
            case ReasoningEntry():
                return self.unfolds_reasoning != (entry.part in self._toggled)
            case _:
                return False

    @property
    def _width(self) -> int:
        return max(10, self.size.width - 1)

    def _lay_out(self, first: int) -> None:
        if not self.size.width:
            return
        self._laid_out_for = self._width
        place = min(max(0, first - self._first), len(self._rows))
        del self._rows[place:], self._ends[place:]
        height = self._ends[-1] if self._ends else 0
        for entry in self.entries[self._first + place :]:
            rows = rows_of(entry, self._width, unfolded=self._is_unfolded(entry))
            self._rows.append(rows)
            height += len(rows)
            self._ends.append(height)
        self.virtual_size = Size(self._width, height)
        self.keep_end()
        self.call_after_refresh(
            self.keep_end
        )  # what the new height means for the scroll is known only then
        self.refresh()

    def _before(self, end: int) -> list[list[ScreenRow]]:
        """The lines of the entries before ``end``, as many as fill some screens."""
        rows: list[list[ScreenRow]] = []
        height = 0
        while len(rows) < end and height < SCREENS * max(self.size.height, 1):
            entry = self.entries[end - 1 - len(rows)]
            rows.append(rows_of(entry, self._width, unfolded=self._is_unfolded(entry)))
            height += len(rows[-1])
        return rows[::-1]

    def _lay_out_end(self) -> None:
        """Lay out the last screens, and no more."""
        self._rows, self._ends = [], []
        if self.size.width:
            self._rows = self._before(len(self.entries))
            self._ends = list(accumulate(map(len, self._rows)))
        self._first = len(self.entries) - len(self._rows)
        self._lay_out(len(self.entries))

    def _show_earlier(self) -> None:
        """Lay out entries before those that are; what is looked at stays where it is."""
        earlier = self._before(self._first)
        if not earlier:
            return
        height = self.virtual_size.height
        self._first -= len(earlier)
        self._rows = [*earlier, *self._rows]
        self._ends = list(accumulate(map(len, self._rows)))
        total = self._ends[-1]
        self.virtual_size = Size(self._width, total)
        self.scroll_to(
            y=self.scroll_offset.y + total - height, animate=False, immediate=True
        )
        self.refresh()

    # -- what happens to it --

    def on_resize(self, event: events.Resize) -> None:
        if self._width != self._laid_out_for:
            if self.follows:
                self._lay_out_end()
            else:
                self._rows, self._ends = [], []
                self._lay_out(self._first)
        self.call_after_refresh(self.keep_end)

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        at_end = new >= self.max_scroll_y
        if new < old or at_end:
            self.follows = at_end
        if new <= 0 and old > 0 and self._first:
            self.call_after_refresh(self._show_earlier)

    def keep_end(self) -> None:
        """Where the end is followed, have it in sight: what lies below the transcript comes and goes."""
        if self.follows and round(self.scroll_y) != self.max_scroll_y:
            self.scroll_end(animate=False, immediate=True, x_axis=False)

    def to_end(self) -> None:
        """Back to the newest line."""
        self.follows = True
        self.scroll_end(animate=False, immediate=True, x_axis=False)

    def on_click(self, event: events.Click) -> None:
        if self.text_selection is not None:
            return
        place = bisect_right(self._ends, event.y + self.scroll_offset.y)
        if place >= len(self._ends):
            return
        match self.entries[self._first + place]:
            case (
                ToolCallEntry(call_id=name)
                | ReasoningEntry(part=name)
                | MessageEntry(message=name)
            ):
                self._toggled ^= {name}
                self.follows = False
                self._lay_out(self._first + place)

    # -- lines --

    def _row(self, y: int) -> ScreenRow | None:
        place = bisect_right(self._ends, y)
        if place >= len(self._ends):
            return None
        before = self._ends[place - 1] if place else 0
        return self._rows[place][y - before]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = y + self.scroll_offset.y
        row = self._row(line)
        base = self.rich_style
        if row is None:
            return Strip.blank(width, base)
        strip = Strip(row).apply_style(base) if row else Strip.blank(0, base)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(line)) is not None:
            strip = _selected(strip, *span)
        return strip.crop_extend(0, width, base).apply_offsets(0, line)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        text = "\n".join(
            "".join(segment.text for segment in row)
            for rows in self._rows
            for row in rows
        )
        return selection.extract(text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


def _selected(strip: Strip, start: int, end: int) -> Strip:
    text = strip.text
    begin = cell_len(text[:start])
    stop = strip.cell_length if end == -1 else cell_len(text[:end])
    marked = strip.crop(begin, stop).apply_style(SELECTED)
    return Strip.join([strip.crop(0, begin), marked, strip.crop(stop)])
