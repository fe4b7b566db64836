"""The advice for a session as lines of text: each suggestion with its size, what it saves, and how it is done."""

from __future__ import annotations

from typing import Final

from ullage.advice.history import WindowHistory
from ullage.advice.next_compaction import CallsLeft, NextCompaction
from ullage.advice.savings import TokenSaving
from ullage.advice.suggestion import AdviceOutcome, Suggestion
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
    plain,
    printable,
    shortened,
    wrapped,
)

BAR: Final = 14
"""Cells of a bar; fewer where the display is narrow."""

FAR: Final = 1_000
"""Calls beyond which their number says nothing."""

NARROW: Final = 64
TITLE: Final = "Advice   "
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
    lines: list[Line] = [(), *_paragraph(TITLE, _heading(advice), width, "title")]
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
        text = printable(_compaction(advice.compaction, history))
        lines += _paragraph(INDENT, text, width)
    return [spelled(line, glyphs) for line in lines]


def _heading(advice: Advice) -> str:
    if not advice.calls:
        return "No model call has ended yet, so nothing can be said of what it costs."
    count = len(advice.suggestions)
    if not count:
        return f"Nothing worth leaving out was found in {counted(advice.calls, 'call')}."
    saving = advice.total
    parts: list[str] = []
    if saving.tokens:
        share = percent(saving.tokens, advice.used)
        parts.append(f"about {number(saving.tokens)} tokens less a call ({share})")
    so_far = f"{short(saving.so_far)} of {short(advice.paid)} input tokens so far"
    if saving.usd is not None and saving.usd >= CENT and advice.usd:
        so_far = f"{dollars(saving.usd)} of {dollars(advice.usd)} so far"
    parts.append(so_far)
    together = " together" if count > 1 else ""
    return f"{counted(count, 'suggestion')}:{together} {BESIDE.join(parts)}"


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


def saving_text(saving: TokenSaving) -> str:
    """What is saved, in a few words: a call, and so far."""
    parts: list[str] = []
    so_far = f"{short(saving.so_far)} tokens so far"
    if saving.tokens:
        text = f"{number(saving.tokens)} tokens a call"
        if (saving.low, saving.high) != (saving.tokens, saving.tokens):
            text += f" ({number(saving.low)} to {number(saving.high)})"
        parts.append(text)
        so_far = f"{short(saving.so_far)} so far"
    if saving.usd is not None and saving.usd >= CENT:
        so_far += f", {dollars(saving.usd)}"
    return BESIDE.join([*parts, so_far])


def outcome_text(outcome: AdviceOutcome) -> str:
    """What was promised and what was saved, in a sentence."""
    text = f"{outcome.title}: promised {number(outcome.promised)} tokens a {outcome.unit}"
    text += f", measured {number(outcome.measured)}"
    return text if outcome.has_helped else text + ". It did not help"


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
    room = width - cells(plain(begin)) - 1
    return (*begin, Span(shortened(printable(cost.label), max(8, room))))


# -- the next compaction --


def _compaction(compaction: NextCompaction, history: WindowHistory) -> str:
    at = number(compaction.threshold)
    text = f"{compaction.by} compacts at {at}"
    if not compaction.by:
        text = f"Ullage would compact at {at}"
    if history.used > compaction.threshold:
        text += f", and the next request has {number(history.used)} already"
    elif compaction.left is not None:
        text += f", {_when(compaction.left)}"
    if compaction.leaves == 0:
        text += ". It would find nothing to take out now"
    elif compaction.leaves is not None:
        becomes = "become a summary"
        if not compaction.is_summary:
            becomes = "be cleared without a summary"
        parts = counted(len(compaction.items), "part")
        text += f". If it came now, {parts} of {number(compaction.leaves)} tokens"
        text += f" would {becomes} and {number(compaction.stays or 0)} would stay"
    if compaction.note and compaction.is_summary:
        text += f". {compaction.note}"
    return f"{text}."


def _when(left: CallsLeft) -> str:
    if left.calls <= 0:
        return "which the next call may reach"
    growth = f"at {number(left.growth)} tokens a call"
    if left.calls > FAR:
        return f"more than {counted(FAR, 'call')} away {growth}"
    ends = f"{number(left.low)} to {number(left.high)}"
    return f"in about {counted(left.calls, 'call')} ({ends}) {growth}"


def short(tokens: int) -> str:
    """A number of tokens in at most five characters: ``812``, ``9.9k``, ``682k``, ``24.7M``."""
    if tokens < THOUSAND:
        return str(tokens)
    if tokens < 10 * THOUSAND:
        return f"{tokens / THOUSAND:.1f}k"
    if tokens < MILLION:
        return f"{tokens / THOUSAND:.0f}k"
    return f"{tokens / MILLION:.1f}M"
