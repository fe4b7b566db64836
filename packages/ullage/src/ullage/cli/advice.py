"""The advice for a session as lines of text: each suggestion with its size, what it saves, and how it is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ullage.advice.history import WindowHistory
from ullage.advice.next_compaction import CallsLeft, NextCompaction
from ullage.advice.savings import TokenSaving
from ullage.advice.suggestion import Suggestion
from ullage.advice.suggestions import Advice, ItemCost
from ullage.cli.drawing import drawn_width
from ullage.cli.footing import dollars
from ullage.display.gauge_line import spelled
from ullage.display.glyphs import UNICODE, Glyphs
from ullage.display.text import (
    Line,
    Span,
    cells,
    counted,
    number,
    padded,
    percent,
    printable,
    shortened,
    wrapped,
)

BAR: Final = 14
"""Cells of a bar; fewer where the display is narrow."""

FAR: Final = 1_000
"""Calls beyond which their number says nothing."""

NARROW: Final = 64
INDENT: Final = "   "
BESIDE: Final = " · "
FEW_WORDS: Final = 30
"""Cells from which on a text stands beside its title, cut to what there is."""

THOUSAND: Final = 1_000
MILLION: Final = 1_000_000
CENT: Final = 0.01


def advice_lines(
    advice: Advice,
    history: WindowHistory,
    width: int,
    glyphs: Glyphs = UNICODE,
) -> list[Line]:
    """Everything below the gauge, for a display ``width`` columns wide."""
    width = drawn_width(width)
    lines: list[Line] = [()]
    lines += _heading(advice, width)
    largest = _largest_worth(advice.suggestions)
    for place, suggestion in enumerate(advice.suggestions, 1):
        bar = _bar(_worth(suggestion), largest, width, glyphs)
        lines.append(())
        lines += _suggestion(place, suggestion, bar, width)
    lines += _costs(advice, width, glyphs)
    if advice.compaction is not None:
        lines += _compaction(advice.compaction, history, width)
    return [spelled(line, glyphs) for line in lines]


def _heading(advice: Advice, width: int) -> list[Line]:
    if not advice.calls:
        text = "No model call has ended yet, so nothing can be said of what it costs."
        return _paragraph("Advice   ", text, width)
    count = len(advice.suggestions)
    if not count:
        text = f"Nothing worth leaving out was found in {counted(advice.calls, 'call')}."
        return _paragraph("Advice   ", text, width)
    saving = advice.total
    parts: list[str] = []
    if saving.tokens:
        share = percent(saving.tokens, advice.used)
        parts.append(f"about {number(saving.tokens)} tokens less a call ({share})")
    so_far = f"{short(saving.so_far)} of {short(advice.paid)} input tokens so far"
    if saving.usd is not None and saving.usd >= CENT and advice.usd:
        so_far = f"{dollars(saving.usd)} of {dollars(advice.usd)} so far"
    parts.append(so_far)
    together = counted(count, "suggestion") + ":"
    if count > 1:
        together += " together"
    text = f"{together} {' · '.join(parts)}"
    return _paragraph("Advice   ", text, width)


def _paragraph(title: str, text: str, width: int) -> list[Line]:
    indent = " " * cells(title)
    lines: list[Line] = []
    for part in _rows(text, width - cells(title)):
        if lines:
            lines.append((Span(indent + part),))
        else:
            lines.append((Span(title, "title"), Span(part)))
    return lines


def _rows(text: str, width: int) -> list[str]:
    """The text in lines, none of which ends with a separator."""
    rows: list[str] = []
    for row in wrapped(text, width):
        rows.append(row.removesuffix(" ·"))
    return rows


# -- suggestions --


def _suggestion(
    place: int,
    suggestion: Suggestion,
    bar: Line,
    width: int,
) -> list[Line]:
    lines = _title(place, suggestion, width)
    figures = saving_text(suggestion.saving)
    if suggestion.is_guess:
        figures += " · a guess"
    taken = len(INDENT) + sum(cells(span.text) for span in bar) + 1
    rows = _rows(figures, width - taken)
    lines.append((Span(INDENT), *bar, Span(f" {rows[0]}", "number")))
    for row in rows[1:]:
        lines.append((Span(" " * taken + row, "number"),))
    for part in _rows("To do: " + suggestion.how, width - len(INDENT)):
        lines.append((Span(INDENT + part),))
    return lines


def _title(place: int, suggestion: Suggestion, width: int) -> list[Line]:
    """The title, and beside it what it is about, as far as there is room for a few words."""
    lines: list[Line] = []
    for part in _rows(printable(suggestion.title), width - len(INDENT)):
        first = INDENT
        if not lines:
            first = padded(f"{place}", len(INDENT))
        lines.append((Span(first, "dim"), Span(part, "strong")))
    about = printable(suggestion.text)
    room = width - sum(cells(span.text) for span in lines[-1]) - len(BESIDE)
    if about and room >= FEW_WORDS:
        text = BESIDE + shortened(about, room)
        lines[-1] = (*lines[-1], Span(text, "dim"))
    elif about:
        text = shortened(about, width - len(INDENT))
        lines.append((Span(INDENT + text, "dim"),))
    return lines


def saving_text(saving: TokenSaving) -> str:
    """What is saved, in a few words: a call, and so far."""
    parts: list[str] = []
    if saving.tokens:
        text = f"{number(saving.tokens)} tokens a call"
        if (saving.low, saving.high) != (saving.tokens, saving.tokens):
            text += f" ({number(saving.low)} to {number(saving.high)})"
        parts.append(text)
    so_far = f"{short(saving.so_far)} so far"
    if not saving.tokens:
        so_far = f"{short(saving.so_far)} tokens so far"
    if saving.usd is not None and saving.usd >= CENT:
        so_far += f", {dollars(saving.usd)}"
    parts.append(so_far)
    return " · ".join(parts)


def _worth(suggestion: Suggestion) -> float:
    saving = suggestion.saving
    if saving.usd is not None:
        return saving.usd
    return float(saving.so_far)


def _largest_worth(suggestions: Sequence[Suggestion]) -> float:
    return max((_worth(each) for each in suggestions), default=0.0)


def _bar(value: float, largest: float, width: int, glyphs: Glyphs) -> Line:
    """A bar in proportion to the largest value."""
    size = BAR
    if width < NARROW:
        size = BAR // 2
    filled = 1
    if largest > 0:
        filled = max(1, round(size * value / largest))
    return (
        Span(glyphs.used * filled, "row1"),
        Span(glyphs.free * (size - filled), "free"),
    )


# -- what cost most --


def _costs(advice: Advice, width: int, glyphs: Glyphs) -> list[Line]:
    if not advice.costs or not advice.calls:
        return []
    lines: list[Line] = [(), (Span("Cost most so far", "title"),)]
    largest = advice.costs[0].so_far
    for cost in advice.costs:
        bar = _bar(cost.so_far, largest, width, glyphs)
        figures = _cost_figures(cost)
        if width < NARROW:
            figures = short(cost.so_far)
        room = width - len(INDENT) - sum(cells(span.text) for span in bar)
        room -= cells(figures) + 3
        name = shortened(printable(cost.label), max(8, room))
        line: Line = (
            Span(INDENT),
            *bar,
            Span(f" {figures} ", "number"),
            Span(name),
        )
        lines.append(line)
    return lines


def _cost_figures(cost: ItemCost) -> str:
    figures = padded(short(cost.so_far), 6, right=True)
    if cost.usd is not None:
        figures += " " + padded(dollars(cost.usd), 7, right=True)
    return figures + f" = {short(cost.tokens)} x {counted(cost.calls, 'call')} "


# -- the next compaction --


def _compaction(
    compaction: NextCompaction,
    history: WindowHistory,
    width: int,
) -> list[Line]:
    by = compaction.by or "Ullage would"
    verb = "compacts"
    if not compaction.by:
        verb = "compact"
    sentences = [f"{by} {verb} at {number(compaction.threshold)}"]
    if history.used > compaction.threshold:
        sentences[0] += f", and the next request has {number(history.used)} already"
    elif compaction.left is not None:
        sentences[0] += f", {_when(compaction.left)}"
    if compaction.leaves is not None:
        sentences.append(_what_leaves(compaction, history))
    if compaction.note and compaction.is_summary:
        sentences.append(compaction.note[0].upper() + compaction.note[1:])
    text = ". ".join(sentences) + "."
    lines: list[Line] = [(), (Span("Next compaction", "title"),)]
    for part in _rows(printable(text), width - len(INDENT)):
        lines.append((Span(INDENT + part),))
    return lines


def _when(left: CallsLeft) -> str:
    if left.calls <= 0:
        return "which the next call may reach"
    if left.calls > FAR:
        return f"more than {counted(FAR, 'call')} away at {number(left.growth)} tokens a call"
    text = f"in about {counted(left.calls, 'call')}"
    if left.high is None:
        text += f" (at least {number(left.low)})"
    else:
        text += f" ({number(left.low)} to {number(left.high)})"
    return f"{text} at {number(left.growth)} tokens a call"


def _what_leaves(compaction: NextCompaction, history: WindowHistory) -> str:
    if not compaction.leaves:
        return "It would find nothing to take out now"
    leaves = number(compaction.leaves)
    stays = number(compaction.stays or 0)
    parts = counted(len(compaction.items), "part")
    if compaction.is_summary:
        return f"If it came now, {parts} of {leaves} tokens would become a summary and {stays} would stay"
    return f"If it came now, {parts} of {leaves} tokens would be cleared without a summary and {stays} would stay"


# -- numbers --


def short(tokens: int) -> str:
    """A number of tokens in at most five characters: ``812``, ``9.9k``, ``682k``, ``24.7M``."""
    if tokens < THOUSAND:
        return str(tokens)
    if tokens < 10 * THOUSAND:
        return f"{tokens / THOUSAND:.1f}k"
    if tokens < MILLION:
        return f"{tokens / THOUSAND:.0f}k"
    return f"{tokens / MILLION:.1f}M"
