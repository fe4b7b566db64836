"""The calls of a log without its content: in little memory, with the reader of its format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from ullage.errors import NotASession
from ullage.importers.detect import (
    formats,
    lines_beside,
    read,
    reader_for,
)
from ullage.importers.places import (
    Found,
    FoundSession,
    find_sessions,
)
from ullage.importers.reader import ImportedSession, Reader
from ullage.importers.regular import lines_of, open_regular, reading
from ullage.meter.spent_calls import CallCollector, CallsOfLog
from ullage_programs.settings import PROXY_FILE

_BATCH: Final = 100
"""Lines whose events are in memory at once."""


def find_logs(
    environ: Mapping[str, str] | None = None, home: Path | None = None
) -> Found:
    """All logs with calls in the usual places: the sessions, and logs of subagents that no session's log leads to.

    ``environ`` and ``home`` default to the process's own. Never raises.
    """
    found = find_sessions(environ, home)
    places = list(found.places)
    roots: set[Path] = set()
    for looked in found.looked:
        if looked.format == "claude-code":
            roots.add(Path(looked.where).parents[1])
    for root in sorted(roots):
        places += _lone_subagents(root)
    return Found(tuple(places), found.looked)


def _lone_subagents(root: Path) -> list[FoundSession]:
    """Logs of subagents beside those of sessions, as older versions wrote them, and of sessions that were deleted."""
    lone: list[FoundSession] = []
    try:
        paths = [*root.glob("*/agent-*.jsonl"), *root.glob("*/*/subagents")]
    except OSError:
        return []
    for path in paths:
        logs = [path]
        if path.name == "subagents":
            has_session = path.parent.with_suffix(".jsonl").exists()
            logs = [] if has_session else sorted(path.rglob("agent-*.jsonl"))
        for log in logs:
            try:
                modified = log.stat().st_mtime
            except OSError:
                continue
            lone.append(
                FoundSession(
                    "claude-code",
                    log,
                    modified,
                )
            )
    return lone


def files_of(place: FoundSession) -> list[Path]:
    """The files that the calls of a session are read from."""
    for each in formats():
        if each.name == place.format:
            return [place.path, *each.beside(place.path)]
    return [place.path]


def read_calls(place: FoundSession) -> CallsOfLog:
    """The calls of one log. Raises ``InputError``."""
    with reading(place.path):
        if place.session or place.path.suffix == ".json" or place.path.is_dir():
            return _whole(place)
        try:
            reader = reader_for(place.path)
        except NotASession:
            return _whole(place)
        return _streamed(place, reader)


def _streamed(
    place: FoundSession,
    reader: Reader,
) -> CallsOfLog:
    reader.rows.keeps_content = False
    collector = CallCollector(has_ids=reader.names_calls)
    with open_regular(place.path) as file:
        lines = lines_of(file)
        while batch := list(islice(lines, _BATCH)):
            collector.add(reader.feed(batch))
    for log in files_of(place)[1:]:
        reader.feed_subagent(lines_beside(log))
    collector.add(reader.settle())
    imported = reader.imported((), str(place.path))
    return calls_of_log(place, imported, collector, reader)


def _whole(place: FoundSession) -> CallsOfLog:
    imported = read(place.path, session=place.session)
    collector = CallCollector()
    collector.add(imported.events)
    return calls_of_log(place, imported, collector, None)


def calls_of_log(
    place: FoundSession,
    imported: ImportedSession,
    collector: CallCollector,
    reader: Reader | None,
) -> CallsOfLog:
    """The calls that were collected, and what is known of their log; ``reader`` is that of a log of lines."""
    origin = ""
    is_subagent = False
    if reader is not None:
        origin = reader.origin
        is_subagent = reader.rows.is_subagent
    return CallsOfLog(
        program=imported.program or imported.format,
        session=imported.session or place.session,
        project=imported.cwd or place.cwd,
        origin=origin,
        is_subagent=is_subagent,
        is_proxied=place.path.name == PROXY_FILE,
        calls=tuple(collector.calls),
        unreported=collector.unreported,
        implausible=collector.implausible,
        skipped=imported.skipped_lines,
    )


def origin_places(
    origins: Iterable[str], places: Iterable[FoundSession]
) -> list[FoundSession]:
    """The logs of these sessions, by the end of their names."""
    wanted = tuple(origins)
    found: list[FoundSession] = []
    for place in places:
        if wanted and place.id.endswith(wanted):
            found.append(place)
    return found
