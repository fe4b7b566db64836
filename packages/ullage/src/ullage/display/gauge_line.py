"""The window in one line: bar, what is used with its interval, of how much, and a word about the moment."""

from __future__ import annotations

from typing import Final

from ullage.display.gauge import Drawable, Interval, gauge
from ullage.display.glyphs import Glyphs
from ullage.display.text import Line, Span, cells, number, percent, shortened
from ullage_programs.line.drawing import interval

WIDEST: Final = 40
NARROWEST: Final = 8
NUMBERS: Final = 57
"""Columns that are left to the numbers and the word; the bar gets the rest, so that it does not change its length."""


def gauge_line(reading: Drawable, width: int, glyphs: Glyphs, *, word: str = "") -> Line:
    """The line for a display ``width`` columns wide; ``word`` is cut to what is left."""
    window = reading.window.tokens
    said = amount(reading.used)
    if window is None:
        spans: tuple[Span, ...] = (Span(f"{said} tokens, window unknown"),)
    else:
        is_over = reading.used.tokens > window
        style = "bad" if is_over else "warn" if reading.should_compact() else ""
        bar = gauge(reading, max(NARROWEST, min(WIDEST, width - NUMBERS)), glyphs)
        share = percent(reading.used.tokens, window)
        spans = (
            *bar,
            Span(" "),
            Span(said, style),
            Span(f" of {number(window)} ({share})"),
        )
    line = spelled(spans, glyphs)
    room = width - sum(cells(span.text) for span in line) - 1
    return (
        (*line, Span(f" {shortened(word, room)}", "dim")) if word and room > 3 else line
    )


def spelled(line: Line, glyphs: Glyphs) -> Line:
    """The line with our own punctuation in the glyph set's characters."""
    return tuple(Span(glyphs.spell(span.text), span.style) for span in line)


def amount(used: Interval) -> str:
    """Tokens and their interval: ``52,100 ± 140``, ``140 (14 to 286)``, the number alone where it is exact."""
    said = interval(used.tokens, used.low, used.high)
    if not said:
        return number(used.tokens)
    if said.startswith("±"):
        return f"{number(used.tokens)} {said}"
    return f"{number(used.tokens)} ({said})"


def sentence(reading: Drawable) -> str:
    """The same as one line of plain text, without the bar."""
    window, point = reading.window.tokens, reading.compaction_point
    if window is None:
        return f"{amount(reading.used)} tokens, window unknown"
    text = f"{amount(reading.used)} of {number(window)} tokens ({percent(reading.used.tokens, window)})"
    if reading.should_compact():
        return f"{text}, compaction due"
    if point is None:
        return text
    return f"{text}, {number(point - reading.proven_high)} until compaction"
