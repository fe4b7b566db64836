"""What a list shows of one session, from a bounded part of its log: however large it is, the same work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ullage.cli.session import main_calls
from ullage.display.text import printable
from ullage.errors import InputError
from ullage.events import Event
from ullage.importers import FoundSession, ImportedSession, read, reader_for
from ullage.importers.regular import lines_of, open_regular, pass_over_line
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading

HEAD_BYTES = 65_536
"""Read from the start of a log: who wrote it, and the first prompt."""

TAIL_BYTES = 262_144
"""Read from its end: the last calls and what came after them. The median call of a coding agent adds 3 KB."""

DOCUMENT_BYTES = 4_194_304
"""A log that is one JSON value can't be read in part; above this size it is listed without its numbers."""


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
        return Outline(place=place, size_bytes=size, title=place.title, cwd=place.cwd, problem=said)
    meter = Meter(estimator="pretoken")
    for event in imported.events:
        meter.apply(event)
    reading = meter.reading()
    return Outline(
        place=place,
        size_bytes=size,
        title=imported.title or place.title,
        cwd=imported.cwd or place.cwd,
        program=imported.program or imported.format,
        model=reading.model,
        calls=len(main_calls(imported.events)),
        whole=whole,
        reading=None if reading.basis.last_input is None else reading,
    )


def first_line(problem: Exception) -> str:
    """An error in one line, without the list that may follow it."""
    said = problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)
    return printable(said.splitlines()[0].removesuffix(" Tried:")) if said else type(problem).__name__


def _ends(place: FoundSession, size: int) -> tuple[ImportedSession, bool]:
    """The session as far as it was read, and whether that is all of it."""
    in_lines = not place.session and place.path.suffix != ".json"
    if in_lines and size > HEAD_BYTES + TAIL_BYTES:
        return _head_and_tail(place.path, size), False
    if not in_lines and not place.session and size > DOCUMENT_BYTES:
        raise InputError(f"one JSON value of {size >> 20} MB, which is too large for a list")
    return read(place.path, session=place.session), True


def _head_and_tail(path: Path, size: int) -> ImportedSession:
    reader = reader_for(path)
    events: list[Event] = []
    with open_regular(path) as file:
        head = file.read(HEAD_BYTES)
        events += reader.feed(head[: head.rfind(b"\n") + 1].splitlines())
        file.seek(size - TAIL_BYTES)
        pass_over_line(file)
        events += reader.feed(lines_of(file))
    events += reader.settle()
    return reader.imported(events, str(path))
