"""The bar of a window: what is used by what, its interval, the compaction threshold, what is kept for the answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

from ullage.display.glyphs import Glyphs
from ullage.display.text import Line, Span


class Interval(Protocol):
    """Tokens and their interval."""

    @property
    def tokens(self) -> int: ...
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...


class Known(Protocol):
    """Tokens, or ``None`` if they are unknown."""

    @property
    def tokens(self) -> int | None: ...


class GaugeRow(Protocol):
    """A row of the breakdown."""

    @property
    def tokens(self) -> int: ...
    @property
    def summed(self) -> bool: ...


class Drawable(Protocol):
    """The attributes of a reading that the gauge shows."""

    @property
    def window(self) -> Known: ...
    @property
    def used(self) -> Interval: ...
    @property
    def rows(self) -> Sequence[GaugeRow]: ...
    @property
    def reserve(self) -> int: ...
    @property
    def compaction_point(self) -> int | None: ...
    @property
    def proven_high(self) -> int: ...
    def should_compact(self) -> bool: ...


def gauge(reading: Drawable, width: int, glyphs: Glyphs) -> Line:
    """``width`` cells for the window, or for ``used`` where that is more. Empty while the window is unknown.

    The filled part carries the styles ``row0``, ``row1`` … in proportion to the summed rows. An interval narrower than
    a cell is not drawn.
    """
    window = reading.window.tokens
    if not window or width < 1:
        return ()
    scale = width / max(window, reading.used.high, 1)
    drawn = [_cell(reading, place, scale, glyphs) for place in range(width)]
    drawn = _with_mark(drawn, reading, scale, glyphs)
    return tuple(
        Span("".join(glyph for glyph, _ in run), style)
        for style, run in groupby(drawn, key=lambda cell: cell[1])
    )


def _cell(reading: Drawable, place: int, scale: float, glyphs: Glyphs) -> tuple[str, str]:
    window = reading.window.tokens or 0
    used, low, high = (
        tokens * scale
        for tokens in (reading.used.tokens, reading.used.low, reading.used.high)
    )
    wide = high - low >= 1
    if place + 1 <= (low if wide else used):
        if place >= window * scale:
            return glyphs.over, "bad"
        return glyphs.used, _row_style(reading, (place + 0.5) / scale)
    if wide and place < high and place + 1 > low:
        return glyphs.interval, "bad" if place >= window * scale else "interval"
    if not wide and place < used:
        part = _partial(used - place, glyphs, first=place == 0)
        if part:
            return part, _row_style(reading, (place + 0.5 * (used - place)) / scale)
    if place + 0.5 >= (window - reading.reserve) * scale:
        return glyphs.reserve, "reserve"
    return glyphs.free, "free"


def _partial(share: float, glyphs: Glyphs, *, first: bool) -> str:
    """A cell filled to ``share``. In the first cell anything at all is drawn: a little never looks like nothing."""
    eighths = round(share * 8)
    if not glyphs.parts:
        return glyphs.used if eighths >= 4 or first else ""
    if eighths == 0 and not first:
        return ""
    return (glyphs.parts + glyphs.used)[max(0, eighths - 1)]


def _row_style(reading: Drawable, tokens: float) -> str:
    """The style of the row that the token at this place belongs to."""
    passed = 0
    summed = [row for row in reading.rows if row.summed]
    for place, row in enumerate(summed):
        passed += row.tokens
        if tokens < passed:
            return f"row{place}"
    return f"row{max(0, len(summed) - 1)}"


def _with_mark(
    drawn: list[tuple[str, str]], reading: Drawable, scale: float, glyphs: Glyphs
) -> list[tuple[str, str]]:
    point = reading.compaction_point
    if point is not None:
        place = min(len(drawn) - 1, int(point * scale))
        drawn[place] = (glyphs.compaction, "mark")
    return drawn
