"""``ullage sessions``: the sessions in the usual places, newest first. Of a large log only the two ends are read."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ullage.cli.drawing import WIDEST
from ullage.cli.listing import Column, columns
from ullage.cli.meters import client_settings
from ullage.cli.screen import Screen, progress
from ullage.cli.session import read_session
from ullage.display.gauge_line import spelled
from ullage.display.text import (
    Line,
    Span,
    counted,
    number,
    percent,
    printable,
    shortened,
    wrapped,
)
from ullage.encoding import shown_as
from ullage.errors import InputError, UnreadableInput
from ullage.importers import (
    Found,
    FoundSession,
    ImportedSession,
    directory_of,
    find_sessions,
)
from ullage.importers.places import UUID_LENGTH, Looked
from ullage.importers.ullage import PROXY_CHILD
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.store.urls import POSTGRES, shown_place
from ullage.turns.standing import AT_REST, ShownStanding
from ullage.watching.running import RunningList, RunningSession, first_line
from ullage.watching.watched import UnusableSession
from ullage_programs.limits import name_and_version
from ullage_programs.line.drawing import interval
from ullage_programs.line.policy import WIDE_SHARE

NEWEST_TRIED = 20
"""How many logs are opened, newest first, until one holds something; the youngest may be empty still."""

NEWEST_LOOKED_INTO = 100
"""How many logs are opened, newest first, to find one of the current directory."""

ID_LENGTH = 8
SHORTEST_ID = 4
"""Characters of an id that are shown, and that are needed to name a session."""

SAMPLE = Path(__file__).with_name("sample.jsonl")
"""A log to try commands with: a session of Claude Code."""


class NoSessionFound(InputError):
    """There is no session in the usual places; the message says where was looked for what."""


def sessions(options: argparse.Namespace) -> int:
    """Print the list; gives the exit code. Raises ``NoSessionFound``."""
    found = find_sessions().once
    if not found.places:
        raise no_session(found, names_places=True)
    if options.needs:
        needing = filter(_needs_person, found.places)
        found = found._replace(places=tuple(needing))
    places = found.places[: options.limit]
    with progress(f"Looking at {counted(len(places), 'session')}"):
        lines = [line_of(place) for place in places]
    screen = Screen()
    if options.json:
        screen.show_json(as_json(lines, found))
    else:
        drawn = session_lines(lines, found, min(screen.width, WIDEST))
        screen.show(spelled(line, screen.glyphs) for line in drawn)
    return 0


def line_of(place: FoundSession) -> RunningSession:
    """Look at one session. Never raises: what can't be read is said in ``problem``.

    ``reading`` is ``None`` where nothing in the part that was read tells the size: neither a reported input nor the
    program itself. The proxy reads whole requests.
    """
    line = RunningList(new_meter=_quick_meter).line(place)
    reading = line.reading
    if reading is None or reading.basis.is_told or line.is_proxied:
        return line
    return msgspec.structs.replace(line, reading=None)


def _quick_meter(imported: ImportedSession) -> Meter:
    settings = client_settings(imported).values
    return Meter(estimator="pretoken", client_settings=settings)


def chosen_session(name: str, session: str = "") -> ImportedSession:
    """The session in the file of that name, the newest of a directory, or the one whose id is meant.

    Raises ``InputError``.
    """
    if os.path.isdir(name) and not session:
        here = places_in(name, find_sessions().once.places)
        if newest := _first_usable(here, printable(os.path.abspath(name))):
            return newest
    place = place_of(name, session)
    return read_session(place.path, place.session)


def place_of(name: str, session: str = "") -> FoundSession:
    """The log of that name, or of the session that is meant by it; ``session`` is one of several in a file.

    Raises ``UnreadableInput``.
    """
    path = Path(name).expanduser()
    if path.is_dir() and not session:
        here = places_in(name, find_sessions().once.places)
        return next(here, FoundSession("", path.absolute(), 0.0))
    if os.path.exists(path):
        return FoundSession("", path, 0.0, session)
    listed, mark, child = name.partition(PROXY_CHILD)
    matching = meant_by(listed, find_sessions().once.places)
    if not matching and name == SAMPLE.stem:
        return FoundSession("", SAMPLE, 0.0, session)
    if not matching and name.startswith(POSTGRES):
        raise UnreadableInput(
            f"{shown_place(name)} is a database, and this command reads files. Export a session from a server "
            "(GET /v1/sessions/ID/export), and name that file."
        )
    if not matching:
        raise UnreadableInput(
            f"There is no file {name}, and no session whose id begins or ends with it. "
            f"Of an id {SHORTEST_ID} characters or more are needed; `ullage sessions` lists them."
        )
    if len(matching) > 1:
        several = "\n".join(f"  {place.id}  {place.path}" for place in matching[:5])
        raise UnreadableInput(
            f"{len(matching)} sessions have ids that begin or end with {name}. Give more of the id, or the file:\n"
            f"{several}"
        )
    found = matching[0]
    return found._replace(session=found.session + mark + child) if child else found


def meant_by(name: str, places: Sequence[FoundSession]) -> list[FoundSession]:
    """The sessions whose id is the name, or else begins or ends so. Codex and pi put the time before an id."""
    if len(name) < SHORTEST_ID:
        return []
    exact = [place for place in places if place.id == name]
    if exact:
        return exact
    found: list[FoundSession] = []
    for place in places:
        uuid = place.id[-UUID_LENGTH:]
        if place.id.startswith(name) or uuid.startswith(name) or uuid.endswith(name):
            found.append(place)
    return found


def short_id(place: FoundSession) -> str:
    """The end of the id, where the ids of all programs are random."""
    return place.id[-ID_LENGTH:]


def newest_session() -> ImportedSession:
    """The newest session of this directory, else of all; standard error says which. Raises ``NoSessionFound``."""
    found = find_sessions().once
    here = next(places_here(found.places), None)
    session = _first_usable([here] if here else [], "this directory")
    newest = found.places[:NEWEST_TRIED]
    session = session or _first_usable(newest, "all directories")
    if session is not None:
        return session
    if newest:
        raise UnusableSession(
            f"{counted(len(found.places), 'log')} found, but none of the newest {len(newest)} could be used. "
            "Name one: `ullage context FILE`."
        )
    raise no_session(found)


def _first_usable(places: Iterable[FoundSession], whose: str) -> ImportedSession | None:
    """The first of these sessions that can be read; standard error names it, and those before it."""
    for place in places:
        try:
            session = read_session(place.path, place.session)
        except InputError as problem:
            print(f"ullage: passed over: {first_line(problem)}", file=sys.stderr)
            continue
        name = f"{place.format} {printable(short_id(place))}"
        print(f"ullage: {name} is the newest session of {whose}.", file=sys.stderr)
        return session
    return None


def session_before(session: ImportedSession) -> ImportedSession | None:
    """The program's last session of the same directory that is older than this one; ``None`` where there is none."""
    places = iter(find_sessions().once.places[:NEWEST_LOOKED_INTO])
    for place in places:
        if str(place.path) == session.path:
            break
    for place in places:
        if place.format == session.format and directory_of(place) == session.cwd:
            with suppress(InputError):
                return read_session(place.path, place.session)
    return None


def places_here(places: Sequence[FoundSession]) -> Iterator[FoundSession]:
    """The sessions that were begun in the current directory, of the newest ``NEWEST_LOOKED_INTO``."""
    return places_in(".", places[:NEWEST_LOOKED_INTO])


def places_in(name: str, places: Iterable[FoundSession]) -> Iterator[FoundSession]:
    """The sessions that were begun in the directory of that name. What a log names need not be a path."""
    for place in places:
        directory = directory_of(place)
        with suppress(OSError, ValueError):
            if os.path.isabs(directory) and os.path.samefile(directory, name):
                yield place


def no_session(found: Found, *, names_places: bool = False) -> NoSessionFound:
    """The error that says what to do next."""
    if names_places:
        places = "\n".join(f"  {_place(looked)}" for looked in found.looked)
        where = f"Looked for:\n{places}"
    else:
        programs = dict.fromkeys(looked.format for looked in found.looked)
        where = f"Looked for {', '.join(programs)}; `ullage sessions` lists the places."
    return NoSessionFound(
        f"No session log was found. {where}\nStart your agent once, or name a log: `ullage context FILE`. "
        f"A sample to try it on: `ullage context {SAMPLE.stem} --advice`."
    )


def _place(looked: Looked) -> str:
    """A place that was looked at, how many sessions were there, and what could not be read."""
    problem = f", {printable(looked.problem)}" if looked.problem else ""
    where = printable(looked.where)
    return f"{looked.format}: {where} ({number(looked.found)}){problem}"


def session_lines(
    listed: Sequence[RunningSession], found: Found, width: int
) -> list[Line]:
    """Each session in two lines, its figures, then model and title; then where was looked."""
    table = [
        Column("id"),
        Column("when", spare=True),
        Column("program"),
        Column("calls", right=True),
        Column("size", right=True, spare=True),
        Column("used", right=True),
        Column("of window", right=True),
    ]
    looked_at = zip(found.places, listed, strict=False)
    cells = [_row(place, line) for place, line in looked_at]
    head, *rows = columns(table, cells, width)
    lines = [head]
    for row, each, place in zip(rows, listed, found.places, strict=False):
        standing = place.standing or AT_REST
        title = each.title or each.project
        facts = (standing.line, each.model, _interval(each.reading), title)
        about = " · ".join(filter(None, facts))
        said = f"not readable: {each.problem}" if each.problem else about
        text = "    " + shortened(printable(said), width - 4)
        lines += [row, (Span(text, "warn" if each.problem else "dim"),)]
    below: list[str] = []
    every = len(found.places)
    if more := every - len(listed):
        below.append(f"{number(more)} more; --limit {every} lists all.")
    if any(not each.is_whole for each in listed):
        below.append(
            "+ and ~: of a large log only the two ends were read; `ullage context ID` reads it whole."
        )
    without: dict[str, None] = dict.fromkeys(looked.format for looked in found.looked)
    for looked in found.looked:
        if looked.found or looked.problem:
            without.pop(looked.format, None)
            below.append(_place(looked))
    if without:
        below.append(f"Also looked for {', '.join(without)}: none found.")
    lines.append(())
    for note in below:
        lines += [(Span(line, "dim"),) for line in wrapped(note, width)]
    return lines


def _needs_person(place: FoundSession) -> bool:
    return place.standing is not None and place.standing.needs_person


def _interval(reading: Reading | None) -> str:
    """``used 24,005 to 43,001``, where that is wide."""
    if reading is None:
        return ""
    tokens, low, high = reading.used.tokens, reading.used.low, reading.used.high
    is_wide = high - low > WIDE_SHARE * tokens
    return f"used {interval(tokens, low, high)}" if is_wide else ""


def _row(place: FoundSession, each: RunningSession) -> list[str]:
    used = share = calls = ""
    if each.reading is not None:
        tokens, window = each.reading.used.tokens, each.reading.window.tokens
        used = ("" if each.is_whole else "~") + number(tokens)
        share = "unknown"
        if window is not None:
            share = f"{percent(tokens, window)} of {shorter(window)}"
    if not each.problem:
        calls = number(each.calls) + ("" if each.is_whole else "+")
    program = each.format
    if each.is_proxied:  # the program behind the proxy
        program = f"{name_and_version(each.program)[0] or program} (proxy)"
    modified = f"{when(place.modified):%Y-%m-%d %H:%M}"
    return [short_id(place), modified, program, calls, size(each.size_bytes), used, share]


def when(modified: float) -> datetime:
    """The time of a file in the user's own time zone."""
    return datetime.fromtimestamp(modified, UTC).astimezone()


def size(size_bytes: int) -> str:
    """A file's size as ``820 B``, ``44 KB`` or ``2.8 MB``."""
    if size_bytes < 1_000:
        return f"{size_bytes} B"
    if size_bytes < 999_500:
        return f"{size_bytes / 1_000:.0f} KB"
    return f"{size_bytes / 1_000_000:.1f} MB"


def shorter(tokens: int) -> str:
    """A window as people call it: ``200k``, ``1M``; whole where it is not round."""
    if tokens % 1_000_000 == 0:
        return f"{tokens // 1_000_000}M"
    return f"{tokens // 1_000}k" if tokens % 1_000 == 0 else number(tokens)


def as_json(listed: Sequence[RunningSession], found: Found) -> bytes:
    """The list as one JSON object: ``sessions``, ``more`` and ``looked``."""
    lines = zip(found.places, listed, strict=False)
    return msgspec.json.encode(
        {
            "sessions": [_as_dict(place, line) for place, line in lines],
            "more": len(found.places) - len(listed),
            "looked": [looked._asdict() for looked in found.looked],
        }
    )


def _as_dict(place: FoundSession, line: RunningSession) -> dict[str, object]:
    reading = line.reading
    return {
        "id": place.id,
        "path": str(place.path),
        "session": place.session,
        "format": place.format,
        "program": line.program,
        "title": line.title,
        "cwd": line.cwd,
        "model": line.model,
        "modified": place.modified,
        "size_bytes": line.size_bytes,
        "read_whole": line.is_whole,
        "calls": line.calls,
        "used": reading and reading.used,
        "window": reading and reading.window,
        "compaction_point": reading and reading.threshold,
        "problem": line.problem,
        "standing": place.standing and shown_as(ShownStanding, place.standing),
    }
