"""The sessions that run on this machine, of all programs: a line for each, without any drawing.

``RunningList.look()`` gives the list again and again and reads what is new alone: the terminal and the page draw the
same list.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PureWindowsPath
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.display.text import printable
from ullage.errors import InputError
from ullage.importers import Found, FoundSession, ImportedSession, find_sessions
from ullage.importers.calls import calls_of_log, origin_places, read_calls
from ullage.importers.growing import GrowingLog, LogEnds
from ullage.importers.ullage import CHILD_MARKS
from ullage.meter.distinct_calls import distinct_calls, origins_missing
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.spend import NOTHING_SPENT, Spent
from ullage.meter.spent_calls import CallsOfLog, PriceList
from ullage.meter.usage_table import spent_on
from ullage.watching.policy import (
    PATIENCE_S,
    RETRY_S,
    RUNNING_S,
    SEARCH_SHARE,
    SLICE_BYTES,
    WATCHED_DOCUMENT_BYTES,
    WHOLE_BYTES,
    WHOLE_TOTAL_BYTES,
)
from ullage.watching.watched import Seen, UnusableSession, Watched
from ullage_programs.programs import facts_of
from ullage_programs.settings import PROXY_FILE, settings_of

FOREVER_S: Final = float("inf")

ENDS: Final = LogEnds(head_bytes=65_536, tail_bytes=262_144)
"""Read of a large log at first: who wrote it and the first prompt; the last calls and what came after them. The median
call of a coding agent adds 3 KB."""

UNREADABLE: Final = (InputError, OSError, MemoryError, RecursionError)

UUID_LENGTH: Final = 36
"""Names of Codex's logs end with the session's id (``ullage_programs/codex/log.py``)."""


class RunningSession(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list.

    ``reading`` is the next call's, without the children of its rows; ``None`` if nothing could be read yet, and
    ``problem`` says why. ``grown`` is its change since the last look at which anything changed. ``today`` are the calls
    since local midnight, subagents included. Without ``is_whole`` only the ends of the log were read: ``reading`` is
    about right, ``calls`` and ``today`` are the least that they can be.
    """

    id: str
    format: str
    path: str
    active_at: float
    """When it was last written to: seconds since 1970."""
    size_bytes: int = 0
    """Of the log, or of what a database holds of the session."""
    is_proxied: bool = False
    program: str = ""
    """With its version, as in ``SessionStarted``."""
    title: str = ""
    cwd: str = ""
    model: str = ""
    calls: int = 0
    subagents: int = 0
    reading: Reading | None = None
    grown: int | None = None
    today: Spent = NOTHING_SPENT
    is_whole: bool = True
    problem: str = ""

    @property
    def project(self) -> str:
        """The name of the directory."""
        return PureWindowsPath(self.cwd).name  # Unix's paths too


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """All lines, the one active last first, and what they sum to.

    ``unread`` sessions come with the next looks. A call that several logs hold is counted once in ``today``.
    """

    at: float
    sessions: tuple[RunningSession, ...]
    today: Spent
    unread: int = 0
    problems: tuple[str, ...] = ()
    """Places that can't be searched."""


def log_meter(imported: ImportedSession) -> Meter:
    """A meter for another program's session, with that program's settings."""
    found = settings_of(facts_of(imported.program), Path(imported.path), imported.cwd)
    return Meter(client_settings=found.values)


class _Key(NamedTuple):
    """Tells a session from others."""

    path: Path
    session: str


@dataclass(slots=True)
class _Entry:
    """A session, and how far it was read."""

    place: FoundSession
    line: RunningSession
    watched: Watched | None = None
    """``None`` for a session that was read and no longer runs."""
    spent: CallsOfLog | None = None
    read_at: float = -1.0
    """``modified`` of the place when it was last read."""
    retry_at: float = 0.0
    """What could not be read is not tried again before, unless it changes."""
    whole: Watched | None = None
    """Reads the whole log beside ``watched``, which has its ends, and then takes its place."""


class RunningList:
    """Follows all sessions. Not for several threads at once.

    ``find`` gives the sessions there are, ``new_meter`` a meter for one. ``clock`` and ``now`` give seconds, the latter
    since 1970.
    """

    def __init__(
        self,
        *,
        find: Callable[[], Found] = find_sessions,
        new_meter: Callable[[ImportedSession], Meter] = log_meter,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._find = find
        self._new_meter = new_meter
        self._clock = clock
        self._now = now
        self._entries: dict[_Key, _Entry] = {}
        self._found = Found((), ())
        self._next_search = float("-inf")
        self._midnight = 0.0
        self._prices = PriceList()
        self._origins: dict[_Key, tuple[float, CallsOfLog]] = {}
        """Calls of sessions that listed ones were copied from, with when each was changed."""
        self._summed: list[CallsOfLog] = []
        self._sum = NOTHING_SPENT

    def look(
        self, since_s: float | None = RUNNING_S, *, patience_s: float = PATIENCE_S
    ) -> Running:
        """The list now. Never raises for what a log or a directory may hold: the line says what is wrong.

        Reads what has changed, the newest first, for ``patience_s``; what time is left goes to large logs of which the
        ends alone were read.
        """
        until = self._clock() + patience_s
        now = self._now()
        self._begin_day(now)
        self._search()
        least = 0.0 if since_s is None else now - since_s
        entries = self._running(least)
        unread = self._read_all(entries, until)
        if patience_s < FOREVER_S:
            self._read_on(entries, until)
        shown = sorted(_without_doubles(entries), key=_activity, reverse=True)
        problems = [each.problem for each in self._found.looked if each.problem]
        return Running(
            at=now,
            sessions=tuple(entry.line for entry in shown),
            today=self._total(entries),
            unread=unread,
            problems=tuple(problems),
        )

    def line(self, place: FoundSession) -> RunningSession:
        """The line of one session, whose ends are read now if it is large. Never raises."""
        entry = _Entry(place, _new_line(place))
        self._read(entry, float("inf"))
        return entry.line

    # -- which there are --

    def _begin_day(self, now: float) -> None:
        """At midnight what was spent before is no longer of today."""
        day = datetime.fromtimestamp(now).astimezone()
        midnight = day.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        if midnight == self._midnight:
            return
        self._midnight = midnight
        self._prices = PriceList()
        self._summed = []
        for entry in self._entries.values():
            if entry.spent is not None:
                today = self._today([entry.spent])
                entry.line = _changed(entry.line, today=today)

    # -- what today cost --

    def _today(self, logs: list[CallsOfLog]) -> Spent:
        calls = distinct_calls(logs).calls
        return spent_on(calls, self._midnight, self._prices)

    def _total(self, entries: Iterable[_Entry]) -> Spent:
        """What all sessions spent today, each call once: by the rule of ``ullage usage``."""
        logs = [entry.spent for entry in entries if entry.spent is not None]
        logs += self._read_origins(logs)
        if logs != self._summed or not logs:
            self._summed = logs
            self._sum = self._today(logs)
        return self._sum

    def _read_origins(self, logs: list[CallsOfLog]) -> list[CallsOfLog]:
        """The logs that listed sessions were copied from, where they are not listed."""
        missing = origins_missing(logs)
        if not missing:
            return []
        read: dict[_Key, tuple[float, CallsOfLog]] = {}
        for place in origin_places(missing, self._found.places):
            key = _key_of(place)
            known = self._origins.get(key)
            if known is None or known[0] != place.modified:
                known = (place.modified, _calls_in(place))
            read[key] = known
        self._origins = read
        return [calls for _, calls in read.values()]

    def _search(self) -> None:
        """Search for sessions, unless the last search was so slow that the next one has to wait."""
        begun = self._clock()
        if begun < self._next_search:
            return
        self._found = self._find()
        took = self._clock() - begun
        self._next_search = begun + took / SEARCH_SHARE

    def _running(self, least: float) -> list[_Entry]:
        """An entry for each session that was active since ``least``, the newest first; the others are forgotten."""
        entries: dict[_Key, _Entry] = {}
        places = {_key_of(place): place for place in self._found.places}
        for key, place in places.items():
            if _parents(key) & places.keys():
                continue
            entry = self._entries.get(key) or _Entry(place, _new_line(place))
            entry.place = place
            if max(place.modified, entry.line.active_at) >= least:
                entries[key] = entry
        self._entries = entries
        return sorted(entries.values(), key=_activity, reverse=True)

    # -- reading --

    def _read_all(self, entries: list[_Entry], until: float) -> int:
        """Read the first, and the others as long as there is time; returns how many were never read."""
        unread = 0
        for entry in entries:
            has_time = self._clock() < until
            if has_time or entry is entries[0]:
                self._read(entry, until)
            elif entry.read_at < 0:
                unread += 1
        return unread

    def _watched(self, place: FoundSession, ends: LogEnds | None) -> Watched:
        most = ends.head_bytes + 4 * ends.tail_bytes if ends else SLICE_BYTES
        log = GrowingLog(place.path, place.session, ends=ends, most=most)
        return Watched(log, self._new_meter, keeps_calls=True)

    def _read(self, entry: _Entry, until: float) -> None:
        """Read what is new of a session, a piece at least. Its line says what is wrong with it."""
        place = entry.place
        is_unchanged = place.modified == entry.read_at
        if is_unchanged and (place.session or entry.watched is None):
            return
        if is_unchanged and self._clock() < entry.retry_at:
            return
        entry.read_at, entry.retry_at = place.modified, 0.0
        watched = entry.watched or self._watched(place, ENDS)
        entry.watched = watched
        problem = ""
        try:
            _check_size(place)
            seen = watched.look()
            while watched.is_behind and self._clock() < until:
                seen = watched.look()
            if seen is not None:
                self._show(entry, watched, seen)
        except UnusableSession:
            problem = "no message and no call yet"
        except (InputError, OSError) as unreadable:
            said = first_line(unreadable)
            problem = said.replace(str(place.path), place.path.name)
        except (MemoryError, RecursionError):
            problem = "too large to be read"
        if problem:
            entry.line = _changed(entry.line, problem=problem)
            entry.retry_at = self._clock() + RETRY_S
        active_at = place.modified
        if not place.session:  # else the file has other sessions too
            active_at = max(active_at, watched.log.modified)
        entry.line = _changed(entry.line, active_at=active_at)
        if active_at < self._now() - RUNNING_S:
            entry.watched = None

    def _show(self, entry: _Entry, watched: Watched, seen: Seen) -> None:
        imported, place = seen.imported, entry.place
        reading = _slim(seen.reading)
        log = watched.log
        entry.spent = calls_of_log(place, imported, seen.spent, log.reader)
        entry.line = _changed(
            entry.line,
            id=place.session or imported.session or place.id,
            size_bytes=imported.size_bytes or _size_of(place.path),
            program=imported.program or imported.format,
            title=place.title or imported.title,
            cwd=imported.cwd or place.cwd,
            model=reading.model,
            calls=seen.calls,
            subagents=imported.subagents,
            reading=reading,
            grown=seen.status.grown,
            today=self._today([entry.spent]),
            is_whole=not watched.log.leaves_out,
            problem="",
        )

    def _read_on(self, entries: Iterable[_Entry], until: float) -> None:
        """Read large logs whole, one after the other, as long as there is time.

        At its end the reading of the whole log takes the place of that of its ends.
        """
        left = WHOLE_TOTAL_BYTES
        for entry in entries:
            if entry.watched is None or not entry.watched.log.leaves_out:
                continue
            size = _size_of(entry.place.path)
            if size > min(left, WHOLE_BYTES):
                continue
            left -= size
            whole = entry.whole or self._watched(entry.place, None)
            entry.whole = whole
            while entry.whole is not None and self._clock() < until:
                try:
                    seen = whole.look()
                except UNREADABLE:
                    entry.whole = None  # a later look begins again
                    continue
                if not whole.is_behind:
                    entry.watched, entry.whole = whole, None
                    if seen is not None:
                        self._show(entry, whole, seen)


def first_line(problem: Exception) -> str:
    """An error in one line, without the list that may follow it."""
    said = str(problem)
    if isinstance(problem, OSError):
        said = problem.strerror or said
    if not said:
        return type(problem).__name__
    return printable(said.splitlines()[0])


def _changed(line: RunningSession, **fields: object) -> RunningSession:
    return replace(line, **fields)


def _slim(reading: Reading) -> Reading:
    """The reading without what its rows are made of: many of them are sent at once."""
    rows = tuple(replace(row, children=()) for row in reading.rows)
    return replace(reading, rows=rows)


def _check_size(place: FoundSession) -> None:
    if place.session or place.path.suffix != ".json":
        return
    size = place.path.stat().st_size
    if size > WATCHED_DOCUMENT_BYTES:
        raise InputError(
            f"It holds one JSON value of {size >> 20} MB, which is too large for a list. Give the file itself."
        )


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _calls_in(place: FoundSession) -> CallsOfLog:
    """The calls of a log that is not listed; none where it can't be read."""
    try:
        return read_calls(place)
    except UNREADABLE:
        return CallsOfLog()


def _parents(key: _Key) -> set[_Key]:
    """The session that a subagent's session works for, by its id."""
    parents: set[_Key] = set()
    for mark in CHILD_MARKS:
        parent, found, _ = key.session.rpartition(mark)
        if found:
            parents.add(_Key(key.path, parent))
    return parents


def _without_doubles(entries: list[_Entry]) -> list[_Entry]:
    """The entries without the logs of sessions that the proxy has metered, which has their ids."""
    metered = {entry.line.id for entry in entries if entry.line.is_proxied}
    kept: list[_Entry] = []
    for entry in entries:
        name = entry.place.id
        ids = {entry.line.id, name, name[-UUID_LENGTH:]}
        if entry.line.is_proxied or not ids & metered:
            kept.append(entry)
    return kept


def _activity(entry: _Entry) -> float:
    return entry.line.active_at


def _key_of(place: FoundSession) -> _Key:
    return _Key(place.path, place.session)


def _new_line(place: FoundSession) -> RunningSession:
    """The line of a session of which nothing was read yet."""
    return RunningSession(
        id=place.id,
        format=place.format,
        path=str(place.path),
        active_at=place.modified,
        is_proxied=place.path.name == PROXY_FILE,
        program=place.format,
        title=place.title,
        cwd=place.cwd,
        size_bytes=0 if place.session else _size_of(place.path),
    )
