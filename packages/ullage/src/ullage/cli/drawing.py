"""A reading as lines of text: the one drawing that terminal, pipe and picture share. Pure: no terminal, no clock."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.cli.footing import footing
from ullage.cli.table import ROWS_HINT, table_of
from ullage.display.gauge import gauge
from ullage.display.gauge_line import amount, spelled
from ullage.display.glyphs import UNICODE, Glyphs
from ullage.display.text import (
    Line,
    Span,
    counted,
    flowed,
    number,
    percent,
    printable,
    shortened,
    wrapped,
)
from ullage.meter.limit_texts import (
    passed_sentence,
    threshold_sentence,
    threshold_source,
    window_source,
)
from ullage.meter.reading import Reading
from ullage.meter.rows import PartEstimate
from ullage.meter.track import Step

WIDEST = 120
"""Columns a line is filled to at most; on a wider terminal longer lines are harder to read, not better."""

NARROWEST = 40
GAUGE_WIDEST = 80
INDENT = " " * 9
"""As wide as the word the headline begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a reading is of, and what stands beside it."""

    reading: Reading
    program: str = ""
    title: str = ""
    step: int | None = None
    """The reading is the one before this call; ``None`` is the end of the session."""
    calls: int = 0
    """How many calls the whole session has."""
    steps: tuple[Step, ...] = ()
    """The calls up to the reading."""
    learnt_earlier: int = 0
    """From how many calls of earlier sessions the calibration came that the reading began with."""
    largest: tuple[PartEstimate, ...] = ()
    """For the note of the Messages row."""
    skipped: tuple[str, ...] = ()
    every_row: bool = False
    rows_hint: str = ROWS_HINT
    """How one sees the rows that have no line."""
    window_hint: str = "--window TOKENS"
    """How one says how large an unknown window is."""


def draw(subject: Subject, width: int, glyphs: Glyphs = UNICODE) -> list[Line]:
    """The whole drawing, for a display ``width`` columns wide."""
    lines = draw_top(subject, width, glyphs)
    width = drawn_width(width)
    reading = subject.reading
    lines += table_of(
        reading,
        width,
        largest=subject.largest,
        every_row=subject.every_row,
        rows_hint=subject.rows_hint,
    )
    beside = footing(reading, subject.steps, subject.skipped, width, glyphs)
    lines += [(), *beside] if beside else []
    return [spelled(line, glyphs) for line in lines]


def draw_top(subject: Subject, width: int, glyphs: Glyphs = UNICODE) -> list[Line]:
    """The headline and the gauge alone."""
    width = drawn_width(width)
    lines = _headline(subject, width)
    bar = gauge(subject.reading, min(width, GAUGE_WIDEST), glyphs)
    if bar:
        lines.append(bar)
    return [spelled(line, glyphs) for line in lines]


def drawn_width(width: int) -> int:
    """The columns that are filled on a display of ``width`` columns."""
    return min(max(width, NARROWEST), WIDEST)


def _headline(subject: Subject, width: int) -> list[Line]:
    reading = subject.reading
    window = reading.window.tokens
    named = reading.model not in ("", "unknown")
    items: list[Line] = [
        (Span(printable(reading.model) if named else "unknown model", "model"),)
    ]
    if window is None:
        items += [
            (Span(amount(reading.used), "number"), Span(" tokens")),
            (Span("window unknown", "warn"),),
        ]
    else:
        style = "bad" if reading.used.tokens > window else "number"
        share = percent(reading.used.tokens, window)
        items.append(
            (
                Span(amount(reading.used), style),
                Span(f" of {number(window)} tokens ({share})"),
            )
        )
    items += _compaction_point(reading)
    about: list[Line] = [
        (Span(shortened(part, width - len(INDENT)), "dim"),) for part in _about(subject)
    ]
    lines = flowed(items, width, first="Context  ", indent=INDENT)
    if len(lines) > 1:  # narrow: what it is of goes on where there is room
        lines = flowed([*items, *about], width, first="Context  ", indent=INDENT)
    elif about:
        lines += flowed(about, width, first=INDENT, indent=INDENT)
    lines[0] = (Span("Context  ", "title"), *lines[0][1:])
    if window is None:
        hint = f"{subject.window_hint} says how large it is. The shares below are of what is used."
        lines += [
            (Span(INDENT + part, "dim"),) for part in wrapped(hint, width - len(INDENT))
        ]
    return lines


def _about(subject: Subject) -> list[str]:
    parts = [printable(part) for part in (subject.program, subject.title)]
    if subject.step is not None:
        parts.append(f"before call {number(subject.step)} of {number(subject.calls)}")
    elif subject.calls:
        parts.append(f"after {counted(subject.calls, 'call')}")
    parts.append(window_source(subject.reading.window))
    parts.append(threshold_source(subject.reading.threshold))
    if subject.learnt_earlier:
        parts.append(f"calibrated by {counted(subject.learnt_earlier, 'earlier call')}")
    return [part for part in parts if part]


def _compaction_point(reading: Reading) -> list[Line]:
    if reading.should_compact():
        sentence = passed_sentence(reading.threshold)
        if reading.used.tokens < (reading.compaction_point or 0):
            sentence = f"may be {sentence}"
        return [(Span(sentence, "bad"),)]
    sentence = threshold_sentence(reading.threshold)
    return [(Span(sentence),)] if sentence else []
