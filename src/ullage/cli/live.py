"""A session as it happens, line by line, with the gauge below the last line of a terminal.

Takes what ``Session.events`` gives. What a model or a tool says moves no cursor and changes no colour. A pipe gets
plain lines, and the gauge as a line of its own after each call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import msgspec

from ullage.cli.screen import Screen
from ullage.cli.scroll import WIDEST, Scroll
from ullage.cli.server_sentence import server_sentence
from ullage.cli.window_events import window_line
from ullage.codec.foreign import parse_json
from ullage.display.gauge_line import gauge_line, spelled
from ullage.display.text import Line, Span, cells, number, printable, shortened
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallRetried,
    CallStarted,
    Cancelled,
    ChildStarted,
    Event,
    LimitLearnt,
    MessageAdded,
    Queued,
    QueueLeft,
    ReadingTaken,
    RequestRepaired,
    RuleFlipped,
    ToolEnded,
    ToolServerNoticed,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnStarted,
)
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.meter.reading import Reading, Used
from ullage.store.store import DraftPiece

LONGEST_ARGUMENT: Final = 40
LONGEST_CALL: Final = 44
"""Columns of a call in its line; the rest is for its result."""
LONGEST_RESULT: Final = 400
"""Characters of a result that are looked at for its line."""

_BULLETS: Final = ("●", "┌", "├", "└")
_ASCII_BULLETS: Final = ("*", "/", "|", "\\")
"""Of a call alone, and of the first, the ones between and the last of calls that ran side by side."""

OUTCOMES: Final = {
    "finished": "",
    "failed": "failed",
    "not_started": "not run",
    "unknown": "outcome unknown",
    "timed_out": "timed out",
    "cancelled": "stopped",
    "denied": "not allowed",
}
"""What a person reads of how a tool call ended; nothing of one that went well."""


class Live:
    """Shows one session on a screen."""

    def __init__(
        self,
        screen: Screen,
        *,
        shows_user: bool = True,
        shows_text: bool = True,
        shows_reasoning: bool = True,
        allows_all: bool = False,
    ) -> None:
        self.screen = screen
        self.scroll = Scroll(screen)
        self.shows_user = shows_user
        self.shows_text = shows_text
        self.shows_reasoning = shows_reasoning
        self.allows_all = allows_all
        """Whether ``--yes`` answers every question."""
        self.seen = 0
        """The number of the last event that was shown."""
        self._calls: dict[str, str] = {}
        self._batch = self._ended = 0
        """How many calls the last answer made, and how many of them have a result."""
        self._streamed: set[str] = set()
        self._waiting: dict[str, str] = {}
        """Messages that were queued while the agent worked, by id."""
        self._asked: set[str] = set()
        """Calls that need an answer from a person."""
        self._in_turn = False
        self._reading: Reading | None = None
        self._word = ""
        self._is_near = False
        self._call_ended = False

    # -- what happens --

    def show(self, event: Event | DraftPiece, reading: Reading) -> None:
        """One event or piece of an answer, at once; ``reading`` is the session's own of this moment."""
        if isinstance(event, DraftPiece):
            self._piece(event)
            return
        self.seen = event.seq
        match event:
            case TurnStarted():
                self._in_turn = True
            case MessageAdded():
                self._message(event.message)
            case CallStarted(purpose="main"):
                self._set_gauge(reading, "thinking")
            case ToolStarted():
                self._set_gauge(reading, printable(event.name))
            case ReadingTaken():
                self._measured(event, reading)
            case CallEnded(purpose="main", outcome="finished"):
                self._call_ended = True
            case LimitLearnt() if reading.window.source != event.source:
                return  # somebody with more say has set another
            case _:
                if line := self._line_of(event):
                    self.scroll.line(line)

    def end(self) -> None:
        """Leave the terminal at the begin of a line, the gauge standing where it was last."""
        if self._reading is not None and not self.scroll.is_open:
            self._set_gauge(self._reading, "")
        self.scroll.end()

    def _line_of(self, event: Event) -> Line:
        match event:
            case Queued():
                return self._queued(event)
            case QueueLeft(how="returned" | "withdrawn"):
                text = self._waiting.pop(event.message_id, printable(event.message_id))
                said = "given back, not sent" if event.how == "returned" else "withdrawn"
                return (Span(f"  {said}: ", "warn"), Span(self._cut(text, len(said) + 4)))
            case ToolEnded():
                return self._tool_line(event)
            case ApprovalGiven():
                self._asked.discard(event.call_id)
                return ()
            case ApprovalAsked():
                self._asked.add(event.call_id)
                said = "allowed by --yes: " if self.allows_all else "needs your approval: "
                return (Span(f"  {said}", "warn"), Span(self._calls.get(event.call_id, event.call_id)))
            case CallRetried():
                wait = f" Trying again in {event.wait_s:.1f} s."
                return (Span(f"  {printable(event.error)}{wait}", "warn"),)
            case CallEnded(purpose="main", outcome="failed" | "dropped") if event.error:
                return (Span(f"  {printable(event.error)}", "bad"),)
            case Cancelled():
                return (Span(f"  cancelled: {cancelled_words(event, was_asking=bool(self._asked))}", "warn"),)
            case ChildStarted():
                return (Span(f"  agent {printable(event.child)} on {printable(event.model)}", "dim"),)
            case TurnPaused():
                return _pause_line(event)
            case TurnEnded():
                self._in_turn = False
                self._asked.clear()
                return _end_line(event)
            case _:
                return window_line(event) or _learnt_line(event)

    def _queued(self, event: Queued) -> Line:
        if not self._in_turn:
            return ()
        text = printable(text_of(event.message))
        self._waiting[event.message.id] = text
        label = f"  queued ({event.kind.replace('_', '-')}): "
        return (Span(label, "warn"), Span(self._cut(text, len(label))))

    # -- text that streams --

    def _piece(self, piece: DraftPiece) -> None:
        self._streamed.add(piece.part)
        match piece.kind:
            case "text" if self.shows_text:
                self.scroll.text(piece.text)
            case "reasoning" if self.shows_reasoning:
                self.scroll.text(piece.text, style="dim", indent="  ")
            case "call" | "text" | "reasoning" | "done":
                return

    # -- messages and tools --

    def _message(self, message: Message) -> None:
        match message.role:
            case "user" if message.origin == "said":
                self._said(message)
            case "assistant":
                self._answered(message)
            case "tool":
                for result in message.of_type(ToolResultPart):
                    self._result(result)
            case _:
                return

    def _said(self, message: Message) -> None:
        was_waiting = self._waiting.pop(message.id, None) is not None
        if was_waiting or self.shows_user:
            note = "  (delivered)" if was_waiting else ""
            text = self._cut(printable(text_of(message)), len(note) + 2)
            self.scroll.line((Span("> ", "title"), Span(text, "strong"), Span(note, "warn")))

    def _answered(self, message: Message) -> None:
        for part in message.of_type(TextPart):
            if self.shows_text and part.id not in self._streamed and part.text:
                self.scroll.text(part.text)
        calls = tuple(message.of_type(ToolCallPart))
        self._calls.update({call.call_id: described(call) for call in calls})
        self._batch, self._ended = len(calls), 0
        self.scroll.end_text()

    def _result(self, result: ToolResultPart) -> None:
        """One line: what was called, and how its result begins. Calls of one answer are drawn together."""
        width = min(self.scroll.width, WIDEST) - 1
        bullet = self._bullet(result.call_id)
        ellipsis = self.screen.glyphs.ellipsis
        name = self._calls.get(result.call_id, printable(result.name))
        call = shortened(name, max(20, min(LONGEST_CALL, width - 8)), ellipsis)
        head: Line = (Span(f"{bullet} ", "bad" if result.is_error else "row2"), Span(call, "strong"))
        room = width - sum(cells(span.text) for span in head) - 2
        shown = shortened(printable(result.text[:LONGEST_RESULT]), room, ellipsis) if room > 8 else ""
        self.scroll.line(spelled((*head, Span(f"  {shown}", "dim")), self.screen.glyphs))

    def _bullet(self, call_id: str) -> str:
        """A dot for a call alone; a bracket around calls that ran side by side, in the order in which they ended."""
        alone, first, between, last = _BULLETS if self.screen.glyphs.parts else _ASCII_BULLETS
        if self._batch < 2 or call_id not in self._calls:
            return alone
        self._ended += 1
        return first if self._ended == 1 else last if self._ended == self._batch else between

    def _tool_line(self, event: ToolEnded) -> Line:
        if event.handle:
            said = f"  {number(event.size_bytes or 0)} bytes: the model gets both ends, and a handle to the rest"
            return (Span(said, "dim"),)
        outcome = OUTCOMES[event.outcome]
        return (Span(f"  {self._calls.get(event.call_id, 'a tool')}: {outcome}", "warn"),) if outcome else ()

    def _cut(self, text: str, beside: int) -> str:
        return shortened(text, max(20, min(self.scroll.width, WIDEST) - beside - 1), self.screen.glyphs.ellipsis)

    # -- the gauge --

    def _measured(self, event: ReadingTaken, reading: Reading) -> None:
        """The reading of this event, which a driver that is ahead may have left behind."""
        if reading.snapshot_id != event.snapshot:
            used = Used(tokens=event.used.tokens, low=event.used.low, high=event.used.high)
            reading = msgspec.structs.replace(reading, used=used)
        if event.near_limit and not self._is_near:
            point = event.compaction_point or event.input_limit or 0
            self.scroll.line((Span(f"  near the limit: room is made at {number(point)} tokens", "warn"),))
        self._is_near = event.near_limit
        self._set_gauge(reading, f"{event.grown:+,}" if event.grown else "")
        if not self.scroll.moves and self._call_ended:
            self._call_ended = False
            self.scroll.line(gauge_line(reading, self.scroll.width, self.screen.glyphs, word=self._word))

    def _set_gauge(self, reading: Reading, word: str) -> None:
        glyphs = self.screen.glyphs
        self._reading, self._word = reading, word
        self.scroll.stay(lambda width: gauge_line(reading, width - 1, glyphs, word=word))


def cancelled_words(event: Cancelled, *, was_asking: bool) -> str:
    """What a cancel stopped and what was kept, in words. ``was_asking``: a call had been waiting for approval."""
    match event.persisted:
        case "partial_assistant":
            return "the partial answer is kept"
        case "tools_in_progress":
            return "tools were running"
        case "compaction_rolled_back":
            return "the compaction is undone"
        case _:
            return "what needed your approval was not run" if was_asking else "nothing was running"


def text_of(message: Message) -> str:
    """What a message says in words."""
    return " ".join(part.text for part in message.of_type(TextPart))


def described(call: ToolCallPart) -> str:
    """A call as a person would write it: ``read(path=notes.md)``."""
    try:
        arguments = parse_json(call.arguments or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, Mapping):
        return f"{printable(call.name)}(…)"
    shown = ", ".join(f"{printable(str(name))}={_value(value)}" for name, value in arguments.items())
    return f"{printable(call.name)}({shortened(shown, 2 * LONGEST_ARGUMENT)})"


def _value(value: object) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(printable(written), LONGEST_ARGUMENT)


def _pause_line(event: TurnPaused) -> Line:
    match event.reason:
        case "approval":
            return ()  # what is asked was said
        case "failed":
            return (Span("  paused: going on with the session tries again", "warn"),)  # the call's end said why
        case _:
            return (Span(f"  paused ({event.reason}): {printable(event.note)}", "warn"),)


def _end_line(event: TurnEnded) -> Line:
    if event.reason in ("finished", "cancelled"):
        return ()
    words = {"max_steps": "the limit of steps", "too_large": "it can't be made to fit", "loop": "it went in circles"}
    why = words.get(event.reason, event.reason)
    return (Span(f"  ended ({why})" + (f": {printable(event.note)}" if event.note else ""), "warn"),)


def _learnt_line(event: Event) -> Line:
    match event:
        case RuleFlipped():
            what = "counts" if event.kept else "does not count"
            return (Span(f"  learnt: the provider {what} earlier reasoning in the next input", "dim"),)
        case ToolServerNoticed():
            return (Span(f"  {printable(server_sentence(event))}", "warn"),)
        case RequestRepaired():
            return (Span(f"  the request was repaired: {printable('; '.join(event.repairs))}", "dim"),)
        case _:
            return ()
