"""A session as it happens, line by line, with the gauge below the last line of a terminal.

Takes what ``Session.events`` gives. What a model or a tool writes moves no cursor and changes no colour. A pipe gets
plain lines, and the gauge as a line of its own after each call.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ullage.cli.screen import Screen
from ullage.cli.screenplay import (
    OUTCOMES,
    MessageEntry,
    Notice,
    Screenplay,
    described,
    near_limit_notice,
)
from ullage.cli.scroll import WIDEST, Scroll
from ullage.display.gauge_line import gauge_line, spelled
from ullage.display.text import Span, cells, number, plain, printable, shortened, wrapped
from ullage.events import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    DraftPiece,
    Event,
    LimitLearnt,
    MessageAdded,
    Queued,
    ReadingTaken,
    ToolStarted,
)
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.meter.reading import Reading, Used

LONGEST_CALL: Final = 44
"""Columns of a call in its line; the rest is for its result."""
LONGEST_RESULT: Final = 400
"""Characters of a result that are looked at for its line."""

_BULLETS: Final = ("●", "┌", "├", "└")
_ASCII_BULLETS: Final = ("*", "/", "|", "\\")
"""Of a call alone, and of the first, the ones between and the last of calls that ran side by side."""


class Live:
    """Shows one session on a screen. ``shows_hints``: with the slash commands that a chat has.

    ``allows_all``: every call is approved without a question.
    """

    def __init__(
        self,
        screen: Screen,
        *,
        shows_user: bool = True,
        shows_text: bool = True,
        shows_reasoning: bool = True,
        shows_hints: bool = False,
        allows_all: bool = False,
    ) -> None:
        self.screen = screen
        self.scroll = Scroll(screen)
        self.shows_user = shows_user
        self.shows_text = shows_text
        self.shows_reasoning = shows_reasoning
        self.shows_hints = shows_hints
        self.allows_all = allows_all
        self.seen = 0
        """The number of the last event that was shown."""
        self._screenplay = Screenplay()
        self._streamed: set[str] = set()
        self._batch = self._ended = 0
        """How many calls the last answer made, and how many of them have a result."""
        self._reading: Reading | None = None
        self._is_near = False
        self._call_ended = False

    def show(self, event: Event | DraftPiece, reading: Reading) -> None:
        """Show one event or piece of an answer at once; ``reading`` is the session's own of this moment."""
        change = self._screenplay.apply(event)
        if isinstance(event, DraftPiece):
            self._piece(event)
            return
        self.seen = event.seq
        match event:
            case Queued() if event.message.id in self._screenplay.queued:
                label = f"queued ({event.kind.replace('_', '-')}): "
                self._labelled(label, printable(event.message.text))
            case MessageAdded():
                self._message(event.message)
            case CallStarted(purpose="main"):
                self._set_gauge(reading, "thinking")
            case ToolStarted():
                self._set_gauge(reading, printable(event.name))
            case ApprovalAsked():
                label = (
                    "allowed by --yes: " if self.allows_all else "needs your approval: "
                )
                self._labelled(label, self._title_of(event.call_id))
            case ReadingTaken():
                self._measured(event, reading)
            case CallEnded(purpose="main", outcome="finished"):
                self._call_ended = True
            case LimitLearnt() if reading.window.source != event.source:
                return  # a source of higher rank has set another window
        if change.notice is not None:
            self._notice(change.notice)

    def end(self) -> None:
        """Leave the cursor at the start of a line, below the gauge as it was last."""
        if self._reading is not None and not self.scroll.is_open:
            self._set_gauge(self._reading, "")
        self.scroll.end()

    # -- lines --

    def _notice(self, notice: Notice) -> None:
        line = notice.hinted_line if self.shows_hints else notice.line
        for text in wrapped(
            self.screen.glyphs.spell(plain(line)), max(20, self.scroll.width - 3)
        ):
            self.scroll.line((Span(f"  {text}", line[0].style),))

    def _labelled(self, label: str, text: str) -> None:
        self.scroll.line(
            (Span(f"  {label}", "warn"), Span(self._cut(text, len(label) + 2)))
        )

    def _title_of(self, call_id: str) -> str:
        called = self._screenplay.call(call_id)
        if called is None:
            return printable(call_id)
        return described(called.name, called.arguments)

    def _cut(self, text: str, beside: int) -> str:
        room = max(20, min(self.scroll.width, WIDEST) - beside - 1)
        return shortened(text, room, self.screen.glyphs.ellipsis)

    # -- messages --

    def _piece(self, piece: DraftPiece) -> None:
        self._streamed.add(piece.part)
        match piece.kind:
            case "text" if self.shows_text:
                self.scroll.text(piece.text)
            case "reasoning" if self.shows_reasoning:
                self.scroll.text(piece.text, style="dim", indent="  ")
            case "call" | "text" | "reasoning" | "done":
                return

    def _message(self, message: Message) -> None:
        match message.role:
            case "assistant":
                self._answer(message)
            case "tool":
                for result in message.of_type(ToolResultPart):
                    self._result(result.call_id)
            case _:
                entry = self._screenplay.entries[-1]
                if isinstance(entry, MessageEntry) and entry.origin == "said":
                    self._prompt(entry)

    def _prompt(self, entry: MessageEntry) -> None:
        if entry.was_queued or self.shows_user:
            note = "  (delivered)" if entry.was_queued else ""
            text = self._cut(printable(entry.text), len(note) + 2)
            self.scroll.line(
                (Span("> ", "title"), Span(text, "strong"), Span(note, "warn"))
            )

    def _answer(self, message: Message) -> None:
        for part in message.of_type(TextPart):
            if self.shows_text and part.id not in self._streamed and part.text:
                self.scroll.text(part.text)
        self._batch, self._ended = len(tuple(message.of_type(ToolCallPart))), 0
        self.scroll.end_text()

    def _result(self, call_id: str) -> None:
        """One line: the call, how it ended, and how its result begins. Calls of one answer are drawn together."""
        called = self._screenplay.call(call_id)
        assert called is not None, "the result has been folded"
        width = min(self.scroll.width, WIDEST) - 1
        ellipsis = self.screen.glyphs.ellipsis
        title = described(called.name, called.arguments)
        title = shortened(title, max(20, min(LONGEST_CALL, width - 8)), ellipsis)
        spans = [
            Span(f"{self._bullet()} ", "bad" if called.is_error else "row2"),
            Span(title, "strong"),
        ]
        if called.outcome is not None and OUTCOMES[called.outcome]:
            spans.append(Span(f"  {OUTCOMES[called.outcome]}", "warn"))
        if called.size_bytes:
            size = number(called.size_bytes)
            spans.append(Span(f"  both ends of {size} bytes", "warn"))
        room = width - sum(cells(span.text) for span in spans) - 2
        if room > 8 and called.result:
            begin = shortened(printable(called.result[:LONGEST_RESULT]), room, ellipsis)
            spans.append(Span(f"  {begin}", "dim"))
        self.scroll.line(spelled(tuple(spans), self.screen.glyphs))

    def _bullet(self) -> str:
        """A dot for a call alone; a bracket around calls that ran side by side, in the order in which they ended."""
        bullets = _BULLETS if self.screen.glyphs.parts else _ASCII_BULLETS
        alone, first, between, last = bullets
        if self._batch < 2:
            return alone
        self._ended += 1
        if self._ended == 1:
            return first
        return last if self._ended == self._batch else between

    # -- the gauge --

    def _measured(self, event: ReadingTaken, reading: Reading) -> None:
        """The reading of this event, which a driver that is ahead may have left behind."""
        if reading.snapshot_id != event.snapshot:
            used = Used(
                tokens=event.used.tokens, low=event.used.low, high=event.used.high
            )
            reading = msgspec.structs.replace(reading, used=used)
        if event.near_limit and not self._is_near:
            self._notice(
                near_limit_notice(event.compaction_point or event.input_limit or 0)
            )
        self._is_near = event.near_limit
        grown = f"{event.grown:+,}" if event.grown else ""
        self._set_gauge(reading, grown)
        if not self.scroll.moves and self._call_ended:
            self._call_ended = False
            self.scroll.line(
                gauge_line(reading, self.scroll.width, self.screen.glyphs, word=grown)
            )

    def _set_gauge(self, reading: Reading, word: str) -> None:
        glyphs = self.screen.glyphs
        self._reading = reading
        self.scroll.stay(lambda width: gauge_line(reading, width - 1, glyphs, word=word))
