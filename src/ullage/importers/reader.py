"""What all readers have in common: lines in, events out, unusable lines counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from ullage.envelope import LOG_LINE_BYTES
from ullage.events import Event
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.importers.imported import ImportedSession, SkippedLines
from ullage.importers.rows import EventWriter

TOO_LONG = f"longer than {LOG_LINE_BYTES >> 20} MB"

TITLE_LENGTH = 80


class Reader(ABC):
    """Follows one session log line by line; the lines may come in any portions, also while the log grows.

    ``feed`` gives the events that are certain by now. What a later line may still belong to (the lines of one model
    call, a compaction before its summary) is held back until that line came or ``settle`` says that none will.
    Neither raises for anything a line may contain.
    """

    format: ClassVar[str]

    def __init__(self, name: str = "") -> None:
        self.rows = EventWriter(name)
        self.skips = SkippedLines()
        self.lines = 0
        self.first_prompt = ""
        self.titles: dict[str, str] = {}
        """Titles by who gave them; see ``title``."""

    def feed(self, lines: Iterable[bytes]) -> list[Event]:
        """Read more lines, with or without their line breaks."""
        for line in lines:
            self.lines += 1
            if line.isspace() or not line:
                continue
            try:
                if len(line) > LOG_LINE_BYTES:
                    raise Unusable(TOO_LONG)
                self.accept(decode_line(line))
            except Unusable as why:
                self.skip(str(why))
        return self.rows.take()

    def accept(self, entry: object) -> None:
        """Read one decoded line. Raises ``Unusable``."""
        if not isinstance(entry, dict):
            raise Unusable("no JSON object")
        self.read(entry)

    def settle(self) -> list[Event]:
        """Nothing more follows now: the events that were held back."""
        self.close()
        return self.rows.take(final=True)

    def skip(self, reason: str) -> None:
        """Count the current line as not read."""
        self.skips.add(self.lines, reason)

    @abstractmethod
    def read(self, entry: JsonObject) -> None:
        """Read one entry of the log into ``rows``. Raises ``Unusable``."""

    @abstractmethod
    def close(self) -> None:
        """Write what was held back."""

    def prompted(self, text: str) -> None:
        """Somebody asked something: the first one is the title of a session that has no other."""
        if not self.first_prompt and text.strip():
            self.first_prompt = " ".join(text.split())[:TITLE_LENGTH]

    @property
    def title(self) -> str:
        """The title a person gave, else the one the program gave, else the first prompt."""
        return self.titles.get("person") or self.titles.get("program") or self.first_prompt

    def imported(self, events: Iterable[Event], path: str = "", other_sessions: int = 0) -> ImportedSession:
        """What was read, with the events that all calls of ``feed`` and ``settle`` gave."""
        return ImportedSession(
            format=self.format,
            session=self.rows.session,
            title=self.title,
            cwd=self.rows.cwd,
            program=self.rows.program,
            path=path,
            events=tuple(events),
            lines=self.lines,
            skipped=tuple(self.skips.listed),
            reasons=tuple(self.skips.reasons.most_common()),
            other_sessions=other_sessions,
        )
