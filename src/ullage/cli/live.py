"""A session as it happens, printed line by line, with the gauge below the last line of a terminal.

Takes what ``Session.events`` gives. What a model or a tool says moves no cursor and changes no colour. A pipe gets
plain lines, and the gauge as a line of its own after each call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from ullage.cli.ask import safe
from ullage.cli.drawing import amount
from ullage.cli.gauge import gauge
from ullage.cli.screen import Screen
from ullage.cli.text import Line, Span, number, percent, printable, shortened
from ullage.events import (
    ApprovalAsked,
    CallEnded,
    CallRetried,
    Cancelled,
    ChildStarted,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    LimitLearnt,
    MessageAdded,
    ModelChanged,
    Pruned,
    Queued,
    QueueLeft,
    ReadingTaken,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
)
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.meter.reading import Reading
from ullage.store.store import DraftPiece

GAUGE_CELLS: Final = 40
LONGEST_ARGUMENT: Final = 40

_OUTCOMES: Final = {
    "finished": "",
    "failed": "failed",
    "not_started": "not run",
    "unknown": "outcome unknown",
    "timed_out": "timed out",
    "cancelled": "stopped",
    "denied": "not allowed",
}


class Live:
    """Prints one session. ``reading`` gives the reading of the session now, for the gauge."""

    def __init__(self, screen: Screen, *, shows_user: bool = True, shows_reasoning: bool = True) -> None:
        self.screen = screen
        self.shows_user = shows_user
        self.shows_reasoning = shows_reasoning and screen.is_terminal
        self.seen = 0
        """The number of the last event that was shown."""
        self._calls: dict[str, str] = {}
        self._streamed: set[str] = set()
        self._open = ""
        """The kind of text that stands unfinished on the last line."""
        self._gauge: Line = ()
        self._is_drawn = False

    # -- what happens --

    def show(self, event: Event | DraftPiece, reading: Reading) -> None:
        """One event or piece of an answer, at once."""
        if not isinstance(event, DraftPiece):
            self.seen = event.seq
        match event:
            case DraftPiece():
                self._piece(event)
            case MessageAdded():
                self._message(event.message)
            case ReadingTaken():
                self._set_gauge(reading, event)
            case _:
                line = self._line_of(event)
                if line:
                    self.line(line)

    def line(self, line: Line) -> None:
        """A line of its own, above the gauge."""
        self._end_text()
        self._wipe()
        self.screen.show([line])
        self._draw()

    def end(self) -> None:
        """Leave the terminal at the begin of a line, the gauge standing where it was last."""
        self._end_text()
        if self._is_drawn:
            self.screen.stream.write("\n")
            self._is_drawn = False
        self.screen.stream.flush()

    def _line_of(self, event: Event) -> Line:
        match event:
            case Queued():
                if event.position == 1 and not self._gauge:
                    return ()
                return (Span(f"  queued ({event.kind.replace('_', '-')}): ", "dim"), Span(self._cut(event.message)))
            case QueueLeft(how="returned"):
                return (Span("  given back, not sent: ", "dim"), Span(printable(event.message_id), "dim"))
            case QueueLeft(how="withdrawn"):
                return (Span("  withdrawn: ", "dim"), Span(printable(event.message_id), "dim"))
            case ToolStarted():
                return ()
            case ToolEnded():
                return self._tool_line(event)
            case ApprovalAsked():
                return (Span("  asks for your word: ", "warn"), Span(self._calls.get(event.call_id, event.call_id)))
            case CallRetried():
                wait = f" Trying again in {event.wait_s:.1f} s."
                return (Span(f"  {printable(event.error)}{wait}", "warn"),)
            case CallEnded(purpose="main", outcome="failed"):
                return (Span(f"  {printable(event.error)}", "bad"),)
            case Cancelled():
                kept = {"partial_assistant": "the partial answer is kept", "tools_in_progress": "tools were running"}
                return (Span(f"  cancelled: {kept.get(event.persisted or '', 'nothing was under way')}", "warn"),)
            case ChildStarted():
                return (Span(f"  agent {printable(event.child)} on {printable(event.model)}", "dim"),)
            case ModelChanged():
                return (Span(f"  model: {printable(event.model)}", "dim"),)
            case LimitLearnt() if event.window:
                return (Span(f"  window: {number(event.window)} (the {event.source} says)", "dim"),)
            case TurnPaused():
                return (Span(f"  paused ({event.reason}): {printable(event.note)}", "warn"),)
            case TurnEnded():
                return _end_line(event)
            case _:
                return _compaction_line(event)

    # -- text that streams --

    def _piece(self, piece: DraftPiece) -> None:
        self._streamed.add(piece.part)
        match piece.kind:
            case "text":
                self._write("text", piece.text)
            case "reasoning" if self.shows_reasoning:
                self._write("reasoning", piece.text)
            case "call" | "reasoning" | "done":
                return

    def _write(self, kind: str, text: str) -> None:
        if self._open != kind:
            self._end_text()
            self._wipe()
            self._open = kind
            if kind == "reasoning" and self.screen.has_colour:
                self.screen.stream.write("\x1b[2m")
        encodable = safe(text).encode(self.screen.encoding, "replace").decode(self.screen.encoding)
        self.screen.stream.write(encodable)
        self.screen.stream.flush()

    def _end_text(self) -> None:
        if self._open:
            reset = "\x1b[0m" if self._open == "reasoning" and self.screen.has_colour else ""
            self.screen.stream.write(f"{reset}\n")
            self._open = ""
            self._draw()

    # -- messages and tools --

    def _message(self, message: Message) -> None:
        for call in message.of_type(ToolCallPart):
            self._calls[call.call_id] = described(call)
        if message.role == "user" and message.origin == "said" and self.shows_user:
            self.line((Span("> ", "title"), Span(self._cut(message), "strong")))
        if message.role == "assistant":
            for part in message.of_type(TextPart):
                if part.id not in self._streamed and part.text:
                    self._write("text", part.text)
            if message.interrupted:
                self.line((Span(f"  (interrupted: {message.interrupted})", "warn"),))
            self._end_text()
        if message.role == "tool":
            for result in message.of_type(ToolResultPart):
                self._result(result)

    def _result(self, result: ToolResultPart) -> None:
        name = self._calls.get(result.call_id, printable(result.name))
        shown = shortened(printable(result.text[:400]), max(20, min(self.screen.width, 100) - 6))
        self.line((Span("● ", "row2" if not result.is_error else "bad"), Span(name, "strong")))
        if shown:
            self.line((Span(f"  {shown}", "dim"),))

    def _tool_line(self, event: ToolEnded) -> Line:
        outcome = _OUTCOMES[event.outcome]
        if event.handle:
            return (Span(f"  {number(event.size_bytes or 0)} bytes; the model gets both ends and a handle", "dim"),)
        return (Span(f"  {self._calls.get(event.call_id, '')}: {outcome}", "warn"),) if outcome else ()

    def _cut(self, message: Message) -> str:
        text = " ".join(part.text for part in message.of_type(TextPart))
        return shortened(printable(text), max(20, self.screen.width - 24))

    # -- the gauge --

    def _set_gauge(self, reading: Reading, event: ReadingTaken) -> None:
        grown = f" {event.grown:+,}" if event.grown else ""
        self._gauge = gauge_line(reading, self.screen, grown=grown)
        if not self.screen.is_terminal:
            self.screen.show([self._gauge])
        elif not self._open:
            self._wipe()
            self._draw()

    def _draw(self) -> None:
        """Put the gauge below the last line; the next line takes its place."""
        if self._gauge and self.screen.is_terminal and not self._is_drawn:
            self.screen.show([self._gauge])
            self.screen.stream.write("\x1b[1A")
            self.screen.stream.flush()
            self._is_drawn = True

    def _wipe(self) -> None:
        if self._is_drawn:
            self.screen.stream.write("\r\x1b[2K")
            self._is_drawn = False


def gauge_line(reading: Reading, screen: Screen, *, grown: str = "", cells: int = GAUGE_CELLS) -> Line:
    """The window in one line: bar, used with its interval, of how much, and where compaction starts."""
    window = reading.window.tokens
    said = amount(reading.used)
    if window is None:
        return (Span(f"{said} tokens, window unknown{grown}", "dim"),)
    style = "bad" if reading.used.tokens > window else ""
    room = max(8, min(cells, screen.width - 50))
    share = percent(reading.used.tokens, window)
    of = Span(f" of {number(window)} ({share})")
    spans = (*gauge(reading, room, screen.glyphs), Span(" "), Span(said, style), of)
    return (*(Span(screen.glyphs.spell(span.text), span.style) for span in spans), Span(grown, "dim"))


def described(call: ToolCallPart) -> str:
    """A call as a person would write it: ``read(path=notes.md)``."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, Mapping):
        return f"{printable(call.name)}(…)"
    shown = ", ".join(f"{printable(str(name))}={_value(value)}" for name, value in arguments.items())
    return f"{printable(call.name)}({shortened(shown, 2 * LONGEST_ARGUMENT)})"


def _value(value: object) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(printable(written), LONGEST_ARGUMENT)


def _end_line(event: TurnEnded) -> Line:
    if event.reason in ("finished", "cancelled"):
        return ()
    words = {"max_steps": "the limit of steps", "too_large": "it can't be made to fit", "loop": "it went in circles"}
    why = words.get(event.reason, event.reason)
    return (Span(f"  ended ({why}): {printable(event.note)}", "warn"),)


def _compaction_line(event: Event) -> Line:
    match event:
        case Pruned():
            what = f"cleared {number(len(event.parts))} old tool results"
            return (Span(f"  {what}: {_sizes(event.before, event.after)}", "mark"),)
        case CompactionStarted():
            return (Span(f"  compacting ({printable(event.trigger)}) …", "mark"),)
        case CompactionCommitted():
            gone = len(event.summarised) + len(event.dropped)
            what = f"{number(gone)} messages into a {printable(event.rung or 'summary')}"
            return (Span(f"  compacted: {what}: {_sizes(event.before, event.after)}", "mark"),)
        case CompactionRolledBack() if not event.rung:
            return (Span(f"  not compacted ({printable(event.reason)}): {printable(event.note)}", "warn"),)
        case _:
            return ()


def _sizes(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return "size unknown"
    return f"{number(before)} -> {number(after)} tokens"
