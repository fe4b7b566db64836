"""What stands under the rows: how the estimates fared, compactions, spend, growth, and what the reader should know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    SMALLEST_USD,
    Line,
    Span,
    counted,
    dollars,
    fine_percent,
    flowed,
    number,
    padded,
    printable,
    signed_percent,
    wrapped,
)
from ullage.meter.reading import Reading
from ullage.meter.track import Step
from ullage.usage import UsageSum

LABEL = 10
"""Columns of the label in front of a line."""

SPARK_NARROWEST, SPARK_WIDEST = 20, 60

KINDS = {
    "input": "input",
    "cache_read": "from cache",
    "cache_write": "to cache",
    "output": "output",
    "reasoning": "reasoning",
}

MISSES_EXPECTED = 0.1
"""Share of calls outside their interval from which on it is said: twice what an interval of 95 % should miss."""


def footing(
    reading: Reading,
    steps: Sequence[Step],
    skipped: Sequence[str],
    width: int,
    glyphs: Glyphs,
) -> list[Line]:
    """All of it; a line whose subject is unknown is left out."""
    growth = _growth(reading, steps, width, glyphs)
    lines = [*_accuracy(reading, width), *_spend(reading, width), *growth]
    if reading.compactions and not growth:
        lines += _labelled("Compacted", [_times(reading.compactions)], width)
    for note in reading.notes:
        lines += _labelled("Note", [printable(note)], width, "warn")
    if skipped:
        said = [printable(each) for each in skipped]
        lines += _labelled("Skipped", said, width, "warn")
    return lines


def _labelled(
    label: str, items: Sequence[str], width: int, style: str = "strong"
) -> list[Line]:
    """Items behind a label, separated by dots and wrapped under themselves."""
    pieces: list[Line] = []
    for item in items:
        lines = [item] if len(item) <= width - LABEL else wrapped(item, width - LABEL)
        pieces += [(Span(line),) for line in lines]
    drawn = flowed(pieces, width, first=padded(label, LABEL), indent=" " * LABEL)
    return [(Span(padded(label, LABEL), style), *drawn[0][1:]), *drawn[1:]]


def _accuracy(reading: Reading, width: int) -> list[Line]:
    accuracy = reading.accuracy
    if accuracy.actual is None or accuracy.estimated is None:
        return []
    said = f"Last estimate {number(accuracy.estimated)}, actual {number(accuracy.actual)}"
    if accuracy.error_percent is not None:
        said += f": {signed_percent(accuracy.error_percent)}"
    items = [said]
    if accuracy.median_error_percent is not None:
        median = fine_percent(accuracy.median_error_percent)
        items.append(f"median error over {counted(accuracy.calls, 'call')} {median}")
        missed = accuracy.calls - accuracy.inside
        if missed > max(1, MISSES_EXPECTED * accuracy.calls):
            items.append(f"{number(missed)} of them outside their interval")
    return flowed([(Span(item),) for item in items], width)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{number(count)} times")


def _spend(reading: Reading, width: int) -> list[Line]:
    spend = reading.spend
    total, money = spend.all, spend.money
    if not total.calls:
        return []
    calls = [counted(total.calls, "call")]
    for purpose, each in spend.by_purpose.items():
        if purpose != "main":
            what = "for other purposes" if purpose == "other" else purpose
            calls.append(f"{number(each.calls)} {what}")
    if len(calls) > 1:
        calls[-1] += " among them"
    items = [", ".join(calls), *usage_items(total)]
    if money.priced:
        said = f"{dollars(money.usd)} at list prices"
        if money.usd >= SMALLEST_USD and (money.inexact or money.unpriced):
            said = f"about {said}"
        if money.unpriced:
            said += f" without {counted(money.unpriced, 'unpriced call')}"
        items.append(said)
    return _labelled("Spend", items, width)


def usage_items(total: UsageSum) -> list[str]:
    """Each kind of token in words. A kind that some calls did not report is a lower bound and says ``at least``."""
    items: list[str] = []
    for name, words in KINDS.items():
        unsaid = total.unsaid.get(name, 0)
        if unsaid < total.calls:
            least = "at least " if unsaid else ""
            items.append(f"{words} {least}{number(getattr(total, name))}")
    return items


def _growth(
    reading: Reading, steps: Sequence[Step], width: int, glyphs: Glyphs
) -> list[Line]:
    if len(steps) < 2:
        return []
    sizes = [step.tokens for step in steps]
    ends = f"{number(min(sizes))} to {number(max(sizes))}"
    room = width - LABEL - len(ends) - 2
    growth = sparkline(steps, min(max(room, SPARK_NARROWEST), SPARK_WIDEST), glyphs)
    label, blank = padded("Growth", LABEL), " " * LABEL
    key: list[str] = []
    if glyphs.compacted in growth.marks or reading.compactions:
        key.append(f"{glyphs.compacted} compacted {_times(reading.compactions)}")
    if glyphs.pruned in growth.marks:
        key.append(f"{glyphs.pruned} pruned")
    lines = _beside((Span(label, "strong"), Span(growth.line, "spark")), [ends], width)
    if growth.marks.strip():
        lines += _beside((Span(blank), Span(growth.marks.rstrip(), "mark")), key, width)
    elif key:
        lines += flowed([(Span(piece, "dim"),) for piece in key], width, first=blank)
    return lines


def _beside(spans: Line, words: Sequence[str], width: int) -> list[Line]:
    """Words after a line where they fit, else under it."""
    text = " · ".join(words)
    if sum(len(span.text) for span in spans) + 2 + len(text) <= width:
        return [(*spans, Span(f"  {text}", "dim"))]
    blank = " " * LABEL
    pieces = [(Span(piece, "dim"),) for piece in words]
    return [spans, *flowed(pieces, width, first=blank, indent=blank)]


class Sparkline(NamedTuple):
    """A sparkline and, of the same length, the marks under it (blank where nothing happened)."""

    line: str
    marks: str


def sparkline(steps: Sequence[Step], width: int, glyphs: Glyphs) -> Sparkline:
    """At most ``width`` columns: one for each call, or the highest of several neighbours. Its foot is 0 tokens."""
    top = max((step.tokens for step in steps), default=0)
    columns = min(max(1, width), len(steps))
    line = found = ""
    for column in range(columns):
        start, end = column * len(steps) // columns, (column + 1) * len(steps) // columns
        together = steps[start:end]
        tokens = max(step.tokens for step in together)
        line += glyphs.levels[tokens * len(glyphs.levels) // (top + 1)]
        marks = {mark for step in together for mark in step.marks}
        if "compaction" in marks:
            found += glyphs.compacted
        else:
            found += glyphs.pruned if "prune" in marks else " "
    return Sparkline(line, found)
