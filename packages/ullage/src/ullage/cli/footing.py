"""What stands under the rows: how the estimates fared, compactions, spend, growth, and what the reader should know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    Line,
    Span,
    counted,
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
        lines += _labelled(
            "Skipped", [printable(each) for each in skipped], width, "warn"
        )
    return lines


def _labelled(
    label: str, items: Sequence[str], width: int, style: str = "strong"
) -> list[Line]:
    """Items behind a label, separated by dots and wrapped under themselves."""
    pieces: list[Line] = []
    for item in items:
        if len(item) <= width - LABEL:
            pieces.append((Span(item),))
        else:
            pieces += [(Span(line),) for line in wrapped(item, width - LABEL)]
    lines = flowed(pieces, width, first=padded(label, LABEL), indent=" " * LABEL)
    lines[0] = (Span(padded(label, LABEL), style), *lines[0][1:])
    return lines


def _accuracy(reading: Reading, width: int) -> list[Line]:
    accuracy = reading.accuracy
    if accuracy.actual is None or accuracy.estimated is None:
        return []
    error = (
        ""
        if accuracy.error_percent is None
        else f": {signed_percent(accuracy.error_percent)}"
    )
    items = [
        f"Last estimate {number(accuracy.estimated)}, actual {number(accuracy.actual)}{error}"
    ]
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
    total = spend.all
    if not total.calls:
        return []
    items = [counted(total.calls, "call"), *usage_items(total)]
    money = spend.money
    if money.priced:
        about = (
            "about " if money.usd >= 0.0001 and (money.inexact or money.unpriced) else ""
        )
        missing = (
            f" without {counted(money.unpriced, 'unpriced call')}"
            if money.unpriced
            else ""
        )
        items.append(f"{about}{dollars(money.usd)} at list prices{missing}")
    others = [
        f"{number(each.calls)} {purpose}"
        for purpose, each in spend.by_purpose.items()
        if purpose != "main"
    ]
    if others:
        items[0] += f", {', '.join(others)} among them"
    return _labelled("Spend", items, width)


def dollars(usd: float) -> str:
    """Money in cents, or finer where cents would say nothing."""
    if 0 < usd < 0.0001:
        return "less than $0.0001"
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"


def usage_items(total: UsageSum) -> list[str]:
    """Each kind of token in words. A kind that some calls did not report is a lower bound and says ``at least``."""

    def is_said(name: str) -> bool:
        return total.unsaid.get(name, 0) < total.calls

    def kind(name: str) -> str:
        value = number(getattr(total, name))
        return f"at least {value}" if total.unsaid.get(name, 0) else value

    names = (
        ("input", "input"),
        ("cache_read", "from cache"),
        ("cache_write", "to cache"),
        ("output", "output"),
        ("reasoning", "reasoning"),
    )
    return [f"{words} {kind(name)}" for name, words in names if is_said(name)]


def _growth(
    reading: Reading, steps: Sequence[Step], width: int, glyphs: Glyphs
) -> list[Line]:
    if len(steps) < 2:
        return []
    sizes = [size_of(step) for step in steps]
    after = [f"{number(min(sizes))} to {number(max(sizes))}"]
    room = width - LABEL - len(after[0]) - 2
    growth = sparkline(steps, min(max(room, SPARK_NARROWEST), SPARK_WIDEST), glyphs)
    spans: Line = (Span(padded("Growth", LABEL), "strong"), Span(growth.line, "spark"))
    blank = Span(" " * LABEL)
    key = []
    if glyphs.compacted in growth.marks or reading.compactions:
        key.append(f"{glyphs.compacted} compacted {_times(reading.compactions)}")
    if glyphs.pruned in growth.marks:
        key.append(f"{glyphs.pruned} pruned")
    lines = _beside(spans, after, LABEL, width)
    if growth.marks.strip():
        lines += _beside((blank, Span(growth.marks.rstrip(), "mark")), key, LABEL, width)
    elif key:
        lines += flowed(
            [(Span(piece, "dim"),) for piece in key], width, first=" " * LABEL
        )
    return lines


def _beside(spans: Line, words: Sequence[str], indent: int, width: int) -> list[Line]:
    """Words after a line where they fit, else under it."""
    text = " · ".join(words)
    if sum(len(span.text) for span in spans) + 2 + len(text) <= width:
        return [(*spans, Span(f"  {text}", "dim"))]
    blank = " " * indent
    return [
        spans,
        *flowed(
            [(Span(piece, "dim"),) for piece in words], width, first=blank, indent=blank
        ),
    ]


class Sparkline(NamedTuple):
    """A sparkline and, of the same length, the marks under it (blank where nothing happened)."""

    line: str
    marks: str


class _Bucket(NamedTuple):
    tokens: int
    mark: str


def sparkline(steps: Sequence[Step], width: int, glyphs: Glyphs) -> Sparkline:
    """At most ``width`` columns: one for each call, or the highest of several neighbours. Its foot is 0 tokens."""
    tokens = [size_of(step) for step in steps]
    top = max(tokens, default=0)
    buckets = _buckets(steps, tokens, max(1, width), glyphs)
    line = "".join(_level(bucket.tokens, top, glyphs.levels) for bucket in buckets)
    return Sparkline(line, "".join(bucket.mark for bucket in buckets))


def size_of(step: Step) -> int:
    """What the window held for this call: as reported, or as estimated where nothing was reported."""
    return step.estimated if step.actual is None else step.actual


def _buckets(
    steps: Sequence[Step], tokens: Sequence[int], width: int, glyphs: Glyphs
) -> list[_Bucket]:
    columns = min(width, len(steps))
    buckets = []
    for column in range(columns):
        start, end = column * len(steps) // columns, (column + 1) * len(steps) // columns
        marks = {mark for step in steps[start:end] for mark in step.marks}
        mark = (
            glyphs.compacted
            if "compaction" in marks
            else glyphs.pruned
            if "prune" in marks
            else " "
        )
        buckets.append(_Bucket(max(tokens[start:end]), mark))
    return buckets


def _level(tokens: int, top: int, levels: str) -> str:
    if top <= 0:
        return levels[0]
    return levels[min(len(levels) - 1, tokens * len(levels) // (top + 1))]
