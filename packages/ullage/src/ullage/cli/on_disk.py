"""What a session of Claude Code holds beyond its log, as far as files on this machine tell.

Instruction files, and what skills and agents say of themselves, are in each request. They are read where the program
looks for them (https://code.claude.com/docs/en/memory, https://code.claude.com/docs/en/skills), nowhere else, and as
they are now: so their rows are estimates. What can't be read, is no regular file, is large or is a link is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ullage.codec.wires import wire_named
from ullage.errors import UnreadableInput
from ullage.importers import ImportedSession
from ullage.importers.regular import open_regular
from ullage.meter.reading import Reading, Row
from ullage.tokens.content import text_tokens
from ullage.tokens.families import family_for
from ullage.tokens.text import counter_for

NOT_IN_THE_LOG: Final = "Not in the log"

LARGEST_FILE: Final = 400_000
"""Bytes of a file that is read."""

MOST_FILES: Final = 200
"""Skills or agents of a directory that are read."""

HEAD_CHARACTERS: Final = 1_000
"""Characters of a skill or agent that are taken for what it says of itself; its text is not in the request."""

MOST_ABOVE: Final = 20
"""Directories above the session's own whose instruction files are read."""

DOUBT: Final = 0.3
"""Share by which a row may be off: the file may have changed, and what is put around it is not known."""


class FileText(NamedTuple):
    """One row: the reading's row of this kind that a log may have itself, a name, and the text."""

    kind: str
    name: str
    text: str


def with_files(
    reading: Reading, imported: ImportedSession, home: Path | None = None
) -> Reading:
    """The reading with what files explain of the row "Not in the log"; the same where there is no such row."""
    logged = {row.name.split(" (")[0] for row in reading.rows}
    cwd = Path(imported.cwd or ".")
    is_here = cwd.is_absolute() and os.path.isdir(cwd)
    if NOT_IN_THE_LOG not in logged or imported.format != "claude-code" or not is_here:
        return reading
    files = [
        file for file in found_files(cwd, home or Path.home()) if file.kind not in logged
    ]
    rows = [
        _explained(row, files, reading.model) if row.name == NOT_IN_THE_LOG else row
        for row in reading.rows
    ]
    return msgspec.structs.replace(reading, rows=tuple(rows))


def found_files(cwd: Path, home: Path) -> Iterator[FileText]:
    """The texts of the known places, each once."""
    own = home / ".claude"
    places = [own / "CLAUDE.md"]
    for directory in [cwd, *islice(cwd.parents, MOST_ABOVE)]:
        places.append(directory / "CLAUDE.md")
        places.append(directory / ".claude" / "CLAUDE.md")
        places.append(directory / "CLAUDE.local.md")
    for path in dict.fromkeys(places):
        if text := _text_of(path):
            yield FileText("Instruction files", str(path), text)
    for base in dict.fromkeys((own, cwd / ".claude")):
        for kind, directory, file in (
            ("Skills", base / "skills", "SKILL.md"),
            ("Agents", base / "agents", ""),
        ):
            heads: list[str] = []
            for path in _listed(directory):
                chosen = path / file if file else path
                is_wanted = path.suffix == ".md" or bool(file)
                if is_wanted and not os.path.islink(path):
                    heads.append(_text_of(chosen)[:HEAD_CHARACTERS])
            if text := "".join(heads):
                yield FileText(kind, str(directory), text)


def _explained(row: Row, files: list[FileText], model: str) -> Row:
    """The row with a child for each file; without them where they would explain more than there is."""
    wire = wire_named("messages")
    family = family_for(wire.name, wire.maker, model)
    counter = counter_for()
    children = list(row.children)
    for file in files:
        tokens = round(text_tokens(file.text, family, counter))
        doubt = ceil(DOUBT * tokens)
        child = Row(
            name=file.name,
            tokens=tokens,
            source="estimated",
            low=tokens - doubt,
            high=tokens + doubt,
        )
        children.append(child)
    if sum(child.tokens for child in children) > row.tokens:
        return row
    return msgspec.structs.replace(row, children=tuple(children))


def _listed(directory: Path) -> list[Path]:
    if os.path.islink(directory) or os.path.islink(directory.parent):
        return []
    try:
        with os.scandir(directory) as found:
            names = sorted(entry.name for entry in islice(found, MOST_FILES))
    except OSError:
        return []
    return [directory / name for name in names]


def _text_of(path: Path) -> str:
    """The text of a file; empty for what is not read."""
    if os.path.islink(path) or os.path.islink(path.parent):
        return ""
    try:
        with open_regular(path, most=LARGEST_FILE) as file:
            return file.read(LARGEST_FILE).decode("utf-8", "replace")
    except (OSError, UnreadableInput):
        return ""
