"""The trail of files: which were read and which changed before a compaction, and whether the view still says so.

The truth is what the calls of the log's tools for files were given. What a shell command did is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final

from bench.quality.facts import Known, SaidFact, unique_ends
from bench.quality.logs import LoggedSession

CHANGED: Final = re.compile(
    r"chang|edit|writ|wrote|modif|creat|updat|add|fix|delet|remov|implement|rewr|new\b",
    re.IGNORECASE,
)
"""One of these in a file's line, or in the heading above it, says that it was changed."""


@dataclass(slots=True)
class FilesOutcome:
    """Files of the sessions, those that the view names, and changed ones of which it says that they are changed."""

    changed: int = 0
    changed_named: int = 0
    changed_said: int = 0
    read: int = 0
    read_named: int = 0

    def add(self, other: FilesOutcome) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(frozen=True, slots=True)
class FilesTrail:
    """Whether each file was changed; a file that was changed counts as that only."""

    files: dict[str, bool]

    def left_in(self, view: Sequence[str]) -> FilesOutcome:
        """What of it a view says."""
        found = FilesOutcome()
        known, unique = Known(view), unique_ends(self.files)
        for path, is_changed in self.files.items():
            is_named = known.has(SaidFact("path", path), unique)
            if not is_changed:
                found.read += 1
                found.read_named += is_named
                continue
            found.changed += 1
            found.changed_named += is_named
            found.changed_said += is_named and _says_changed(view, path, unique)
        return found


def files_before(session: LoggedSession, place: int) -> FilesTrail:
    """The trail of what stands before ``place``."""
    files: dict[str, bool] = {}
    for item in session.items[:place]:
        for path, is_changed in item.touched:
            files[path] = files.get(path, False) or is_changed
    return FilesTrail(files)


def _says_changed(view: Iterable[str], path: str, unique: frozenset[str]) -> bool:
    for text in view:
        heading = ""
        for line in text.splitlines():
            if line.startswith("#") or line.rstrip(" *").endswith(":"):
                heading = line
            if Known([line]).has(SaidFact("path", path), unique) and CHANGED.search(
                heading + line.replace(path, "")
            ):
                return True
    return False
