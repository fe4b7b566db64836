"""What every reader of a log does: lines in, events out, unusable lines counted; and what reading gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import ullage.importers.fields as f
from ullage.codec.dialects import DIALECTS
from ullage.codec.reminders import words_of_person
from ullage.codec.usage import read_usage
from ullage.display.text import shortened
from ullage.envelope import LINE_BYTES, LOG_LINE_BYTES, LOG_LINES, MOST_LOG_LINES
from ullage.errors import UnreadableInput
from ullage.events import CallEnded, Event, MessageAdded, RequestPart
from ullage.importers.fields import JsonObject, Unusable, decode_line
from ullage.importers.parts import LogParts
from ullage.importers.regular import NEWEST_LINES
from ullage.importers.rows import EventWriter
from ullage.usage import Usage

TOO_LONG = f"longer than {LOG_LINE_BYTES >> 20} MB"

TITLE_LENGTH = 80

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
    missing_results: int = 0
    """Results of tools that requests must have held and the log leaves out."""
    subagents: int = 0
    """Subagents whose calls are spend of the session."""
    size_bytes: int = 0
    """What was read of a database for this session; 0 for a file, which has a size of its own."""

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


class Reader(ABC):
    """Follows one session log line by line; the lines may come in any portions, also while the log grows.

    ``feed`` returns the events that are certain. Lines that a later line may belong to (those of one model call, a
    compaction before its summary) are held back until that line comes or ``settle`` is called.
    Neither raises for anything a line may contain, except ``UnreadableInput`` where all of them are too much to follow.
    """

    format: ClassVar[str]
    wire: ClassVar[str] = ""
    """The form of messages in the log, where no call says which model is asked and how."""
    dialect: ClassVar[str] = ""
    """How usage is logged; empty: in a dialect of the program's name."""
    unlogged: ClassVar[tuple[RequestPart, ...]] = ("system", "tools")
    """What of every request a log of this format lacks, where no line of it brings that."""
    is_undated: ClassVar[bool] = False
    """Whether nothing says when a call was made: all are then taken to be as old as the file."""
    names_calls: ClassVar[bool] = False
    """Whether the ids of calls are the provider's, the same in each log that has the call."""

    def __init__(self) -> None:
        self.rows = EventWriter(program=self.format, unlogged=self.unlogged)
        self.provider = ""
        """Who serves the model, where no call says so."""
        self.skips = SkippedLines()
        self.lines = 0
        self.size_bytes = 0
        """Of the lines that were read."""
        self.first_prompt = ""
        self.subagents: set[str] = set()
        """Names of the subagents that were read."""
        self.origin = ""
        """The session that this one was copied from, where its log begins with that one's calls."""
        self.titles: dict[str, str] = {}
        """Titles by who gave them; see ``title``."""

    def feed(self, lines: Iterable[bytes]) -> list[Event]:
        """Read more lines, with or without their line breaks."""
        for line in lines:
            self.lines += 1
            self.size_bytes += len(line)
            self._check_length()
            if line.isspace() or not line:
                continue
            try:
                if len(line) > LOG_LINE_BYTES:
                    raise Unusable(TOO_LONG)
                value = decode_line(line)
                del line  # not kept beside what it says
                self.accept(value)
            except Unusable as why:
                self.skip(str(why))
        return self.rows.take()

    def _check_length(self) -> None:
        """Raise ``UnreadableInput`` where a log has more lines, or gives more events, than one of its size may."""
        most = LOG_LINES + self.size_bytes // LINE_BYTES
        if self.lines > min(most, MOST_LOG_LINES) or self.rows.written > most:
            raise UnreadableInput(
                f"This log of session {self.rows.session} has more than {most:,} lines or events, the most that are "
                f"read of a log of its size. {NEWEST_LINES}"
            )

    def accept(self, entry: object) -> None:
        """Read one decoded line. Raises ``Unusable``."""
        if not isinstance(entry, dict):
            raise Unusable("no JSON object")
        self.read(entry)

    def settle(self) -> list[Event]:
        """The end of the log: returns the events that were held back."""
        self.close()
        return self.rows.take(final=True)

    def leave_out(self) -> None:  # noqa: B027 - most readers hold nothing across such a gap
        """The next line does not follow the last one: what stands between them is not read."""

    def subagent_logs(
        self, path: Path, known: dict[Path, str] | None = None
    ) -> list[Path]:
        """The logs of the session's subagents, which lie beside its own; none in most programs.

        ``known`` keeps whose session each is of, so that the next look opens new ones alone.
        """
        return []

    def feed_subagent(self, lines: Iterable[bytes]) -> None:  # noqa: B027 - see ``subagent_logs``
        """The log of a subagent: its calls are spend. What can't be read of it is passed over."""

    def dated(self, entry: JsonObject) -> None:
        """What follows is of the entry's ``timestamp``; without one, of the one before."""
        self.rows.at = f.seconds(entry.get("timestamp")) or self.rows.at

    def skip(self, reason: str) -> None:
        """Count the current line as not read."""
        self.skips.add(self.lines, reason)

    @abstractmethod
    def read(self, entry: JsonObject) -> None:
        """Read one entry of the log into ``rows``. Raises ``Unusable``."""

    @abstractmethod
    def close(self) -> None:
        """Write what was held back."""

    def parts(self, name: str) -> LogParts:
        """Reads the content of the message of this name."""
        rows = self.rows
        return LogParts(
            name,
            rows.wire or self.wire,
            provider=rows.provider or self.provider,
            model=rows.model,
        )

    def usage(
        self, raw: JsonObject, *, final: bool = True, placeholder: bool = False
    ) -> Usage | None:
        """What a call used, as ``normalise`` reads it; ``None`` where the log does not say."""
        if not raw:
            return None
        return read_usage(
            DIALECTS[self.dialect or self.format],
            raw,
            final=final,
            placeholder=placeholder,
        )

    def prompted(self, text: str) -> None:
        """Notes a person's message: the first is the title of a session without another title."""
        if not self.first_prompt:  # a long text is not copied for its beginning
            begin = words_of_person(text[: 100 * TITLE_LENGTH])
            self.first_prompt = shortened(" ".join(begin.split()), TITLE_LENGTH)

    @property
    def title(self) -> str:
        """The title a person gave, else the one the program gave, else the first prompt."""
        return (
            self.titles.get("person") or self.titles.get("program") or self.first_prompt
        )

    def imported(
        self,
        events: Iterable[Event],
        path: str = "",
        other_sessions: int = 0,
        size_bytes: int = 0,
    ) -> ImportedSession:
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
            missing_results=self.rows.missing_results,
            size_bytes=size_bytes,
            subagents=len(self.subagents),
        )


def _none_beside(path: Path) -> list[Path]:
    return []


class LogFormat(NamedTuple):
    """A format of logs: its reader, by what one line shows that a log is of it, and what to say of one without."""

    name: str
    fits: Callable[[Any], bool]
    lacks: str
    reader: type[Reader]
    beside: Callable[[Path], list[Path]] = _none_beside
    """Other logs of the same session, told by their place alone."""
    is_tried_first: bool = False
    """Whether another program's format fits its logs too."""
    takes_lists: bool = False
    """Whether a log may be one list."""
