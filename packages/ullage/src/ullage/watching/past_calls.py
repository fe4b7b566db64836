"""What all logs on this machine say was spent; what was read once is kept in the user's cache directory.

The cache holds the calls of one log in each of its files. It can be deleted at any time: a file that is missing,
damaged or of another version is made again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ullage.directories import cache_directory
from ullage.errors import InputError
from ullage.importers.calls import (
    files_of,
    find_logs,
    origin_places,
    read_calls,
)
from ullage.importers.places import FoundSession, Looked
from ullage.meter.distinct_calls import origins_missing
from ullage.meter.spent_calls import CallsOfLog
from ullage.store.private_file import private_directory, read_json, replace_file
from ullage.watching.policy import UNUSED_S

CALLS_VERSION: Final = 1
"""Raised when the content of a file of the cache means something else than before."""


class _Cached(msgspec.Struct, frozen=True):
    """A file of the cache. ``stamp`` differs as soon as the log or the version that read it is another."""

    stamp: str
    calls: CallsOfLog


_of_cache: Final = msgspec.json.Decoder(_Cached)


class UnreadLog(NamedTuple):
    """A log that could not be read, and why."""

    path: Path
    problem: str


class PastCalls(NamedTuple):
    """What was read: a row for each log, the places that were searched, and logs that could not be read."""

    logs: list[CallsOfLog]
    looked: tuple[Looked, ...]
    unread: list[UnreadLog]


def past_calls(
    since: float = 0.0,
    *,
    program: str = "",
    environ: Mapping[str, str] = os.environ,
    home: Path | None = None,
) -> PastCalls:
    """The calls of all logs that were changed at ``since`` or later, and of those that they were copied from.

    ``program`` is the name of a format, and empty for all. Calls before ``since`` may be among them.
    """
    found = find_logs(environ, home)
    cache = CallsCache(cache_directory(environ) / "calls")
    places: list[FoundSession] = []
    older: list[FoundSession] = []
    for place in found.places:
        if place.modified >= since:
            places.append(place)
        else:
            older.append(place)
    if program:  # our own databases hold what the proxy saw of every program
        places = [place for place in places if place.format in (program, "ullage")]
    past = PastCalls([], found.looked, [])
    _read_all(places, cache, past)
    _read_all(origin_places(origins_missing(past.logs), older), cache, past)
    cache.forget_unused(found.places)
    return past


def _read_all(places: Iterable[FoundSession], cache: CallsCache, past: PastCalls) -> None:
    for place in places:
        try:
            past.logs.append(cache.calls(place))
        except (InputError, OSError) as problem:
            lines = str(problem).splitlines() or [type(problem).__name__]
            past.unread.append(UnreadLog(place.path, lines[0]))


class CallsCache:
    """The files of the cache. Two processes may use it at once: each file is replaced as a whole."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._is_writable = True

    def calls(self, place: FoundSession) -> CallsOfLog:
        """The calls of a log, from the cache where the log is as it was. Raises ``InputError``."""
        path = self._directory / _name(place)
        stamp = _stamp(place)
        known = read_json(path, _of_cache)
        if known is not None and known.stamp == stamp:
            return known.calls
        calls = read_calls(place)
        self._keep(path, _Cached(stamp, calls))
        return calls

    def forget_unused(self, places: Sequence[FoundSession]) -> None:
        """Delete what was kept of logs that are gone for long."""
        used = {_name(place) for place in places}
        try:
            listed = list(os.scandir(self._directory))
        except OSError:
            return
        newest = max((entry.stat().st_mtime for entry in listed), default=0.0)
        for entry in listed:
            if entry.name not in used and entry.stat().st_mtime < newest - UNUSED_S:
                Path(entry.path).unlink(missing_ok=True)

    def _keep(
        self,
        path: Path,
        cached: _Cached,
    ) -> None:
        """What can't be kept is read again the next time."""
        if not self._is_writable:
            return
        try:
            private_directory(self._directory)
            replace_file(
                path,
                msgspec.json.encode(cached),
                is_lasting=False,
            )
        except OSError:
            self._is_writable = False


def _name(place: FoundSession) -> str:
    named = f"{place.path.absolute()}\0{place.session}"
    return sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _stamp(place: FoundSession) -> str:
    """One session of a database changes when its own time does, other logs when a file of them does."""
    parts = [f"{version('ullage')}/{CALLS_VERSION}"]
    if place.session:
        parts.append(f"{place.modified}")
    else:
        for file in files_of(place):
            state = file.stat()
            parts.append(f"{state.st_ino}-{state.st_size}-{state.st_mtime_ns}")
    return sha256(" ".join(parts).encode()).hexdigest()[:32]
