"""Finds the sessions of each program in its usual directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ullage.errors import InputError
from ullage.importers.database import DatabaseFormat
from ullage.importers.detect import databases, name_of, read, reader_for
from ullage.importers.regular import lines_of, open_regular, pass_over_line
from ullage.turns.standing import Standing
from ullage_programs.facts import ProgramFacts
from ullage_programs.programs import PROGRAMS
from ullage_programs.settings import PROXY_FILE

HEAD_LINES = 200
DIRECTORY_LINES = 20
"""How much of a log ``directory_of`` reads: programs name the directory in the first lines."""

TAIL_BYTES = 65_536
"""How much of a log ``glance`` reads: its head has the first prompt, its tail a title that was set later."""


UUID_LENGTH = 36
"""Names of Codex's and pi's logs end with the session's id."""

AFTER_LAST_CALL_S = 600.0
"""A program writes to its log for some time after its last call."""


class FoundSession(NamedTuple):
    """A session that was found. ``modified`` is seconds since 1970; ``session`` is set for one of several in a file.

    ``standing`` is how one of our own stands.
    """

    format: str
    path: Path
    modified: float
    session: str = ""
    title: str = ""
    cwd: str = ""
    standing: Standing | None = None

    @property
    def id(self) -> str:
        """What tells it from others: its own id in a database, else the name of its file or directory."""
        return self.session or name_of(self.path)


class Looked(NamedTuple):
    """A place that was searched, and how many sessions it has. ``problem`` says why it can't be read."""

    format: str
    where: str
    found: int
    problem: str = ""


class Found(NamedTuple):
    """The sessions, newest first, and all places that were searched."""

    places: tuple[FoundSession, ...]
    looked: tuple[Looked, ...]

    @property
    def newest(self) -> FoundSession | None:
        return self.places[0] if self.places else None

    @property
    def once(self) -> Found:
        """Each session once: what a proxy metered in the place of the program's log of the same session.

        A log that was written to after the proxy's last call is shown instead: its session goes on without the proxy.
        """
        metered: dict[str, FoundSession] = {}
        for place in self.places:
            if place.path.name == PROXY_FILE:
                metered[place.session] = place
        kept = {place: place for place in self.places}
        for place in self.places:
            proxied = metered.get(place.id) or metered.get(place.id[-UUID_LENGTH:])
            if proxied is None or proxied is place:
                continue
            if place.modified > proxied.modified + AFTER_LAST_CALL_S:
                kept.pop(proxied, None)
                continue
            del kept[place]
            if not proxied.cwd and proxied in kept:  # a first call can be one for a title
                kept[proxied] = proxied._replace(cwd=directory_of(place))
        return Found(tuple(kept.values()), self.looked)


class Glance(NamedTuple):
    """What a list of sessions shows of one."""

    title: str
    cwd: str
    model: str


def find_sessions(
    environ: Mapping[str, str] | None = None, home: Path | None = None
) -> Found:
    """All sessions in the usual places of the known programs, without those of subagents.

    ``environ`` and ``home`` default to the process's own. Never raises: ``looked`` names places that can't be read.
    """
    environment = os.environ if environ is None else environ
    base = Path.home() if home is None else home
    places: list[FoundSession] = []
    looked: list[Looked] = []
    for database in databases():
        for path in database.files(environment, base):
            stored, seen = _stored(database, path)
            places += stored
            looked.append(seen)
    for facts in PROGRAMS.values():
        for directory in _directories(facts, environment, base):
            found, seen = _in_directory(facts, Path(directory))
            places += found
            looked.append(seen)
    places.sort(key=lambda place: place.modified, reverse=True)
    return Found(tuple(places), tuple(looked))


def glance(place: FoundSession) -> Glance:
    """Title, directory and model of a session, from the head and tail of its log; empty if the log lacks them."""
    if place.session or place.path.suffix == ".json":
        return _whole(place)
    try:
        reader = reader_for(place.path)
        with open_regular(place.path) as file:
            events = reader.feed(islice(lines_of(file), HEAD_LINES))
            size = os.fstat(file.fileno()).st_size
            if size > file.tell() + TAIL_BYTES:
                file.seek(size - TAIL_BYTES)
                pass_over_line(file)
            events += reader.feed(lines_of(file))
    except (InputError, OSError):
        return Glance(place.title, place.cwd, "")
    reader.settle()
    return Glance(
        reader.title or place.title, reader.rows.cwd or place.cwd, reader.rows.model
    )


def directory_of(place: FoundSession) -> str:
    """The directory that a session was begun in; empty where the first lines of its log don't name it."""
    if place.cwd or place.session or place.path.suffix == ".json":
        return place.cwd
    try:
        reader = reader_for(place.path, place.format)
        with open_regular(place.path) as file:
            for line in islice(lines_of(file), DIRECTORY_LINES):
                reader.feed([line])
                if reader.rows.cwd:
                    break
    except (InputError, OSError):
        return ""
    return reader.rows.cwd


def _whole(place: FoundSession) -> Glance:
    if place.title:
        return Glance(place.title, place.cwd, "")
    try:
        imported = read(place.path, session=place.session)
    except InputError:
        return Glance("", "", "")
    models = [
        model for event in imported.events if (model := getattr(event, "model", ""))
    ]
    return Glance(imported.title, imported.cwd, models[-1] if models else "")


def _directories(
    facts: ProgramFacts, environment: Mapping[str, str], home: Path
) -> list[str]:
    """The program's own directories, if its logs are files in them."""
    if not facts.logs.patterns:
        return []
    return facts.logs.directories(environment, str(home))


def _in_directory(
    facts: ProgramFacts, directory: Path
) -> tuple[list[FoundSession], Looked]:
    """The logs in one of a program's own directories."""
    found: list[FoundSession] = []
    for pattern in facts.logs.patterns:
        found += _files(facts.name, directory, pattern)
    where = " or ".join(str(directory / pattern) for pattern in facts.logs.patterns)
    return found, Looked(facts.name, where, len(found))


def _files(format_: str, directory: Path, pattern: str) -> Iterator[FoundSession]:
    for path in _matching(directory, pattern):
        if path.name.startswith("agent-"):
            continue
        try:
            state = path.stat()
        except OSError:
            continue
        if state.st_size:
            yield FoundSession(format_, path, state.st_mtime)


def _matching(directory: Path, pattern: str) -> Iterable[Path]:
    try:
        return list(directory.glob(pattern))
    except OSError:
        return []


def _stored(database: DatabaseFormat, path: Path) -> tuple[list[FoundSession], Looked]:
    """The sessions in one database."""
    name = database.name
    try:
        stored = database.sessions(path) if path.exists() else []
    except (InputError, OSError) as problem:
        return [], Looked(name, str(path), 0, str(problem))
    places = [
        FoundSession(
            name, path, one.updated, one.id, one.title, one.directory, one.standing
        )
        for one in stored
    ]
    return places, Looked(name, str(path), len(places))
