"""The question whether a call may run, on the full screen: what is seen of the call, how far it was read, and its keys.

A yes counts only once all of the call was on the screen: a long one is scrolled to its end first. A no always counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from ullage.display.text import Line, Span, cells, counted, flowed, printable, shortened
from ullage_agent.cli.asking import drawn_call
from ullage_agent.runtime.approvals import Question

Act = Literal["", "approve", "session", "project", "refuse"]
"""What a key does: allows the call, allows such calls in this session or project, or begins a no."""

KEYS: Final[dict[str, Act]] = {
    "y": "approve",
    "n": "refuse",
    "a": "session",
    "p": "project",
}
SCROLLS: Final = ("pageup", "pagedown", "up", "down", "home", "end")

FEWEST: Final = 3
"""Lines of a call that are shown at once, however small the screen is."""


class _View(NamedTuple):
    lines: tuple[Line, ...]
    room: int


class Approving:
    """What is asked now. ``is_refusing``: what is typed is the reason of a no."""

    def __init__(self) -> None:
        self.questions: tuple[Question, ...] = ()
        self.is_refusing = False
        self._view = _View((), FEWEST)
        self._width = 0
        self._top = self._read = 0
        """The first line that is shown, and how many were on the screen without a gap from the first."""
        self._is_warned = False

    @property
    def question(self) -> Question | None:
        """The first call that needs an answer."""
        return self.questions[0] if self.questions else None

    @property
    def is_read(self) -> bool:
        """Whether all of the call was on the screen."""
        return self._read >= len(self._view.lines)

    @property
    def scrolls(self) -> bool:
        """Whether there is more of the call than fits."""
        return len(self._view.lines) > self._view.room

    def take(self, questions: Sequence[Question]) -> bool:
        """These are asked now; True where the first is another one than before, byte for byte."""
        before, self.questions = self.question, tuple(questions)
        now = self.question
        if (
            before is not None
            and now is not None
            and (before.call_id, before.digest) == (now.call_id, now.digest)
        ):
            return False
        self._top = self._read = self._width = 0
        self.is_refusing = self._is_warned = False
        return now is not None

    def lines(self, width: int, height: int, *, is_typing: bool) -> list[Line]:
        """The question in at most ``height`` lines of ``width`` cells; none where nothing is asked.

        ``is_typing``: there is something in the input, so letters go there and not to the question.
        """
        question = self.question
        if question is None:
            return []
        keys = self._keys(question, width, is_typing=is_typing)
        head, call = self._drawn(question, width)
        room = max(FEWEST, height - 1 - len(keys))
        if len(call) > room:
            room = max(FEWEST, room - 1)
        if width != self._width:
            self._top = self._read = 0  # other lines than were read
        self._width, self._view = width, _View(call, room)
        self._top = max(0, min(self._top, len(call) - room))
        self._see()
        shown = call[self._top : self._top + room]
        lines: list[Line] = [head, *((Span("  "), *line) for line in shown)]
        if self.scrolls:
            lines.append(self._position())
        return lines + keys

    def _drawn(self, question: Question, width: int) -> tuple[Line, tuple[Line, ...]]:
        """The line that asks, and the call: its name stands in that line where there is room for it."""
        of = f" (1 of {len(self.questions)})" if len(self.questions) > 1 else ""
        asks = Span(f"Allow{of}? ", "warn")
        name = drawn_call(question.lines[:1], max(10, width - cells(asks.text)))
        if len(name) == 1:
            return (asks, *name[0]), tuple(drawn_call(question.lines[1:], width - 2))
        return (asks,), tuple(drawn_call(question.lines, width - 2))

    def scroll(self, key: str) -> bool:
        """Show another part of the call; False where all of it is shown."""
        if not self.scrolls:
            return False
        page = max(1, self._view.room - 1)
        last = len(self._view.lines) - self._view.room
        steps = {
            "pageup": -page,
            "pagedown": page,
            "up": -1,
            "down": 1,
            "home": -last,
            "end": last,
        }
        is_past_unread = (
            key == "pagedown" and self._top > self._read
        )  # End was pressed: go back to what was left out
        self._top = (
            self._read if is_past_unread else max(0, min(last, self._top + steps[key]))
        )
        self._see()
        return True

    def act(self, key: str) -> Act:
        """What this key does to the question; nothing for a yes before the end was seen, which is said."""
        question = self.question
        act = KEYS.get(key.lower(), "")
        if question is None or (act in ("session", "project") and question.offer is None):
            return ""
        if act in ("approve", "session", "project") and not self.is_read:
            self._is_warned = True
            return ""
        return act

    def _see(self) -> None:
        if self._top <= self._read:
            self._read = max(
                self._read, min(len(self._view.lines), self._top + self._view.room)
            )
        self._is_warned = self._is_warned and not self.is_read

    def _position(self) -> Line:
        top, count = self._top, len(self._view.lines)
        shown = f"lines {top + 1:,} to {min(count, top + self._view.room):,} of {count:,}"
        unread = count - self._read
        if unread:
            what = f"{counted(unread, 'line')} not read yet"
            return (
                Span(f"  {shown} · ", "dim"),
                Span(f"{what}: Page Down reads on", "warn"),
            )
        return (Span(f"  {shown} · all read · Page Up", "dim"),)

    def _keys(self, question: Question, width: int, *, is_typing: bool) -> list[Line]:
        if self.is_refusing:
            said = "Why not? Type a reason for the model, or nothing · Enter sends the no · Esc back to the question"
            return flowed([(Span(each, "warn"),) for each in said.split(" · ")], width)
        if is_typing:
            return [
                (
                    Span(
                        "Send or clear (Ctrl+C) what is in the input, then answer: y yes · n no",
                        "dim",
                    ),
                )
            ]
        keys = ["y yes", "n no"]
        if question.offered:
            offered = shortened(printable(question.offered), max(10, width - 34))
            keys += [f'a always "{offered}" in this session', "p always in this project"]
        keys.append("Esc cancels the turn")
        lines = flowed([(Span(key, "dim"),) for key in keys], width)
        if self._is_warned:
            lines.insert(
                0,
                (
                    Span(
                        "Not yet: read the call to its end first (Page Down), then answer.",
                        "bad",
                    ),
                ),
            )
        return lines
