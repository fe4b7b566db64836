"""The window in one line: bar, what is used with its interval, of how much, and a word about the moment."""

from __future__ import annotations

from typing import Final

from ullage.cli.drawing import amount, spelled
from ullage.cli.gauge import gauge
from ullage.cli.glyphs import Glyphs
from ullage.cli.text import Line, Span, cells, number, percent, shortened
from ullage.meter.reading import Reading

WIDEST: Final = 40
NARROWEST: Final = 8
NUMBERS: Final = 57
"""Columns that are left to the numbers and the word; the bar gets the rest, so that it does not change its length."""


def gauge_line(reading: Reading, width: int, glyphs: Glyphs, *, word: str = "") -> Line:
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
        spans = (*bar, Span(" "), Span(said, style), Span(f" of {number(window)} ({share})"))
    line = spelled(spans, glyphs)
    room = width - sum(cells(span.text) for span in line) - 1
    return (*line, Span(f" {shortened(word, room)}", "dim")) if word and room > 3 else line
