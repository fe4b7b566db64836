"""What reading a foreign log gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from ullage.events import CallEnded, Event, MessageAdded

MOST_LISTED = 1000
"""Skipped lines listed one by one; the others are only counted, so that a damaged log can't fill the memory."""


class Skipped(NamedTuple):
    """A line that was not read, counted from 1, and why. Line 0 is the log as a whole."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """A session as events, and how the reading went.

    ``events`` are numbered from 1 and describe the thread that is live at the end of the log; side chains and
    subagents appear only as calls with purpose ``child``. ``skipped`` lists the first lines that were not read,
    ``reasons`` counts all of them.
    """

    format: str
    session: str
    title: str = ""
    cwd: str = ""
    program: str = ""
    path: str = ""
    events: tuple[Event, ...] = ()
    lines: int = 0
    skipped: tuple[Skipped, ...] = ()
    reasons: tuple[tuple[str, int], ...] = ()
    other_sessions: int = 0
    """Sessions of the same file or database that were not read."""

    @property
    def skipped_lines(self) -> int:
        """How many lines were not read."""
        return sum(number for _, number in self.reasons)

    @property
    def usable(self) -> bool:
        """Whether anything of a conversation was found."""
        return any(isinstance(event, MessageAdded | CallEnded) for event in self.events)

    @property
    def exit_code(self) -> int:
        """0 when anything was usable, 2 when nothing was."""
        return 0 if self.usable else 2


class SkippedLines:
    """Collects what was not read."""

    def __init__(self) -> None:
        self.listed: list[Skipped] = []
        self.reasons: Counter[str] = Counter()

    def add(self, line: int, reason: str) -> None:
        self.reasons[reason] += 1
        if len(self.listed) < MOST_LISTED:
            self.listed.append(Skipped(line, reason))
