"""One line for each call that a proxy metered."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

from ullage.display.gauge import Drawable, gauge
from ullage.display.glyphs import Glyphs
from ullage.display.text import Line, Span, number, padded, percent, printable, shortened

BAR: Final = 16
PROGRAM: Final = 20
NARROW_PROGRAM: Final = 12
SESSION: Final = 6
LANE: Final = 8
FIGURES: Final = 22
"""Cells of the arrow, the report and the error, or of what is there in their place."""
WIDE: Final = 120
"""Cells from which on a line has its bar and what is left until compaction."""
ROOMY: Final = 100
"""Cells from which on a line has the program's version."""


class CallFigures(NamedTuple):
    """What a line shows. ``actual`` is the reported input; ``None`` where none was reported.

    ``program`` and ``session`` may come from outside. ``problem`` is empty for a call that was answered in full.
    """

    at: float
    program: str
    session: str
    lane: str
    """``main``, ``child-2``, ``summary``, ``title``."""
    estimate: int
    actual: int | None = None
    problem: str = ""
    reading: Drawable | None = None
    """The window after the call; ``None`` for a call beside the conversation."""


def call_line(call: CallFigures, glyphs: Glyphs, width: int = WIDE) -> Line:
    """Time, program, end of the session's id, lane, estimate and report, and how full the window is.

    It has at most ``width`` cells, or 80: a narrow line has less in it.
    """
    clock = (
        datetime.fromtimestamp(
            call.at,
            UTC,
        )
        .astimezone()
        .strftime("%H:%M:%S")
    )
    room = PROGRAM
    name = printable(call.program) or "unknown"
    if width < ROOMY:
        room = NARROW_PROGRAM
        name = name.partition(" ")[0]
    program = shortened(name, room)
    session = printable(call.session)[-SESSION:]
    spans = [
        Span(clock, "dim"),
        Span(f"  {padded(program, room)} "),
        Span(padded(session, SESSION), "dim"),
        Span(f" {padded(shortened(call.lane, LANE), LANE)} "),
    ]
    spans.extend(_figures(call, glyphs))
    if call.reading is not None:
        spans.extend(_window(call.reading, glyphs, has_bar=width >= WIDE))
    return tuple(spans)


def _figures(call: CallFigures, glyphs: Glyphs) -> Line:
    estimate = padded(number(call.estimate), 9, right=True)
    if call.problem:
        problem = shortened(printable(call.problem), FIGURES)
        return (Span(f"{estimate} "), Span(padded(problem, FIGURES), "bad"))
    if call.actual is None:
        unknown = padded("no usage reported", FIGURES)
        return (Span(f"{estimate} "), Span(unknown, "dim"))
    error = 100 * (call.estimate - call.actual) / max(1, call.actual)
    actual = padded(number(call.actual), 9, right=True)
    off = padded(f"{error:+.2f} %", 10, right=True)
    arrow = glyphs.spell("→")
    return (Span(f"{estimate} {arrow} {actual} "), Span(off, "dim"))


def _window(reading: Drawable, glyphs: Glyphs, *, has_bar: bool) -> Line:
    window, point = reading.window.tokens, reading.compaction_point
    if window is None:
        return (Span("  no window", "dim"),)
    share = padded(percent(reading.used.tokens, window), 5, right=True)
    if not has_bar:
        return (Span(f" {share}"),)
    spans = [Span("  "), *gauge(reading, BAR, glyphs), Span(f" {share}")]
    if point is not None:
        left = point - reading.proven_high
        if left > 0:
            spans.append(Span(f", {number(left)} left", "dim"))
        else:
            spans.append(Span(", compaction due", "warn"))
    return tuple(spans)
