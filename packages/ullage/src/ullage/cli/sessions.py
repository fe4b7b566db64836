"""``ullage sessions``: the sessions in the usual places, newest first. Of a large log only the two ends are read."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ullage.cli.drawing import WIDEST
from ullage.cli.listing import Column, columns
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
from ullage.errors import InputError, UnreadableInput
from ullage.events import CallEnded
from ullage.importers import (
    Found,
    FoundSession,
    ImportedSession,
    directory_of,
    find_sessions,
    read,
)
from ullage.importers.growing import GrowingLog
from ullage.importers.places import Looked
from ullage.importers.ullage import PROXY_CHILD
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.store.urls import POSTGRES, shown_place
from ullage.watching.running import ENDS, check_size, first_line
from ullage.watching.watched import UnusableSession
from ullage_programs.limits import name_and_version
from ullage_programs.programs import facts_of
from ullage_programs.settings import PROXY_FILE, settings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """One session in a list.

    ``whole`` is False where only the log's two ends were read: then ``calls`` is how many those hold, and ``reading``
    is taken from them. Without a call that reported its input in the part that was read, ``reading`` is ``None``.
    ``problem`` says why nothing could be read.
    """

    place: FoundSession
    size_bytes: int
    title: str = ""
    cwd: str = ""
    program: str = ""
    model: str = ""
    calls: int = 0
    whole: bool = True
    reading: Reading | None = None
    problem: str = ""


def outline(place: FoundSession) -> Outline:
    """Look at one session. Never raises: what can't be read is said in ``problem``."""
    size = 0
    try:
        size = place.path.stat().st_size
        imported, whole = _ends(place, size)
    except (InputError, OSError) as unusable:
        said = first_line(unusable).replace(str(place.path), place.path.name)
        return Outline(
            place=place, size_bytes=size, title=place.title, cwd=place.cwd, problem=said
        )
    settings = settings_of(
        facts_of(imported.program), place.path, imported.cwd or place.cwd
    )
    meter = Meter(estimator="pretoken", client_settings=settings.values)
    for event in imported.events:
        meter.apply(event)
    reading = meter.reading()
    return Outline(
        place=place,
        size_bytes=imported.size_bytes or size,
        title=imported.title or place.title,
        cwd=imported.cwd or place.cwd,
        program=imported.program or imported.format,
        model=reading.model,
        calls=sum(
            isinstance(event, CallEnded)
            and event.purpose == "main"
            and event.outcome != "failed"
            for event in imported.events
        ),
        whole=whole,
        reading=None if reading.basis.last_input is None else reading,
    )


def _ends(place: FoundSession, size: int) -> tuple[ImportedSession, bool]:
    """The session as far as it was read, and whether that is all of it."""
    check_size(place)
    in_lines = not place.session and place.path.suffix != ".json"
    if in_lines and size > ENDS.head_bytes + ENDS.tail_bytes:
        growth = GrowingLog(place.path, ends=ENDS).look()
        assert growth is not None
        events = (*growth.certain, *growth.held)
        return replace(growth.imported, events=events), False
    return read(place.path, session=place.session), True


NEWEST_TRIED = 20
"""How many logs are opened, newest first, until one holds something; the youngest may be empty still."""

NEWEST_LOOKED_INTO = 100
"""How many logs are opened, newest first, to find one of the current directory."""

ID_LENGTH = 8
SHORTEST_ID = 4
"""Characters of an id that are shown, and that are needed to name a session."""


class NoSessionFound(InputError):
    """There is no session in the usual places; the message says where was looked for what."""


def sessions(options: argparse.Namespace) -> int:
    """Print the list; gives the exit code. Raises ``NoSessionFound``."""
    found = find_sessions().once
    if not found.places:
        raise no_session(found)
    places = found.places[: options.limit]
    with progress(f"Looking at {counted(len(places), 'session')}"):
        outlines = [outline(place) for place in places]
    screen = Screen()
    if options.json:
        screen.show_json(as_json(outlines, found))
    else:
        lines = session_lines(outlines, found, min(screen.width, WIDEST))
        screen.show(spelled(line, screen.glyphs) for line in lines)
    return 0


def chosen_session(name: str, session: str = "") -> ImportedSession:
    """The session in the file of that name, or else the one whose id ends so. Raises ``InputError``."""
    place = place_of(name, session)
    return read_session(place.path, place.session)


def place_of(name: str, session: str = "") -> FoundSession:
    """The log of that name, or of the session whose id ends so; ``session`` is one of several in a file.

    Raises ``UnreadableInput``.
    """
    path = Path(name).expanduser()
    if os.path.exists(path):
        return FoundSession("", path, 0.0, session)
    listed, mark, child = name.partition(PROXY_CHILD)
    matching: list[FoundSession] = []
    if len(listed) >= SHORTEST_ID:
        places = find_sessions().once.places
        matching = [place for place in places if place.id.endswith(listed)]
    if not matching and name.startswith(POSTGRES):
        raise UnreadableInput(
            f"{shown_place(name)} is a database, and this command reads files. Export a session from a server "
            "(GET /v1/sessions/ID/export), and name that file."
        )
    if not matching:
        raise UnreadableInput(
            f"{name} does not exist, and no session's id ends so. `ullage sessions` lists them."
        )
    if len(matching) > 1:
        several = ", ".join(str(place.path) for place in matching[:5])
        raise UnreadableInput(
            f"The id {name} is of {len(matching)} sessions: {several}. Give more of it, or the file."
        )
    found = matching[0]
    return found._replace(session=found.session + mark + child) if child else found


def short_id(place: FoundSession) -> str:
    """The end of the id, where the ids of all programs are random."""
    return place.id[-ID_LENGTH:]


def newest_session() -> ImportedSession:
    """The newest session of this directory, else of all; standard error says which. Raises ``NoSessionFound``."""
    found = find_sessions().once
    here = next(places_here(found.places), None)
    places = found.places[:NEWEST_TRIED]
    for place in (here, *places) if here else places:
        try:
            session = read_session(place.path, place.session)
        except InputError as problem:
            print(f"ullage: passed over: {first_line(problem)}", file=sys.stderr)
            continue
        whose = "of this directory" if place == here else "of all directories"
        name = f"{place.format} {printable(short_id(place))}"
        print(f"ullage: {name} is the newest session {whose}.", file=sys.stderr)
        return session
    if found.places:
        tried = min(NEWEST_TRIED, len(found.places))
        raise UnusableSession(
            f"{counted(len(found.places), 'log')} found, but none of the newest {tried} could be used. "
            "Name one: `ullage context FILE`."
        )
    raise no_session(found)


def places_here(places: Sequence[FoundSession]) -> Iterator[FoundSession]:
    """The sessions that were begun in the current directory, of the newest ``NEWEST_LOOKED_INTO``."""
    here = os.path.realpath(".")
    for place in places[:NEWEST_LOOKED_INTO]:
        directory = directory_of(place)
        if directory and os.path.realpath(directory) == here:
            yield place


def no_session(found: Found) -> NoSessionFound:
    """The error that lists every place."""
    places = "\n".join(f"  {_place(looked)}" for looked in found.looked)
    return NoSessionFound(
        f"No session log was found. Looked for:\n{places}\n"
        "Start your agent once, or name a log: `ullage context FILE`. `ullage demo` shows an agent at work."
    )


def _place(looked: Looked) -> str:
    """A place that was looked at, how many sessions were there, and what could not be read."""
    problem = f", {printable(looked.problem)}" if looked.problem else ""
    where = printable(looked.where)
    return f"{looked.format}: {where} ({number(looked.found)}){problem}"


def session_lines(outlines: Sequence[Outline], found: Found, width: int) -> list[Line]:
    """Each session in two lines, its figures, then model and title; then where was looked."""
    table = [
        Column("id"),
        Column("when"),
        Column("program"),
        Column("calls", right=True),
        Column("size", right=True),
        Column("used", right=True),
        Column("of window", right=True),
    ]
    head, *rows = columns(table, [_row(each) for each in outlines], width)
    lines = [head]
    for row, each in zip(rows, outlines, strict=True):
        about = " · ".join(filter(None, (each.model, each.title or Path(each.cwd).name)))
        said = f"not readable: {each.problem}" if each.problem else about
        text = "    " + shortened(printable(said), width - 4)
        lines += [row, (Span(text, "warn" if each.problem else "dim"),)]
    below: list[str] = []
    every = len(found.places)
    if more := every - len(outlines):
        below.append(f"{number(more)} more; --limit {every} lists all.")
    if any(not each.whole for each in outlines):
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


def _row(each: Outline) -> list[str]:
    used = share = calls = ""
    if each.reading is not None:
        tokens, window = each.reading.used.tokens, each.reading.window.tokens
        used = ("" if each.whole else "~") + number(tokens)
        share = "unknown"
        if window is not None:
            share = f"{percent(tokens, window)} of {shorter(window)}"
    if not each.problem:
        calls = number(each.calls) + ("" if each.whole else "+")
    program = each.place.format
    if each.place.path.name == PROXY_FILE:  # the program behind the proxy
        program = f"{name_and_version(each.program)[0] or program} (proxy)"
    modified = f"{when(each.place.modified):%Y-%m-%d %H:%M}"
    identity = short_id(each.place)
    return [identity, modified, program, calls, size(each.size_bytes), used, share]


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


def as_json(outlines: Sequence[Outline], found: Found) -> bytes:
    """The list as one JSON object: ``sessions``, ``more`` and ``looked``."""
    return msgspec.json.encode(
        {
            "sessions": [_as_dict(each) for each in outlines],
            "more": len(found.places) - len(outlines),
            "looked": [looked._asdict() for looked in found.looked],
        }
    )


def _as_dict(each: Outline) -> dict[str, object]:
    reading, place = each.reading, each.place
    return {
        "id": place.id,
        "path": str(place.path),
        "session": place.session,
        "format": place.format,
        "program": each.program,
        "title": each.title,
        "cwd": each.cwd,
        "model": each.model,
        "modified": place.modified,
        "size_bytes": each.size_bytes,
        "read_whole": each.whole,
        "calls": each.calls,
        "used": reading and reading.used,
        "window": reading and reading.window,
        "compaction_point": reading and reading.threshold,
        "problem": each.problem,
    }
