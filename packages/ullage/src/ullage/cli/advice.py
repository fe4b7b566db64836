"""The advice for a session as lines of text: each suggestion with its size, what it saves, and how it is done."""

from __future__ import annotations

from typing import Final

from ullage.advice.history import WindowHistory
from ullage.advice.sentences import (
    BESIDE,
    compaction_sentence,
    heading_of,
    outcome_text,
    saving_text,
    short,
)
from ullage.advice.suggestion import Suggestion
from ullage.advice.suggestions import Advice, ItemCost
from ullage.cli.drawing import drawn_width
from ullage.display.gauge_line import spelled
from ullage.display.glyphs import UNICODE, Glyphs
from ullage.display.text import (
    Line,
    Span,
    cells,
    counted,
    dollars,
    padded,
    plain,
    printable,
    shortened,
    wrapped,
)

BAR: Final = 14
"""Cells of a bar; fewer where the display is narrow."""

NARROW: Final = 64
TITLE: Final = "Advice   "
INDENT: Final = "   "
FEW_WORDS: Final = 30
"""Cells from which on a text stands beside its title, cut to what there is."""


def advice_lines(
    advice: Advice,
    history: WindowHistory,
    width: int,
    glyphs: Glyphs = UNICODE,
) -> list[Line]:
    """Everything below the gauge, for a display ``width`` columns wide."""
    width = drawn_width(width)
    lines: list[Line] = [(), *_paragraph(TITLE, heading_of(advice), width, "title")]
    largest = max((_worth(each) for each in advice.suggestions), default=0.0)
    for place, suggestion in enumerate(advice.suggestions, 1):
        bar = _bar(_worth(suggestion), largest, width, glyphs)
        lines.append(())
        lines += _suggestion(place, suggestion, bar, width)
    if advice.costs and advice.calls:
        lines += [(), (Span("Cost most so far", "title"),)]
        largest = advice.costs[0].so_far
        for cost in advice.costs:
            bar = _bar(cost.so_far, largest, width, glyphs)
            lines.append(_cost(cost, bar, width))
    if advice.outcomes:
        lines += [(), (Span("Followed since", "title"),)]
        for outcome in advice.outcomes:
            lines += _paragraph(INDENT, printable(outcome_text(outcome)), width)
    if advice.compaction is not None:
        lines += [(), (Span("Next compaction", "title"),)]
        text = printable(compaction_sentence(advice.compaction, history))
        lines += _paragraph(INDENT, text, width)
    return [spelled(line, glyphs) for line in lines]


def _paragraph(
    first: str, text: str, width: int, style: str = "", text_style: str = ""
) -> list[Line]:
    """The text in lines behind its beginning, none of which ends with a separator."""
    lines: list[Line] = []
    indent = " " * cells(first)
    for row in wrapped(text, width - len(indent)):
        begin = Span(indent) if lines else Span(first, style)
        lines.append((begin, Span(row.removesuffix(" ·"), text_style)))
    return lines


def _suggestion(
    place: int,
    suggestion: Suggestion,
    bar: Line,
    width: int,
) -> list[Line]:
    """Its title with what it is about, as far as there is room; what it saves; and what to do."""
    first = padded(f"{place}", len(INDENT))
    lines = _paragraph(first, printable(suggestion.title), width, "dim", "strong")
    about = printable(suggestion.text)
    if suggestion.quote:
        about += f": {printable(suggestion.quote)}"
    room = width - sum(cells(span.text) for span in lines[-1]) - len(BESIDE)
    if room >= FEW_WORDS:
        lines[-1] = (*lines[-1], Span(BESIDE + shortened(about, room), "dim"))
    else:
        about = shortened(about, width - len(INDENT))
        lines.append((Span(INDENT + about, "dim"),))
    figures = saving_text(suggestion.saving)
    begin = INDENT + plain(bar) + " "
    saved = _paragraph(begin, figures, width, "", "number")
    lines += [(Span(INDENT), *bar, Span(" "), saved[0][1]), *saved[1:]]
    return lines + _paragraph(INDENT, "To do: " + suggestion.how, width)


def _worth(suggestion: Suggestion) -> float:
    usd = suggestion.saving.usd
    return float(suggestion.saving.so_far) if usd is None else usd


def _bar(value: float, largest: float, width: int, glyphs: Glyphs) -> Line:
    """A bar in proportion to the largest value."""
    size = BAR // 2 if width < NARROW else BAR
    filled = 1
    if largest > 0:
        filled = max(1, round(size * value / largest))
    return (
        Span(glyphs.used * filled, "row1"),
        Span(glyphs.free * (size - filled), "free"),
    )


def _cost(cost: ItemCost, bar: Line, width: int) -> Line:
    figures = short(cost.so_far)
    if width >= NARROW:
        figures = padded(figures, 6, right=True)
        if cost.usd is not None:
            figures += " " + padded(dollars(cost.usd), 7, right=True)
        figures += f" = {short(cost.tokens)} x {counted(cost.calls, 'call')} "
    begin: Line = (Span(INDENT), *bar, Span(f" {figures} ", "number"))
    room = width - sum(cells(span.text) for span in begin) - 1
    return (*begin, Span(shortened(printable(cost.label), max(8, room))))
