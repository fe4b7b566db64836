"""The two lines at the foot: the gauge, and what the session is doing. Pure: all numbers are a reading's own."""

from __future__ import annotations

from typing import Final

from ullage.agent.loop import Loop
from ullage.display.gauge import gauge
from ullage.display.gauge_line import amount, spelled
from ullage.display.glyphs import Glyphs
from ullage.display.text import Line, Span, cells, number, percent, printable, shortened
from ullage.meter.reading import Reading

BAR_NARROWEST: Final = 10
BAR_WIDEST: Final = 60


def gauge_line(reading: Reading, grown: int | None, width: int, glyphs: Glyphs) -> Line:
    """Bar with the compaction point, used ± interval of the window, where it compacts, growth, and why it is weak.

    What does not fit goes, the words about the compaction point first: the bar marks it. ``used`` always stays.
    """
    window = reading.window.tokens
    said = amount(reading.used)
    if window is None:
        of = " tokens, window unknown (/set window 200k)"
        style, share = "warn", ""
    else:
        style = "bad" if reading.should_compact() or reading.used.tokens > window else "number"
        of, share = f" of {number(window)}", f" ({percent(reading.used.tokens, window)})"
    head = spelled((Span(said, style), Span(of + share)), glyphs)
    room = width - (BAR_NARROWEST + 1 if window else 0)
    rest = next((each for each in _choices(reading, grown) if _beside_length(each) + _length(head) <= room), ())
    shown: list[Span] = list(head)
    for one in rest:
        shown += [Span(f" {glyphs.dot} ", "dim"), one]
    bar: Line = ()
    left = width - _length(tuple(shown)) - 1
    if window is not None and left > 3:
        bar = (*gauge(reading, min(BAR_WIDEST, left), glyphs), Span(" "))
    return (*bar, *shown)


def _choices(reading: Reading, grown: int | None) -> list[Line]:
    """What stands beside the number, the longest wording first; the bar marks the compaction point in any case."""
    point, past, source = reading.compaction_point, reading.should_compact(), source_of(reading)
    compacts = [] if point is None else [Span(f"compacts at {number(point)}")]
    if past and point is not None:
        compacts = [Span(f"past the compaction point, {number(point)}", "warn")]
    long = [Span(f"{grown:+,} last step", "dim")] if grown else []
    long += [Span(source, "dim")] if source else []
    short = [Span(f"{grown:+,}", "dim")] if grown else []
    short += [Span("est.", "dim")] if source else []
    return [(*compacts, *long), (*compacts, *short), tuple(long), tuple(short), tuple(short[-1:])]


def _beside_length(line: Line) -> int:
    return sum(3 + cells(span.text) for span in line)


def source_of(reading: Reading) -> str:
    """A word where the number is not what the provider reported for the last call; empty where it is."""
    basis = reading.basis
    if basis.last_input is None or basis.label:
        return "estimated"
    return "partly estimated" if basis.new or basis.changed or basis.removed else ""


def doing(loop: Loop, streaming: str = "", elapsed_s: float = 0.0) -> Line:
    """What the session does now, in a few words. ``streaming`` is the kind of text that was written last.

    ``elapsed_s`` is how long it has been at it, shown from 2 s on.
    """
    told = _doing(loop, streaming)
    is_busy = bool(told) and told[0].style == "row2"
    return (*told, Span(f" {elapsed_s:.0f} s", "dim")) if is_busy and elapsed_s >= 2 else told


def _doing(loop: Loop, streaming: str) -> Line:
    if loop.paused:
        return (Span({"approval": "needs your approval"}.get(loop.paused, f"paused ({loop.paused})"), "warn"),)
    if loop.cancel:
        return (Span("cancelling", "warn"), Span("  Esc again does not wait for tools", "dim"))
    if loop.compaction:
        return (Span("compacting", "mark"),)
    running = [printable(call.name) for call in loop.open if call.state == "started"]
    if running:
        return (Span(f"running {', '.join(running)}", "row2"),)
    if loop.call:
        return (
            Span({"text": "writing", "reasoning": "thinking", "call": "calling"}.get(streaming, "waiting"), "row2"),
        )
    if loop.turn:
        return (Span("working", "row2"),)
    return (Span("ready", "dim"),)


def foot_line(left: Line, model: str, session: str, keys: tuple[str, ...], width: int) -> Line:
    """What is done at the left; at the right the model, the session, and as many hints as fit."""
    right = [shortened(printable(model), 40), session]
    used = _length(left)
    for key in keys:
        if used + 2 + cells(" · ".join([*right, key])) > width:
            break
        right.append(key)
    text = " · ".join(right)
    space = width - used - cells(text)
    if space < 1:
        return left
    return (*left, Span(" " * space), Span(text, "dim"))


def _length(line: Line) -> int:
    return sum(cells(span.text) for span in line)


def waiting_lines(waiting: tuple[tuple[str, str], ...], width: int, editing: int = -1) -> list[Line]:
    """Messages in the queue, in the order of delivery: kind and text of each. ``editing`` is the one in the input."""
    lines: list[Line] = []
    for place, (kind, text) in enumerate(waiting):
        word = "next" if kind == "steer" else "then"
        mark = (
            "being edited"
            if place == editing
            else "goes in before the next call"
            if kind == "steer"
            else "goes in when the turn is over"
        )
        room = max(10, width - cells(mark) - len(word) - 6)
        lines.append((Span(f"{word}  ", "mark"), Span(shortened(printable(text), room)), Span(f"  {mark}", "dim")))
    return lines
