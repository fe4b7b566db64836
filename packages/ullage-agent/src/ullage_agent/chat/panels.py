"""The lines around the transcript: queued messages, the question, completions, the gauge and the foot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.text import Text
from textual.app import App
from textual.widgets import Static

from ullage.advice.cause import Cause
from ullage.display.gauge import gauge
from ullage.display.gauge_line import amount, spelled
from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    Line,
    Span,
    cells,
    counted,
    number,
    percent,
    printable,
    shortened,
)
from ullage.meter.reading import Reading
from ullage.turns.loop import Loop
from ullage_agent.chat.approving import Approving
from ullage_agent.chat.commands import Command
from ullage_agent.chat.rendering import look

HINTS: Final = ("/help", "Esc cancels", "Tab: when done", "Ctrl+O unfolds")
SHOWN_COMMANDS: Final = 8
QUESTION_SHARE: Final = 0.65
"""Part of the screen that a question may take."""

NAMES: Final = ("waiting", "question", "completing", "gauge", "foot")


class Panel(Static):
    """Some lines; it takes no room while there are none."""

    DEFAULT_CSS = "Panel { height: auto; padding: 0 1; background: transparent; }"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.shown = Text()

    def put(self, lines: Iterable[Line]) -> None:
        """Show these lines, if they are others than before."""
        text = as_text(lines)
        self.display = bool(text.plain)
        if text != self.shown:
            self.shown = text
            self.update(text)


class Panels:
    """Draws the panels of one screen from what a session is at."""

    def __init__(self, app: App[str], glyphs: Glyphs) -> None:
        self._app = app
        self._glyphs = glyphs

    def _put(self, name: str, lines: Iterable[Line]) -> None:
        self._app.screen_stack[0].query_one(f"#{name}", Panel).put(lines)

    @property
    def _width(self) -> int:
        return max(20, self._app.size.width - 2)

    def gauge(self, reading: Reading, grown: int | None, expected: Cause | None) -> None:
        """The window in one line; below it why the next call will pay again for what is cached."""
        lines = [gauge_line(reading, grown, self._width, self._glyphs)]
        if expected is not None:
            words = shortened(f"the next call: {expected.line}", self._width)
            lines.append((Span(printable(words), "warn"),))
        self._put("gauge", lines)

    def waiting(self, loop: Loop, editing: str) -> None:
        """The queue in the order of delivery; ``editing`` is the message that is in the input."""
        queue = sorted(loop.queue, key=lambda one: one.kind == "follow_up")
        ids = [one.message.id for one in queue]
        place = ids.index(editing) if editing in ids else -1
        lines = waiting_lines(
            tuple((one.kind, one.message.text) for one in queue), self._width, place
        )
        if lines:
            lines.append((Span("Up edits the newest, Ctrl+X withdraws it", "dim"),))
        self._put("waiting", lines)

    def question(self, approving: Approving, *, is_typing: bool) -> None:
        """Whether a call may run."""
        height = max(6, int(self._app.size.height * QUESTION_SHARE) - 1)
        self._put("question", approving.lines(self._width, height, is_typing=is_typing))

    def completing(self, found: Sequence[Command], marked: int) -> None:
        """The commands that what is typed may become."""
        lines: list[Line] = []
        top = max(0, min(marked - SHOWN_COMMANDS // 2, len(found) - SHOWN_COMMANDS))
        for place, command in enumerate(found[top : top + SHOWN_COMMANDS], top):
            style, mark = ("title", "› ") if place == marked else ("", "  ")
            usage = f"{mark}{command.usage:<28}  "
            about = shortened(command.about, max(10, self._width - cells(usage)))
            lines.append((Span(usage, style), Span(about, "dim")))
        if len(found) > SHOWN_COMMANDS:
            lines.append(
                (Span(f"  {counted(len(found), 'command')}, Up and Down", "dim"),)
            )
        self._put("completing", lines)

    def foot(self, left: Line, model: str, session: str) -> None:
        """What is done, by which model, in which session."""
        self._put("foot", [foot_line(left, model, session, HINTS, self._width)])


def as_text(lines: Iterable[Line]) -> Text:
    """Lines as rich prints them, each on its own, cut where the screen ends."""
    text = Text(no_wrap=True, overflow="ellipsis", end="")
    for place, line in enumerate(lines):
        if place:
            text.append("\n")
        for span in line:
            text.append(span.text, look(span.style))
    return text


BAR_NARROWEST: Final = 10
BAR_WIDEST: Final = 60


def gauge_line(reading: Reading, grown: int | None, width: int, glyphs: Glyphs) -> Line:
    """Bar with the compaction threshold, used ± interval of the window, where it compacts, growth, and why it is weak.

    What does not fit goes, the words about the compaction threshold first: the bar marks it. ``used`` always stays.
    """
    window = reading.window.tokens
    said = amount(reading.used)
    if window is None:
        of = " tokens, window unknown (/set window 200k)"
        style, share = "warn", ""
    else:
        style = (
            "bad"
            if reading.should_compact() or reading.used.tokens > window
            else "number"
        )
        of, share = f" of {number(window)}", f" ({percent(reading.used.tokens, window)})"
    head = spelled((Span(said, style), Span(of + share)), glyphs)
    room = width - (BAR_NARROWEST + 1 if window else 0)
    rest = next(
        (
            each
            for each in _choices(reading, grown)
            if sum(3 + cells(span.text) for span in each) + _length(head) <= room
        ),
        (),
    )
    shown: list[Span] = list(head)
    for one in rest:
        shown += [Span(f" {glyphs.dot} ", "dim"), one]
    bar: Line = ()
    left = width - _length(tuple(shown)) - 1
    if window is not None and left > 3:
        bar = (*gauge(reading, min(BAR_WIDEST, left), glyphs), Span(" "))
    return (*bar, *shown)


def _choices(reading: Reading, grown: int | None) -> list[Line]:
    """What stands beside the number, the longest wording first; the bar marks the compaction threshold in any case."""
    point, past, source = (
        reading.compaction_point,
        reading.should_compact(),
        source_of(reading),
    )
    compacts = [] if point is None else [Span(f"compacts at {number(point)}")]
    if past and point is not None:
        compacts = [Span(f"past the compaction threshold, {number(point)}", "warn")]
    long = [Span(f"{grown:+,} last step", "dim")] if grown else []
    long += [Span(source, "dim")] if source else []
    short = [Span(f"{grown:+,}", "dim")] if grown else []
    short += [Span("est.", "dim")] if source else []
    return [
        (*compacts, *long),
        (*compacts, *short),
        tuple(long),
        tuple(short),
        tuple(short[-1:]),
    ]


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
    return (
        (*told, Span(f" {elapsed_s:.0f} s", "dim"))
        if is_busy and elapsed_s >= 2
        else told
    )


def _doing(loop: Loop, streaming: str) -> Line:
    if loop.paused:
        return (
            Span(
                {"approval": "needs your approval"}.get(
                    loop.paused, f"paused ({loop.paused})"
                ),
                "warn",
            ),
        )
    if loop.cancel:
        return (
            Span("cancelling", "warn"),
            Span("  Esc again does not wait for tools", "dim"),
        )
    if loop.compaction:
        return (Span("compacting", "mark"),)
    running = [printable(call.name) for call in loop.open if call.state == "started"]
    if running:
        return (Span(f"running {', '.join(running)}", "row2"),)
    if loop.call:
        return (
            Span(
                {"text": "writing", "reasoning": "thinking", "call": "calling"}.get(
                    streaming, "waiting"
                ),
                "row2",
            ),
        )
    if loop.turn:
        return (Span("working", "row2"),)
    return (Span("ready", "dim"),)


def foot_line(
    left: Line, model: str, session: str, keys: tuple[str, ...], width: int
) -> Line:
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


def waiting_lines(
    waiting: tuple[tuple[str, str], ...], width: int, editing: int = -1
) -> list[Line]:
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
        lines.append(
            (
                Span(f"{word}  ", "mark"),
                Span(shortened(printable(text), room)),
                Span(f"  {mark}", "dim"),
            )
        )
    return lines
